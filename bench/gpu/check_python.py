#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiled files from Python with torch's arrays: no copies, on torch's stream. Needs `import tern` (pip install ./python/runtime) and torch.

    check_python.py FOLDER    # of files that tern compile made for CUDA

Lines of: name, part (python), status, microseconds or -, text."""
import os
import sys
import time

import tern
import torch

NAME = "elementwise.float32.256"


def check_no_copies(run, a, b):
    """Results are written into torch's own memory, and tensors of Tern become torch's without a copy."""
    c = torch.zeros_like(a)
    run(a, b, c)
    torch.cuda.synchronize()
    assert torch.allclose(c, a * b + a), "the results differ"
    made = run(a, b)  # Tern's own tensor
    lent = torch.from_dlpack(made)
    assert torch.allclose(lent, c), "the results that Tern allocated differ"
    lent.zero_()
    assert not any(memoryview(made.cpu()).tolist()[0]), "torch has a copy of Tern's tensor"
    return "torch's memory is used as it is, both ways"


def check_stream(run, a, b):
    """On torch's current stream: behind what torch began there, and in front of what it does next, without a wait of the host."""
    c, d = torch.zeros_like(a), torch.zeros_like(a)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(20):
            torch.cuda._sleep(1_000_000)
            a.add_(1)
            run(a, b, c)
            d.copy_(c)
    stream.synchronize()
    assert torch.allclose(d, a * b + a), "the kernel did not wait for torch's work, or torch's not for it"
    return "20 launches between torch's kernels on a stream of torch's"


def check_graph(run, a, b):
    """Recorded in torch's graph, as torch's own kernels are."""
    c = torch.zeros_like(a)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run(a, b, c)
    a.mul_(2)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.allclose(c, a * b + a), "the graph's replay did not run the kernel"
    return "replayed in torch.cuda.CUDAGraph"


def call_us(call, calls=2000):
    """What a call takes on the host, while the device keeps up: the best of ten rounds."""
    best = float("inf")
    for _ in range(10):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls // 10):
            call()
        best = min(best, (time.perf_counter() - start) / (calls // 10))
    torch.cuda.synchronize()
    return best * 1e6


def main():
    run = tern.load(os.path.join(sys.argv[1], NAME + ".tern")).elementwise
    a, b, c = (torch.rand(256, 256, device="cuda") for _ in range(3))
    for check in (check_no_copies, check_stream, check_graph):
        try:
            status, text = "ok", check(run, a, b)
        except Exception as error:  # pylint: disable=broad-except
            status, text = "FAILED", (str(error).splitlines() or [type(error).__name__])[0][:160]
        print(f"{check.__name__}\tpython\t{status}\t-\t{text}", flush=True)
    ours, torchs = call_us(lambda: run(a, b, c)), call_us(lambda: torch.add(a, b, out=c))
    print(f"call\tpython\tok\t{ours:.2f}\ta call with three tensors, torch.add {torchs:.2f} us")


if __name__ == "__main__":
    main()
