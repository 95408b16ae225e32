#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs: a kernel of two tensors, beside a ufunc of numpy, an operator of torch and a call through tvm_ffi.

    PYTHONPATH=build/release/lib/python bench/python/call_overhead.py

The tensors have one element, so that the kernel itself takes nothing. What is not installed is left out.
"""

import os
import statistics
import sys
import tempfile
import time

import tern

NEGATE = "func negate(A: float32[n], B: float32[n]) { for i in 0..n { B[i] = -A[i] } }\n"


def times_of(call, rounds=30, calls=2000):
    """Seconds of a call, loop included: the best and the median of rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
    return min(times), statistics.median(times)


def main():
    exe = tern.compile(NEGATE)
    negate = exe.negate
    rows = []
    a, b = tern.tensor([1.0]), tern.empty(1)
    rows.append(("tern, tern.Tensor", lambda: negate(a, b)))
    try:
        import numpy

        x, y = numpy.ones(1, "float32"), numpy.ones(1, "float32")
        rows.append(("tern, numpy arrays", lambda: negate(x, y)))
        rows.append(("numpy.negative(x, y)", lambda: numpy.negative(x, y)))
    except ImportError:
        print("numpy is not installed")
    try:
        import torch

        p, q = torch.ones(1), torch.ones(1)
        rows.append(("tern, torch tensors", lambda: negate(p, q)))
        rows.append(("torch.neg(p, out=q)", lambda: torch.neg(p, out=q)))
    except ImportError:
        print("torch is not installed")
    try:
        import numpy
        import tvm_ffi

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "negate.so")
            exe.save(path)
            function = tvm_ffi.load_module(path).negate
        u, v = tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y)
        rows.append(("tvm_ffi, its tensors", lambda: function(u, v)))
        rows.append(("tvm_ffi, numpy arrays", lambda: function(x, y)))
        if "torch" in sys.modules:
            rows.append(("tvm_ffi, torch tensors", lambda: function(p, q)))
    except ImportError:
        print("tvm_ffi is not installed")
    rows.append(("nothing, for comparison", lambda: None))
    for name, call in rows:
        try:
            call()
        except Exception as error:
            print(f"{name:24}  fails: {error}")
            continue
        best, median = times_of(call)
        print(f"{name:24} {best * 1e9:8.0f} ns best {median * 1e9:8.0f} ns median")


if __name__ == "__main__":
    main()
