// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MEMORY_FLATTEN_BUFFERS_H_
#define TERN_TIR_TRANSFORM_MEMORY_FLATTEN_BUFFERS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Flattens buffers and accesses to one dimension.
//
// Before:  func f(A: float32[n, m]) { A[i, j] = 0 }
// After:   func f(A: float32[n, m]) { buffer A_1: float32[n * m] at A   A_1[i * m + j] = 0 }
//
// A tensor parameter keeps its shape, for the checks at the call. Strides are applied.
PrimFunc FlattenBuffers(const PrimFunc& function);

// The place of an element from the buffer's address, in elements. The last index may be a vector;
// elements that are next to each other stay a ramp, which code generators look for.
Expr FlatIndex(const Buffer& buffer, const std::vector<Expr>& indices);

// The same memory as one row of elements.
Buffer FlatView(const Buffer& buffer);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MEMORY_FLATTEN_BUFFERS_H_
