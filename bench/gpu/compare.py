#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same kernels by torch, measured in the same way, and what Tern made of its inputs compared with what torch makes of them.

Lines of: name, part (eager, compiled or large), status, microseconds or -, text."""
import argparse
import os

import torch
import torch.nn.functional as functional

DEVICE = "cuda"
# Name, function, its tensors in order, the result, whether torch.compile has something to do.
KERNELS = [
    ("elementwise", lambda a, b: a * b + a, ["A", "B"], "C", True),
    ("bias_gelu", lambda x, bias: functional.gelu(x + bias), ["X", "bias"], "Y", True),
    ("transpose", lambda a: a.t().contiguous(), ["A"], "B", True),
    ("softmax", lambda x: functional.softmax(x, dim=-1), ["X"], "Y", True),
    ("layernorm", lambda x, s, t: functional.layer_norm(x, (x.shape[1],), s, t), ["X", "scale", "shift"], "Y", True),
    ("matmul", torch.matmul, ["A", "B"], "C", False),
]


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


def report(name, part, measure):
    """A kernel that torch fails on is no reason to stop."""
    try:
        status, time, text = measure()
    except Exception as error:  # pylint: disable=broad-except
        status, time, text = "FAILED", None, (str(error).splitlines() or [type(error).__name__])[0][:160]
    print(f"{name}\t{part}\t{status}\t{'-' if time is None else f'{time:.2f}'}\t{text}", flush=True)


def made(function, args, repeat):
    return "ok", median_us(lambda: function(*args), repeat), ""


def load(path):
    import numpy  # comes with whoever has torch, but torch can do without

    return torch.from_numpy(numpy.load(path)).to(DEVICE)


def compare(tensors, name, function, inputs, output):
    """The largest error of what Tern wrote, relative above 1 and absolute below."""
    args = [load(os.path.join(tensors, f"{name}.in.{tensor}.npy")) for tensor in inputs]
    actual = load(os.path.join(tensors, f"{name}.out.{output}.npy")).float()
    expected = function(*args).float()
    error = ((actual - expected).abs() / expected.abs().clamp(min=1)).max().item()
    tolerance = 2e-3 if args[0].dtype == torch.float16 else 1e-4
    return "ok" if error <= tolerance else "FAILED", None, f"largest error {error:.3g} against torch; {tolerance} is allowed"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats, no torch.compile")
    parser.add_argument("--tensors", required=True, help="folder of what tern-run read and wrote")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    repeat = 10 if options.quick else 50
    for dtype in (torch.float32, torch.float16):
        for kernel, function, inputs, output, compiles in KERNELS:
            n = 4096 if kernel == "matmul" else 8192
            name = f"{kernel}.{str(dtype).split('.')[1]}.{n}"
            shapes = [(n,) if tensor in ("bias", "scale", "shift") else (n, n) for tensor in inputs]
            args = [torch.rand(shape, device=DEVICE, dtype=dtype) * 2 - 1 for shape in shapes]
            report(name, "eager", lambda: made(function, args, repeat))
            if compiles and not options.quick:
                torch.compiler.reset()
                compiled = torch.compile(function, dynamic=False)
                report(name, "compiled", lambda: made(compiled, args, repeat))
            if os.path.exists(os.path.join(options.tensors, f"{name}.out.{output}.npy")):
                report(name, "large", lambda: compare(options.tensors, name, function, inputs, output))


if __name__ == "__main__":
    with torch.no_grad():
        main()
