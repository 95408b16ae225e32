#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kernel by its formulas: a linear layer with bias and ReLU."""

import tern

A = tern.placeholder("A", "float32", "n", "k")
B = tern.placeholder("B", "float32", "k", "m")
bias = tern.placeholder("bias", "float32", "m")
l = tern.reduce_axis("k", "l")
product = tern.compute("product", ("n", "m"), lambda i, j: tern.sum(A[i, l] * B[l, j], l))
result = tern.compute("result", ("n", "m"), lambda i, j: tern.maximum(product[i, j] + bias[j], 0.0))
linear = tern.build("linear", [A, B, bias], [result])

print(linear.text)
print(linear.explain())
out = linear(tern.tensor([[1.0, -2.0]]), tern.tensor([[1.0, 0.0], [0.0, 1.0]]), tern.tensor([0.5, 0.5]))
assert memoryview(out).tolist() == [[1.5, 0.0]]
