# SPDX-License-Identifier: Apache-2.0
"""Kernels of one dynamic extent over a sweep of its sizes, each beside its static form: what a dynamic size costs.
Seed 1 has the sizes below; another one draws them, and the other extents."""
from fixed import column_sum, convolution, elementwise, layer_norm, matmul, softmax, total
from workload import Dim, Draw

SIZES = (1, 2, 3, 7, 16, 37, 64, 127, 128, 300, 512, 777, 1024, 2048, 4095, 4096)
BATCHES = (1, 2, 3, 4, 8, 16)


def kernels(scale, seed="1"):
    """Name -> the sizes, and the workload of one of them, whose argument is an extent."""
    dtype, side = ("float16", 4096) if scale == "cuda" else ("float32", 512)

    def make(name, sizes, workload, *usual):
        """`usual`: the extents that are no part of the sweep."""
        if seed == "1":
            return sizes, lambda n: workload(n, *map(Dim, usual))
        draw = Draw(f"{seed}/{name}", False, 1, 1)
        others = [Dim(draw.size(max(1, extent // 16), extent * 3 // 2)) for extent in usual]
        return sorted({draw.size(1, sizes[-1]) for _ in sizes}), lambda n: workload(n, *others)

    listed = {
        "elementwise": (SIZES, lambda n, m: elementwise("", n, m), 1024),
        "softmax_rows": (SIZES, lambda n, m: softmax("", n, m), 768),
        "softmax_length": (SIZES, lambda n, m: softmax("", m, n), side),
        "layer_norm": (SIZES, lambda n, m: layer_norm("", n, m, steps=2), 768),
        "full_sum": (SIZES, lambda n, m: total("", n, m), 1024),
        "column_sum": (SIZES, lambda n, m: column_sum("", n, m), 1024),
        "linear_768_3072_gelu": (SIZES, lambda n, k, m: matmul("", dtype, n, m, k, steps=("bias", "gelu")), 768, 3072),
        "matmul_k": (SIZES, lambda n, m, p: matmul("", dtype, m, p, n), 256, 256),
        "conv3x3_64x28": (BATCHES, lambda n, c, s: convolution("", dtype, n, c, s, 3), 64, 28),
        "conv1x1_64x28": (BATCHES, lambda n, c, s: convolution("", dtype, n, c, s, 1), 64, 28),
    }
    return {name: make(name, *kernel) for name, kernel in listed.items()}


def pairs(scale, seed="1"):
    found = []
    for kernel, (sizes, make) in kernels(scale, seed).items():
        for size in sizes:
            for kind in ("static", "dynamic"):
                one = make(Dim(size, "n" if kind == "dynamic" else None))
                one.name, one.dynamic, one.note = f"sweep.{kernel}.{size:04}.{kind}", kind == "dynamic", kernel
                found.append(one)
    # As exporters write it, beside the short form.
    for rows in (1, 37, 512):
        one = layer_norm(f"sweep.layer_norm_nine_steps.{rows:04}.static", Dim(rows), Dim(768), steps=9)
        one.note = "layer_norm_nine_steps"
        found.append(one)
    return found
