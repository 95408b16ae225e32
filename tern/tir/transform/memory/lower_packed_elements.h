// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MEMORY_LOWER_PACKED_ELEMENTS_H_
#define TERN_TIR_TRANSFORM_MEMORY_LOWER_PACKED_ELEMENTS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Accesses elements of less than a byte (int4, uint4, float4_e2m1fn) by their bytes: two of a
// tensor's elements share one, the first in the low bits. Values, and memory that the function
// allocates, become wide (widen_packed_elements).
//
// Before:  B[i] = int4(int32(A[i]) + 1)
// After:   buffer A_bytes: uint8[...] at A ...
//          let x = int8((A_bytes[i // 2] >> uint8(i % 2 * 4)) & 15 ^ 8) - 8
//          B_bytes[i // 2] = B_bytes[i // 2] & 240 >> s | uint8(...) << s      with s = i % 2 * 4
//
// A store changes half of a byte, so iterations that run at once must not store into the two halves
// of one: a parallel or thread loop for which that is not proven is refused. Expects no blocks that
// access such elements.
PrimFunc LowerPackedElements(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MEMORY_LOWER_PACKED_ELEMENTS_H_
