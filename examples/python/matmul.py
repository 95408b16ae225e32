#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kernel in Python: written, scheduled step by step, run, timed, saved."""

import tern
from tern.lang import block, grid, init, reduce, spatial


@tern.kernel
def matmul(A: tern.float32["n", "k"], B: tern.float32["k", "m"], C: tern.float32["n", "m"]):
    for i, j, l in grid(n, m, k):  # noqa: F821
        with block("matmul", vi=spatial(n, i), vj=spatial(m, j), vk=reduce(k, l)):  # noqa: F821
            with init():
                C[vi, vj] = 0  # noqa: F821
            C[vi, vj] += A[vi, vk] * B[vk, vj]  # noqa: F821


a = tern.tensor([[1.0, 2.0], [3.0, 4.0]])
b = tern.tensor([[0.0, 1.0], [1.0, 0.0]])
assert memoryview(matmul(a, b)).tolist() == [[2, 1], [4, 3]]

size = {"n": 64, "k": 64, "m": 64}
print("as the rules schedule it:", matmul.bench(repeat=20, dims=size))

io, ii = matmul.schedule.split("i", 4)
jo, ji = matmul.schedule.split("j", 16)
matmul.schedule.reorder(io, jo, "l", ii, ji)
matmul.schedule.unroll(ii)
matmul.schedule.vectorize(ji)
print(matmul.show())
print("as written here:", matmul.bench(repeat=20, dims=size))

try:
    matmul.schedule.vectorize("l")
except tern.Error as error:
    print("refused:", error)

matmul.compile().save("matmul.so")
assert memoryview(tern.load("matmul.so").matmul(a, b)).tolist() == [[2, 1], [4, 3]]
