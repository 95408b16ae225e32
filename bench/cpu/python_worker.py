#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_worker.py onnxruntime|torch THREADS: a worker as in worker.h, for libraries that come as Python packages. Runs in the
environment that has them."""
import math
import sys
import time

import numpy

SHORTEST_TIME = 10e-6  # as in worker.cc


class Unsupported(Exception):
    pass


class Case:
    """What a line says (case.h), with the tensors read."""

    def __init__(self, line):
        self.words, self.dtypes, self.shapes, self.arrays, self.constants = {}, {}, {}, {}, set()
        for word in line.split():
            key, value = word.split("=", 1)
            if key not in ("in", "const", "out"):
                self.words[key] = value
                continue
            name, dtype, shape, *path = value.split(":")
            self.dtypes[name], self.shapes[name] = dtype, tuple(map(int, shape.split("x")))
            if key == "out":
                self.output = name
                continue
            if key == "const":
                self.constants.add(name)
            # NumPy has no bfloat16: its bits.
            stored = numpy.uint16 if dtype == "bfloat16" else numpy.dtype(dtype)
            self.arrays[name] = numpy.fromfile(path[0], stored).reshape(self.shapes[name])

    @property
    def kind(self):
        return self.words["kind"]

    def number(self, key):
        return int(self.words[key])


def seconds_of(call, times):
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def measure(call, seconds):
    """As Measure in worker.cc."""
    once = seconds_of(call, 1)
    if once < SHORTEST_TIME:
        once = seconds_of(call, 1)
    batch = max(1, math.ceil(SHORTEST_TIME / once))
    best, total, calls, repeats = math.inf, 0.0, 0, 0
    while repeats < 3 or total < seconds:
        one = seconds_of(call, batch)
        best, total, calls, repeats = min(best, one), total + one * batch, calls + batch, repeats + 1
    return best, total / calls, calls


class Worker:
    """Subclasses: start() -> version, variants(case) -> [(name, call, result)], where result() is the output as an array."""

    def __init__(self):
        self.ready = None

    def answer(self, verb, rest):
        if verb == "prepare":
            self.ready = None
            variants = self.variants(Case(rest))
            if not variants:
                raise Unsupported("no way to compute it")
            times = [measure(call, 0.02)[0] for _, call, _ in variants] if len(variants) > 1 else [0]
            self.ready = variants[times.index(min(times))]
            self.ready[1]()
            return self.ready[0]
        if self.ready is None:
            raise RuntimeError("nothing is prepared")
        if verb == "run":
            return "{:.9g} {:.9g} {}".format(*measure(self.ready[1], float(rest)))
        if verb == "save":
            numpy.ascontiguousarray(self.ready[2]()).tofile(rest)
            return ""
        raise RuntimeError(f"unknown: {verb}")

    def serve(self):
        for line in sys.stdin:
            verb, _, rest = line.strip().partition(" ")
            try:
                reply = "ok " + self.answer(verb, rest)
            except Unsupported as reason:
                reply = f"no {reason}"
            except Exception as error:  # pylint: disable=broad-except
                reply = f"error {type(error).__name__}: {error}"
            print(" ".join(reply.split()), flush=True)


def main():
    name, threads = sys.argv[1], int(sys.argv[2])
    try:
        if name == "onnxruntime":
            from onnxruntime_peer import OnnxRuntime as Peer
        else:
            from torch_peer import Torch as Peer
        worker = Peer(threads)
    except ImportError as error:
        print(f"no {error}", flush=True)
        return 1
    print(f"ok {worker.version}", flush=True)
    worker.serve()
    return 0


if __name__ == "__main__":
    sys.modules["python_worker"] = sys.modules["__main__"]
    sys.exit(main())
