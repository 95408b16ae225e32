#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same kernels by torch, measured in the same way: lines of name, eager or compiled, microseconds, text."""
import sys

import torch
import torch.nn.functional as functional

DEVICE = "cuda"
QUICK = "--quick" in sys.argv


def median_us(call, repeat):
    """From event to event, while the device always has calls to do."""
    for _ in range(3):
        call()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(repeat + 1)]
    torch.cuda.synchronize()
    events[0].record()
    for event in events[1:]:
        call()
        event.record()
    torch.cuda.synchronize()
    times = sorted(before.elapsed_time(after) * 1e3 for before, after in zip(events, events[1:]))
    return times[len(times) // 2]


def kernels():
    """Name, function, its arguments, whether torch.compile has something to do."""
    for dtype in (torch.float32, torch.float16):
        suffix = str(dtype).split(".")[1]
        n = 8192
        x, y = (torch.randn(n, n, device=DEVICE, dtype=dtype) for _ in range(2))
        scale, shift = (torch.randn(n, device=DEVICE, dtype=dtype) for _ in range(2))
        yield f"elementwise.{suffix}.{n}", lambda a, b: a * b + a, (x, y), True
        yield f"bias_gelu.{suffix}.{n}", lambda a, b: functional.gelu(a + b), (x, scale), True
        yield f"transpose.{suffix}.{n}", lambda a: a.t().contiguous(), (x,), True
        yield f"softmax.{suffix}.{n}", lambda a: functional.softmax(a, dim=-1), (x,), True
        yield f"layernorm.{suffix}.{n}", lambda a, s, t: functional.layer_norm(a, (a.shape[1],), s, t), (x, scale, shift), True
        a, b = (torch.randn(4096, 4096, device=DEVICE, dtype=dtype) for _ in range(2))
        yield f"matmul.{suffix}.4096", torch.matmul, (a, b), False


def report(name, which, measure):
    try:
        print(f"{name}\t{which}\t{measure():.2f}\t", flush=True)
    except Exception as error:  # a kernel that torch fails on is no reason to stop
        print(f"{name}\t{which}\t-\t{str(error).splitlines()[0][:160]}", flush=True)


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    repeat = 10 if QUICK else 50
    for name, function, args, compiles in kernels():
        report(name, "eager", lambda: median_us(lambda: function(*args), repeat))
        if compiles and not QUICK:
            torch.compiler.reset()
            compiled = torch.compile(function, dynamic=False)
            report(name, "compiled", lambda: median_us(lambda: compiled(*args), repeat))


if __name__ == "__main__":
    with torch.no_grad():
        main()
