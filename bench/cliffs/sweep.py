# SPDX-License-Identifier: Apache-2.0
"""Kernels of one dynamic extent over a sweep of its sizes, each beside its static form: what a dynamic size costs."""
from fixed import column_sum, convolution, elementwise, layer_norm, matmul, softmax, total
from workload import Dim

SIZES = (1, 2, 3, 7, 16, 37, 64, 127, 128, 300, 512, 777, 1024, 2048, 4095, 4096)
BATCHES = (1, 2, 3, 4, 8, 16)


def kernels(scale):
    """Name -> the sizes, and the workload of one of them, whose argument is an extent."""
    dtype, side = ("float16", 4096) if scale == "cuda" else ("float32", 512)
    return {
        "elementwise": (SIZES, lambda n: elementwise("", n, Dim(1024))),
        "softmax_rows": (SIZES, lambda n: softmax("", n, Dim(768))),
        "softmax_length": (SIZES, lambda n: softmax("", Dim(side), n)),
        "layer_norm": (SIZES, lambda n: layer_norm("", n, Dim(768), steps=2)),
        "full_sum": (SIZES, lambda n: total("", n, Dim(1024))),
        "column_sum": (SIZES, lambda n: column_sum("", n, Dim(1024))),
        "linear_768_3072_gelu": (SIZES, lambda n: matmul("", dtype, n, 3072, 768, steps=("bias", "gelu"))),
        "matmul_k": (SIZES, lambda n: matmul("", dtype, 256, 256, n)),
        "conv3x3_64x28": (BATCHES, lambda n: convolution("", dtype, n, 64, 28, 3)),
        "conv1x1_64x28": (BATCHES, lambda n: convolution("", dtype, n, 64, 28, 1)),
    }


def pairs(scale):
    found = []
    for kernel, (sizes, make) in kernels(scale).items():
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
