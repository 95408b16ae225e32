#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs compiled workloads beside torch, ONNX Runtime and numpy, in turn, and appends a line of JSON for each to a file. What stands there already is not
run again, unless it was compiled anew, so a part that was stopped goes on where it was. Needs python3 with torch, for
a device its driver, and on the CPU onnxruntime if it is to be a peer.

    run.py FOLDER [--device cuda] [--part 1/3] [--limit 480] [--compiled 40]

FOLDER has workloads.json, kernels/NAME.so or .tern, and lib/ with the runtime. A process of its own runs the workloads: where a kernel ends it,
or takes too long, that is the result, and another process goes on."""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS, FEWEST, MOST = 5, 3, 15
ONE_THREAD = "@1"  # behind the name of a peer
SECONDS = 0.02  # of each in a round
ONNX_TYPES = {"float32": 1, "int8": 3, "int32": 6, "int64": 7, "float16": 10, "bfloat16": 16}
SILENCE = 90  # seconds without a result, after which a workload has failed
CACHE_BYTES = 200 << 20  # written between rounds, so that inputs come from memory where they would


def short(error):
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300]


# ---- tensors

def make_input(torch, spec, seed, device):
    """The same elements on every machine with this version of torch; drawn on the host where they are few."""
    shape, fill, dtype = spec["shape"], spec["fill"], getattr(torch, spec["dtype"])
    large = device != "cpu" and torch.Size(shape).numel() > 1 << 20
    generator = torch.Generator(device if large else "cpu").manual_seed(seed)
    where = {"generator": generator, "device": device if large else "cpu"}
    if fill.startswith("below:"):
        made = torch.randint(0, int(fill[6:]), shape, **where)
    elif fill.startswith("unique:"):
        made = torch.randperm(int(fill[7:]), **where)
    elif spec["dtype"] in ("int8", "uint8", "int32", "int64"):
        low, high = {"uint8": (0, 256)}.get(spec["dtype"], (-128, 128))
        made = torch.randint(low, high, shape, **where)
    elif fill == "unit":
        made = torch.rand(shape, **where)
    elif fill == "lower":
        made = torch.randn(shape, **where).tril(-1) / shape[-1] + torch.eye(shape[-1], device=where["device"])
    else:
        made = torch.randn(shape, **where)
    return made.to(device=device, dtype=dtype)


def widen(torch, tensor):
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def errors(torch, actual, expected):
    """The largest difference, relative to the largest element; infinite where shapes differ or something is no number."""
    if tuple(actual.shape) != tuple(expected.shape):
        raise ValueError(f"the result is of shape {tuple(actual.shape)}, the reference's of {tuple(expected.shape)}")
    if actual.numel() == 0:
        return 0.0
    actual, expected = actual.double(), expected.double()
    finite = torch.isfinite(expected)
    if not torch.equal(torch.isfinite(actual), finite):
        return float("inf")
    scale = expected[finite].abs().max().item() if finite.any() else 1.0
    return ((actual - expected)[finite].abs().max().item() / max(scale, 1e-30)) if finite.any() else 0.0


# ---- time

class HostClock:
    """The least time of a call; threads that spin after a call are given time to stop."""

    def __init__(self, torch):
        self.torch = torch

    def once(self, call):
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    def round(self, call):
        time.sleep(0.004)
        call()
        estimate = self.once(call)
        count = max(1, min(20, int(5e-5 / max(estimate, 1e-7))))
        best, begin, calls = estimate, time.perf_counter(), 0
        while calls < 3 or time.perf_counter() - begin < (SECONDS if calls >= 8 else 5 * SECONDS):
            start = time.perf_counter()
            for _ in range(count):
                call()
            best = min(best, (time.perf_counter() - start) / count)
            calls += 1
            if estimate > 0.2 and calls >= 2:
                break
        return best


class DeviceClock:
    """The median from event to event, with a cache that holds nothing of the tensors. Calls are queued while the device is busy, so that
    what the host does in between is not counted, unless it takes longer than the kernels."""

    def __init__(self, torch):
        self.torch = torch
        self.flush = torch.empty(CACHE_BYTES // 4, dtype=torch.int32, device="cuda")

    def once(self, call):
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e-3

    def round(self, call):
        estimate = self.once(call)
        count = max(3, min(25, int(SECONDS / max(estimate, 1e-6))))
        if estimate > 0.1:
            return estimate
        pairs = [tuple(self.torch.cuda.Event(enable_timing=True) for _ in range(2)) for _ in range(count)]
        self.torch.cuda.synchronize()
        for start, stop in pairs:
            self.flush.zero_()
            start.record()
            call()
            stop.record()
        self.torch.cuda.synchronize()
        return statistics.median(start.elapsed_time(stop) for start, stop in pairs) * 1e-3


# ---- one workload

class Bench:
    def __init__(self, options):
        sys.path.insert(0, HERE)
        import binding
        import torch
        import torch.nn.functional as functional

        self.torch, self.options = torch, options
        self.numpy, self.helpers, self.onnxruntime = None, {}, None
        if options.device == "cpu":
            torch.set_num_threads(options.threads)
            import numpy
            import numpy_reference

            self.onnxruntime = self.import_onnxruntime()
            self.numpy, self.helpers = numpy, {name: value for name, value in vars(numpy_reference).items() if not name.startswith("_")}
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.space = {"torch": torch, "F": functional}
        self.runtime = binding.Runtime(os.path.join(options.folder, "lib", "libtern_runtime.so"))
        self.device = self.runtime.device(options.device)
        self.clock = HostClock(torch) if options.device == "cpu" else DeviceClock(torch)

    def tern(self, workload, tensors):
        base = os.path.join(self.options.folder, "kernels", workload["name"])
        path = next((base + ending for ending in (".so", ".tern") if os.path.exists(base + ending)), None)
        if not path:
            raise RuntimeError("it was not compiled")
        self.module = self.runtime.load(path)
        self.function = self.runtime.function(self.module, workload["function"])
        return self.runtime.bind(self.function, self.device, [(tensor.data_ptr(), spec["dtype"], spec["shape"]) for spec, tensor in tensors])

    def expression(self, text, tensors):
        code = compile(text, "<torch>", "eval")
        space = self.space | tensors
        return lambda: eval(code, space)  # pylint: disable=eval-used

    def as_list(self, value):
        return list(value) if isinstance(value, (tuple, list)) else [value]

    def reference(self, workload, inputs):
        if workload["torch"]:
            wide = {name: widen(self.torch, tensor) for name, tensor in inputs.items()}
            return self.as_list(self.expression(workload["torch"][0], wide)())
        return [self.torch.as_tensor(array) for array in self.as_list(self.numpy_call(workload, inputs)())]

    def numpy_call(self, workload, inputs):
        arrays = {name: tensor.numpy() for name, tensor in inputs.items()}
        code = compile(workload["numpy"], "<numpy>", "eval")
        space = {"np": self.numpy} | self.helpers | arrays
        return lambda: eval(code, space)  # pylint: disable=eval-used

    def import_onnxruntime(self):
        try:
            import onnxruntime
        except ImportError:
            return None
        onnxruntime.set_default_logger_severity(4)
        return onnxruntime

    def onnxruntime_call(self, workload, inputs, expected):
        """Into tensors of its own, which are compared with what is expected: another result is no peer's."""
        if not self.onnxruntime:
            raise RuntimeError("there is no onnxruntime")
        if workload["no_onnx"]:
            raise RuntimeError(workload["no_onnx"])
        options = self.onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.options.threads, 1
        # Its threads wait for work by spinning; behind the end of a run others need the cores.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        path = os.path.join(self.options.folder, "models", workload["name"] + ".onnx")
        session = self.onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        outputs = [self.torch.zeros(spec["shape"], dtype=getattr(self.torch, spec["dtype"])) for spec in workload["outputs"]]
        binding = session.io_binding()
        for spec, tensor in zip(workload["inputs"], inputs.values()):
            binding.bind_input(spec["name"], "cpu", 0, ONNX_TYPES[spec["dtype"]], spec["shape"], tensor.data_ptr())
        for spec, tensor in zip(workload["outputs"], outputs):
            binding.bind_output("out." + spec["name"], "cpu", 0, ONNX_TYPES[spec["dtype"]], spec["shape"], tensor.data_ptr())
        session.run_with_iobinding(binding)
        error = max(errors(self.torch, actual, wanted) for actual, wanted in zip(outputs, expected))
        if not error <= max(4 * workload["tolerance"], 1e-3):
            raise RuntimeError(f"off by {error:.3g} of the largest element")

        def call():
            session.run_with_iobinding(binding)
            return outputs  # whose memory is bound

        return call

    def peers(self, workload, inputs, expected, reasons):
        """Name -> call, of those that work."""
        found = {}
        for number, text in enumerate(workload["torch"]):
            found[f"torch{number or ''}"] = self.expression(text, inputs)
        if self.options.device == "cpu" and self.options.threads > 1 and workload["torch"]:
            # Where other processes run, threads that wait for each other may take a hundred times as long.
            found["torch" + ONE_THREAD] = self.expression(workload["torch"][-1], inputs)
        if self.numpy and workload["numpy_is_peer"] and not any(spec["dtype"] == "bfloat16" for spec in workload["inputs"]):
            found["numpy"] = self.numpy_call(workload, inputs)
        if self.options.device == "cpu":
            try:
                found["onnxruntime"] = self.onnxruntime_call(workload, inputs, expected)
            except Exception as error:  # pylint: disable=broad-except
                reasons["onnxruntime"] = short(error)
        if self.options.compiled:
            source = f"def f({', '.join(inputs)}): return {workload['torch'][0]}"
            space = dict(self.space)
            exec(source, space)  # pylint: disable=exec-used
            self.torch.compiler.reset()
            compiled, args = self.torch.compile(space["f"], dynamic=False), list(inputs.values())
            found["compiled"] = lambda: compiled(*args)
        for name, call in list(found.items()):
            try:
                call()
            except Exception as error:  # pylint: disable=broad-except
                reasons[name] = short(error)
                del found[name]
        return found

    def measure(self, workload):
        torch, options = self.torch, self.options
        seed = zlib.crc32(workload["name"].encode())
        inputs = {spec["name"]: make_input(torch, spec, seed + number, options.device) for number, spec in enumerate(workload["inputs"])}
        outputs = [torch.zeros(spec["shape"], dtype=getattr(torch, spec["dtype"]), device=options.device) for spec in workload["outputs"]]
        tensors = [*zip(workload["inputs"], inputs.values()), *zip(workload["outputs"], outputs)]
        result = {"name": workload["name"], "status": "ok", "times": {}, "reasons": {}}
        self.module = self.function = None
        calls = {"tern": self.tern(workload, tensors)}
        begin = time.perf_counter()
        calls["tern"]()
        if options.device != "cpu":
            torch.cuda.synchronize()
        result["first_call"] = time.perf_counter() - begin
        expected = self.reference(workload, inputs)
        result["error"] = max(errors(torch, actual, wanted.to(actual.device)) for actual, wanted in zip(outputs, expected))
        if not result["error"] <= workload["tolerance"]:
            result["status"] = "wrong"
            result["reasons"]["tern"] = f"off by {result['error']:.3g} of the largest element; {workload['tolerance']:g} is allowed"
        if not options.alone:
            calls |= self.peers(workload, inputs, expected, result["reasons"])
        del expected
        self.rounds(calls, result["times"])
        self.runtime.release(self.module, self.function)
        return result

    def rounds(self, calls, times):
        """All in turn: more rounds while they still improve (something disturbs), fewer where they take long."""
        begin, improved = time.perf_counter(), True
        for number in range(MOST):
            seconds = time.perf_counter() - begin
            if seconds > 10 or number >= FEWEST and (seconds > 6 or number >= ROUNDS and not improved):
                return
            improved = False
            for name, call in calls.items():
                if self.options.device == "cpu":
                    self.torch.set_num_threads(1 if name.endswith(ONE_THREAD) else self.options.threads)
                took = self.clock.round(call)
                improved |= took < 0.95 * times.get(name, took)
                times[name] = min(took, times.get(name, took))


# ---- all of them

def read_results(path, workloads):
    """Name -> result of these workloads as they are compiled now; and which was begun and has none: it ended its process."""
    found, begun, keys = {}, None, {workload["name"]: workload["key"] for workload in workloads}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                try:
                    entry = json.loads(line)
                except ValueError:  # a line that was cut off
                    continue
                if "begin" in entry:
                    begun = entry["begin"]
                    continue
                begun = None
                if keys.get(entry["name"]) == entry.get("key"):
                    found[entry["name"]] = entry
    return found, begun


def work(options, path):
    """In the process of its own: until all are done or the time is over."""
    done, _ = read_results(path, options.workloads)
    bench = Bench(options)
    torch = bench.torch
    with open(path, "a", encoding="utf-8") as file, torch.inference_mode():
        for workload in options.workloads:
            if workload["name"] in done:
                continue
            if time.time() > options.until:
                return 3
            print(json.dumps({"begin": workload["name"]}), file=file, flush=True)
            try:
                result = bench.measure(workload)
            except Exception as error:  # pylint: disable=broad-except
                result = {"name": workload["name"], "status": "failed", "times": {}, "reasons": {"tern": short(error)}}
            print(json.dumps(result | {"key": workload["key"]}), file=file, flush=True)
            ratio = ""
            if "tern" in result["times"] and len(result["times"]) > 1:
                best = min((seconds, name) for name, seconds in result["times"].items() if name not in ("tern", "compiled"))
                ratio = f"{best[0] / result['times']['tern']:8.3f}  tern {result['times']['tern'] * 1e6:10.1f} us, {best[1]} {best[0] * 1e6:10.1f} us"
            print(f"{workload['name']:44} {result['status']:7} {ratio} {result['reasons'].get('tern', '')[:120]}", flush=True)
            if result["status"] == "failed" and options.device != "cpu":
                try:
                    torch.cuda.synchronize()
                except Exception:  # pylint: disable=broad-except
                    return 4  # the context is gone; another process goes on
            if options.device != "cpu":
                torch.cuda.empty_cache()
    return 0


def append(path, entry):
    with open(path, "a", encoding="utf-8") as file:
        print(json.dumps(entry), file=file)


def supervise(options, path):
    """Starts processes until nothing is left to do; gives whether all is done."""
    command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--worker", "--until", str(options.until)]
    # Where NVRTC is on most machines, for what the runtime's plugin opens.
    places = [os.path.join(os.path.abspath(options.folder), "lib"), "/usr/local/cuda/lib64", os.environ.get("LD_LIBRARY_PATH", "")]
    environment = os.environ | {"LD_LIBRARY_PATH": ":".join(filter(None, places))}
    while True:
        process = subprocess.Popen(command, env=environment)
        size, changed = -1, time.time()
        while process.poll() is None:
            time.sleep(0.05)
            now = os.path.getsize(path) if os.path.exists(path) else 0
            if now != size:
                size, changed = now, time.time()
            if time.time() - changed > SILENCE or time.time() > options.until + SILENCE:
                process.kill()
                process.wait()
        done, begun = read_results(path, options.workloads)
        if begun:
            reason = f"no result within {SILENCE} s" if process.returncode == -9 else f"the process ended with status {process.returncode}"
            key = next((workload["key"] for workload in options.workloads if workload["name"] == begun), "")
            append(path, {"name": begun, "key": key, "status": "failed", "times": {}, "reasons": {"tern": reason}})
            print(f"{begun:44} failed  {reason}", flush=True)
            done[begun] = None
        left = [workload for workload in options.workloads if workload["name"] not in done]
        if not left:
            return True
        if time.time() > options.until:
            print(f"{len(left)} are left; the same command goes on with them")
            return False
        if not begun and process.returncode not in (0, 4):
            print(f"the process ended with status {process.returncode} before a workload")
            return False


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=HERE)
    parser.add_argument("--device", default="")
    parser.add_argument("--part", default="1/1", help="I/N: every N-th workload, from the I-th on")
    parser.add_argument("--limit", type=float, default=480, help="seconds, after which no workload is begun")
    parser.add_argument("--compiled", type=int, default=0, metavar="N", help="so many of the workloads, beside torch.compile too")
    parser.add_argument("--alone", action="store_true", help="Tern without its peers, as a sweep needs")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="workloads whose names have this in them")
    parser.add_argument("--results", default="", metavar="FILE", help="default: FOLDER/results.jsonl, with --compiled results.compiled.jsonl")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with open(os.path.join(options.folder, "workloads.json"), encoding="utf-8") as file:
        data = json.load(file)
    options.device = options.device or data["device"]
    part, parts = map(int, options.part.split("/"))
    chosen = [workload for workload in data["workloads"] if options.only in workload["name"]]
    if options.compiled:
        # What torch.compile makes of a dynamic variant is what it makes of the static one.
        names = [workload["name"] for workload in chosen if workload["torch"] and not workload["name"].endswith(".dynamic")]
        names = set(random.Random(5).sample(names, min(options.compiled, len(names))))
        chosen = [workload for workload in chosen if workload["name"] in names]
    options.workloads = chosen[part - 1::parts]
    options.until = options.until or time.time() + options.limit
    return options


def main():
    options = parse()
    path = options.results or os.path.join(options.folder, "results.compiled.jsonl" if options.compiled else "results.jsonl")
    for library in ("TERN", "OPENBLAS", "MKL", "OMP"):  # numpy's matrix products are one of these libraries'
        os.environ[f"{library}_NUM_THREADS"] = str(options.threads)
    os.environ.setdefault("TERN_CACHE_DIR", os.path.join(os.path.abspath(options.folder), "cache"))
    if options.worker:
        # Not through the interpreter's end: libraries of devices may wait there for what failed.
        status = work(options, path)
        sys.stdout.flush()
        os._exit(status)
    if options.again and os.path.exists(path):
        os.remove(path)
    return 0 if supervise(options, path) else 3


if __name__ == "__main__":
    sys.exit(main())
