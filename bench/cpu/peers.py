# SPDX-License-Identifier: Apache-2.0
"""The workers: which there are, and how they are asked. A worker that is not being asked is stopped, so that threads which spin
while they wait for work take nothing from the others."""
import ctypes
import glob
import os
import select
import signal
import subprocess

import packages

HERE = os.path.dirname(os.path.abspath(__file__))
ANSWER_SECONDS = 300
PR_SET_PDEATHSIG = 1


class Unavailable(Exception):
    """A peer that is not there, or cannot compute a case."""


def die_with_parent():
    """A stopped process hears nothing but this when the driver is gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Worker:
    def __init__(self, name, command, threads, folder, environment=None):
        self.name = name
        count = str(threads)
        variables = ("TERN", "OMP", "OPENBLAS", "BLIS", "MKL")
        env = os.environ | {f"{variable}_NUM_THREADS": count for variable in variables} | (environment or {})
        with open(os.path.join(folder, f"{name}.log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=folder, env=env, text=True,
                                            preexec_fn=die_with_parent)
        try:
            self.version = self.read()
            self.process.send_signal(signal.SIGSTOP)
        except Exception:
            self.close()
            raise

    def read(self):
        # An answer is one line, so nothing lies in the stream's own buffer.
        if not select.select([self.process.stdout], [], [], ANSWER_SECONDS)[0]:
            self.close()
            raise Unavailable(f"no answer for {ANSWER_SECONDS} seconds")
        line = self.process.stdout.readline()
        verdict, _, rest = line.strip().partition(" ")
        if verdict == "ok":
            return rest
        if verdict in ("no", "error"):
            raise Unavailable(rest)
        raise Unavailable(f"the worker ended with status {self.process.wait()}" if not line else f"not an answer: {line.strip()}")

    def ask(self, line):
        if self.process.poll() is not None:
            raise Unavailable("the worker has ended")
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            return self.read()
        except BrokenPipeError as error:
            raise Unavailable("the worker has ended") from error
        finally:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGSTOP)

    def close(self):
        self.process.kill()
        self.process.wait()


def libraries(folders, name):
    """Paths to try, the named folders of this machine's architecture first."""
    found = [path for folder in folders for path in sorted(glob.glob(f"/usr/lib/*/{folder}/{name}"))]
    return [*found, name]


def site(venv, pattern):
    found = glob.glob(os.path.join(venv, pattern))
    if not found:
        raise Unavailable(f"{pattern} is not in {venv}")
    return found[0]


class Peers:
    """`names`: those wanted. `workers` are running, `missing` are name -> reason."""

    OWN = ("tern", "before", "control")
    OTHERS = ("onnxruntime", "torch", "mkl", "openblas", "openblas-pypi", "blis", "eigen", "dnnl", "dnnl-pypi", "xnnpack", "acl")

    def __init__(self, names, threads, binaries, folder, venv):
        self.binaries, self.folder, self.venv, self.threads = os.path.abspath(binaries), folder, os.path.abspath(venv), threads
        self.workers, self.missing = {}, {}
        reasons = packages.install(self.venv, names)
        for name in names:
            try:
                if reasons.get(name):
                    raise Unavailable(reasons[name])
                self.workers[name] = self.start(name)
            except Unavailable as reason:
                self.missing[name] = str(reason)

    def program(self, name):
        path = os.path.join(self.binaries, f"tern_bench_cpu_{name}")
        if not os.path.exists(path):
            raise Unavailable("its library was not there when this was built")
        return path

    def newer_dnnl(self):
        """The program of oneDNN once more, with what PyPI has of it, which is not there yet when the others are built."""
        output, worker = os.path.join(self.folder, "dnnl-pypi"), os.path.join(self.binaries, "..", "lib", "libtern_bench_worker.a")
        include, library = os.path.join(self.venv, "include"), site(self.venv, "lib/libdnnl.so.3")
        command = [os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-I", os.path.join(HERE, "..", ".."), "-isystem", include,
                   os.path.join(HERE, "dnnl_peer.cc"), worker, library, "-o", output]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"it was not compiled: {(done.stderr.splitlines() or [''])[0]}")
        return output

    def start(self, name):
        if name == "dnnl-pypi":
            return Worker(name, [self.newer_dnnl()], self.threads, self.folder, {"LD_LIBRARY_PATH": os.path.join(self.venv, "lib")})
        if name in ("onnxruntime", "torch"):
            command = [packages.python(self.venv), os.path.join(HERE, "python_worker.py"), name, str(self.threads)]
            return Worker(name, command, self.threads, self.folder)
        blas = {
            "openblas": lambda: libraries(["openblas-pthread", "openblas-openmp"], "libopenblas.so.0"),
            "blis": lambda: libraries(["blis-pthread", "blis-openmp"], "libblis.so.4"),
            "mkl": lambda: [site(self.venv, "lib/libmkl_rt.so*")],
            "openblas-pypi": lambda: [site(self.venv, "lib/python*/site-packages/scipy_openblas32/lib/libscipy_openblas*.so")],
        }
        if name in blas:
            paths = blas[name]()
            environment = {"LD_LIBRARY_PATH": os.path.dirname(paths[0])} if name == "mkl" else {}
            return Worker(name, [self.program("cblas"), *paths], self.threads, self.folder, environment)
        return Worker(name, [self.program("tern" if name in self.OWN else name)], self.threads, self.folder)

    def close(self):
        for worker in self.workers.values():
            worker.close()
