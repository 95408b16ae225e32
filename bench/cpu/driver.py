#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tern beside other libraries on this machine's CPU, in turn: a round lets each of them run a case for some milliseconds. The time of
a case is the least of a call over all rounds, for all alike. Threads are not pinned to CPUs."""
import argparse
import datetime
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time

import cases
import kernels
import page
import report
from peers import Peers, Unavailable, Worker

SAMPLES = 2000  # elements of an output that are checked
FEWEST_ROUNDS, LONG_SECONDS = 3, 15


def words(case, folder):
    """The line that describes a case to a worker."""
    parts = [f"kind={case.kind}"]
    for tensor in case.tensors:
        shape = "x".join(map(str, tensor.shape))
        path = "" if tensor.role == "out" else f":{folder}/{case.name}.{tensor.name}.bin"
        parts.append(f"{tensor.role}={tensor.name}:{tensor.dtype}:{shape}{path}")
    return " ".join(parts + [f"{key}={value}" for key, value in case.numbers.items()])


class Machine:
    """What makes inputs, checks outputs and knows the limits."""

    def __init__(self, binaries, folder):
        self.folder = folder
        self.worker = Worker("machine", [os.path.join(os.path.abspath(binaries), "tern_bench_cpu_machine")], 1, folder)
        self.peaks = {}

    def fill(self, case):
        for number, tensor in enumerate(case.inputs):
            path = f"data/{case.name}.{tensor.name}.bin"
            if not os.path.exists(os.path.join(self.folder, path)):
                self.worker.ask(f"fill {path} {tensor.dtype} {tensor.count} {number << 40}")

    def error(self, case, path):
        return float(self.worker.ask(f"check {path} {SAMPLES} {words(case, 'data')}"))

    def measure(self, what, threads):
        """Operations or bytes a second now; the most there ever were, and how, are kept."""
        key = f"{what} {threads}"
        rate, _, how = self.worker.ask(key).partition(" ")
        if float(rate) >= self.peaks.get(key, {"rate": 0})["rate"]:
            self.peaks[key] = {"rate": float(rate), "how": how}
        return float(rate)

    def peak(self, what, threads):
        key = f"{what} {threads}"
        if key not in self.peaks:
            self.measure(what, threads)
        return self.peaks[key]

    def arithmetic(self, case, threads):
        """That of a case's type, or of float32 where there is no instruction for it."""
        own = f"arithmetic {case.dtype}"
        return own if self.peak(own, threads)["rate"] else "arithmetic float32"

    def bandwidth(self, size, threads):
        """Of what was measured: fewer bytes are not slower than more of them."""
        keys = [(key.split(), peak["rate"]) for key, peak in self.peaks.items()]
        return max(rate for (what, of, on), rate in keys if what == "memory" and int(of) >= size and int(on) == threads)

    def limit(self, case, threads, arithmetic):
        """The least seconds that a case can take: its arithmetic, at so many operations a second, or moving its tensors once from where they fit."""
        size = 1 << max(16, case.bytes.bit_length() - 1)
        self.peak(f"memory {size}", threads)
        seconds = case.bytes / self.bandwidth(size, threads)
        return max(seconds, case.operations / arithmetic)


def compile_case(case, name, options, threads, folder):
    """The compiled file: of a program that lies in the folder of kernels, or else of the one that the case is. `before` is another compiler's."""
    output = f"data/{case.name}.{name}.{1 if threads == 1 else 'all'}.so"
    if options.compiled:
        if not os.path.exists(os.path.join(folder, output)):
            raise Unavailable(f"{output} was not compiled")
        return output
    source = os.path.join(folder, "data", f"{case.name}.tir")
    given = os.path.join(options.kernels, f"{case.name}.tir") if options.kernels else ""
    text = kernels.program(case)
    if given and os.path.exists(given):
        with open(given, encoding="utf-8") as file:
            text = file.read()
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    target = options.target + (" -threads=1" if threads == 1 else "")
    command = [options.before if name == "before" else options.tern, "compile", source, "-t", target, "-o", os.path.join(folder, output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(done.stderr.strip().splitlines()[0] if done.stderr.strip() else "the compiler failed")
    return output


def prepare_folder(options, chosen):
    """A folder for another machine of this architecture: the cases, compiled, and what times them there."""
    folder = os.path.abspath(options.prepare)
    for part in ("work/data", "bin", "lib"):
        os.makedirs(os.path.join(folder, part), exist_ok=True)
    for case in chosen:
        for name in Peers.OWN if options.before else Peers.OWN[:1]:
            for threads in options.threads:
                compile_case(case, name, options, threads, os.path.join(folder, "work"))
    for name in ("tern", "machine"):
        shutil.copy(os.path.join(options.binaries, f"tern_bench_cpu_{name}"), os.path.join(folder, "bin"))
    shutil.copy(os.path.join(options.binaries, "..", "lib", "libtern_runtime.so"), os.path.join(folder, "lib"))
    for path in glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "*.py")):
        shutil.copy(path, folder)
    print(f"{folder}: to be measured there by python3 driver.py --compiled")


def prepare(case, name, worker, machine, options, threads, folder):
    """What is known of a peer before it is timed: ready, and right or wrong."""
    line = "prepare " + words(case, "data")
    if name in Peers.OWN:
        line += " file=" + compile_case(case, name, options, threads, folder)
    result = {"variant": worker.ask(line), "times": []}
    path = f"data/{case.name}.{name}.out"
    worker.ask(f"save {path}")
    result["error"] = machine.error(case, path)
    os.remove(os.path.join(folder, path))
    if not result["error"] <= case.tolerance:
        result["wrong"] = f"off by {result['error']:.3g}; {case.tolerance:g} is allowed"
    return result


def still_improving(results):
    """Whether the last round made the time of Tern or of a peer that is near the best one 2% less: something disturbs, so more rounds help."""
    results = list(results)
    best = min((min(result["times"]) for result in results), default=0)
    return any(result["times"][-1] <= 1.2 * best and result["times"][-1] < 0.98 * min(result["times"][:-1], default=0) for result in results)


def more_rounds(done, seconds, wanted, results):
    """As many as are wanted, more of them while times still improve, fewer where they take long."""
    if done < min(wanted, FEWEST_ROUNDS):
        return True
    return seconds < LONG_SECONDS and (done < wanted or (done < 3 * wanted and still_improving(results)))


def measure(case, peers, machine, options, threads, folder):
    machine.fill(case)
    results, reasons = {}, {}
    for name, worker in peers.workers.items():
        try:
            results[name] = prepare(case, name, worker, machine, options, threads, folder)
        except Unavailable as reason:
            reasons[name] = str(reason)
    # The clock of a machine may move: what it is compared with is measured in the same rounds.
    rounds, start, peak, loaded = 0, time.monotonic(), 0, 0
    arithmetic = machine.arithmetic(case, threads)
    while more_rounds(rounds, time.monotonic() - start, options.rounds, results.values()):
        rounds += 1
        peak = max(peak, machine.measure(arithmetic, threads))
        if case.group == "matmul":
            loaded = max(loaded, machine.measure("arithmetic float32-loaded", threads))
        # Who is first in a round is slower.
        order = list(results.items())
        shift = rounds % len(order) if order else 0
        for name, result in order[shift:] + order[:shift]:
            try:
                result["times"].append(float(peers.workers[name].ask(f"run {options.seconds}").split()[0]))
            except Unavailable as reason:
                reasons[name] = str(reason)
                del results[name]
    for result in results.values():
        result["seconds"] = min(result["times"])
    return {"case": case.name, "group": case.group, "threads": threads, "operations": case.operations, "bytes": case.bytes,
            "peak": peak, "loaded_peak": loaded, "limit": machine.limit(case, threads, peak), "peers": results, "cannot": reasons}


def parse():
    parser = argparse.ArgumentParser(prog="./dev bench cpu", description=__doc__)
    parser.add_argument("--threads", default="1,all", help="1, all, a number, or several of them (default: 1,all)")
    parser.add_argument("--cases", default="", metavar="REGEX", help="those whose names match; --list shows them")
    parser.add_argument("--peers", default=",".join(Peers.OTHERS), metavar="LIST", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.03, help="of each peer in a round (default: 0.03)")
    parser.add_argument("--quick", action="store_true", help="3 rounds of 0.01 seconds")
    parser.add_argument("--tiny", action="store_true", help="small cases, to see that everything works")
    parser.add_argument("--target", default="llvm -mcpu=native", help="what Tern compiles for (default: %(default)s)")
    parser.add_argument("--kernels", metavar="FOLDER", help="programs of one's own, CASE.tir, in place of those made here")
    parser.add_argument("--tern", metavar="FILE", help="another compiler than the one built here")
    parser.add_argument("--before", metavar="FILE", help="an older compiler, whose code takes turns with this one's; this one's once more is the control")
    parser.add_argument("--prepare", metavar="FOLDER", help="compile alone, into a folder to carry to another machine (give its --target)")
    parser.add_argument("--compiled", action="store_true", help="in such a folder: measure what it has, without other libraries")
    parser.add_argument("--list", action="store_true", help="list the cases")
    parser.add_argument("--check", action="store_true", help="fail where Tern cannot compute a case, or computes it wrong")
    parser.add_argument("--binaries", default="build/release/bin", help=argparse.SUPPRESS)
    parser.add_argument("--output", default="build/bench", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compiled:
        options.binaries, options.output, options.peers = "bin", ".", ""
        options.before = next(iter(glob.glob("work/data/*.before.*.so")), None)
    options.tern = os.path.abspath(options.tern or os.path.join(options.binaries, "tern"))
    if options.before:
        options.before = os.path.abspath(options.before)
    if options.quick:
        options.rounds, options.seconds = 3, 0.01
    unknown = [name for name in options.peers.split(",") if name and name not in Peers.OTHERS]
    if unknown:
        parser.error(f"unknown peer {unknown[0]}; there are {', '.join(Peers.OTHERS)}")
    cpus = len(os.sched_getaffinity(0))
    options.threads = sorted({cpus if word == "all" else int(word) for word in options.threads.split(",")})
    return options


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())


def cache_bytes():
    """Of one CPU's second cache and of the last one; as the system says, or as most machines have."""
    sizes = {}
    for path in sorted(glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size")):
        with open(path, encoding="utf-8") as size, open(path.replace("size", "level"), encoding="utf-8") as level:
            sizes[int(level.read())] = int(size.read().strip().removesuffix("K")) * 1024
    return sizes.get(2, 1 << 20), max(sizes.values(), default=32 << 20)


def measure_memory(machine, threads):
    """Bandwidths that are good to know: within the second caches, and beyond the last one."""
    second, last = cache_bytes()
    machine.peak(f"memory {second // 2 * threads}", threads)
    machine.peak(f"memory {min(4 * last, 1 << 30)}", threads)


def run(options, chosen):
    folder = os.path.abspath(os.path.join(options.output, "work"))
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    machine = Machine(options.binaries, folder)
    data = {"machine": cpu_name(), "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "target": options.target,
            "rounds": options.rounds, "seconds": options.seconds, "load": os.getloadavg()[0], "versions": {}, "missing": {}, "results": []}
    for threads in options.threads:
        names = [*(Peers.OWN if options.before else Peers.OWN[:1]), *[name for name in options.peers.split(",") if name]]
        peers = Peers(names, threads, options.binaries, folder, os.path.join(options.output, "venv"))
        data["versions"] |= {name: worker.version for name, worker in peers.workers.items()}
        data["missing"] |= peers.missing
        try:
            report.head(data, threads, peers)
            if not options.quick and not options.tiny:
                measure_memory(machine, threads)
            for case in chosen:
                data["results"].append(measure(case, peers, machine, options, threads, folder))
                report.row(data["results"][-1])
        finally:
            peers.close()
    # Again, with all that was measured since.
    for result, case in zip(data["results"], len(options.threads) * chosen):
        result["limit"] = machine.limit(case, result["threads"], result["peak"])
    data["peaks"] = machine.peaks
    machine.worker.close()
    return data


def main():
    sys.stdout.reconfigure(line_buffering=True)
    options = parse()
    chosen = [case for case in (cases.TINY if options.tiny else cases.CASES) if re.search(options.cases, case.name)]
    if options.list:
        print("\n".join(case.name for case in chosen))
        return 0
    if not chosen:
        sys.exit(f"no case matches {options.cases}")
    if options.prepare:
        prepare_folder(options, chosen)
        return 0
    data = run(options, chosen)
    report.summary(data)
    with open(os.path.join(options.output, "cpu.json"), "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
    with open(os.path.join(options.output, "cpu.html"), "w", encoding="utf-8") as file:
        file.write(page.page(data))
    print(f"\n{options.output}/cpu.json and cpu.html have all of it")
    if options.check:
        bad = [result["case"] for result in data["results"] if "wrong" in result["peers"].get("tern", {"wrong": True})]
        if bad:
            print(f"Tern has no right result of {', '.join(bad)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
