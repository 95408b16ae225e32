// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MEMORY_WIDEN_PACKED_ELEMENTS_H_
#define TERN_TIR_TRANSFORM_MEMORY_WIDEN_PACKED_ELEMENTS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// What values of a type of less than a byte are held in: int8, uint8, and float32 for
// float4_e2m1fn. Other types stay.
DataType WidenedType(DataType dtype);

// A float32 that rounds to float4_e2m1fn as the value does.
Expr Float32ForFloat4(const Expr& value);

// Leaves elements of less than a byte (int4, uint4, float4_e2m1fn) in tensors alone: what is loaded
// is widened there, and what is stored narrowed there. Values and memory that the function
// allocates are wide.
//
// Before:  let x = A[i]
//          B[i] = select(c, x, 3)
// After:   let x = int8(A[i])
//          B[i] = int4(select(c, x, int8(3)))
PrimFunc WidenPackedElements(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MEMORY_WIDEN_PACKED_ELEMENTS_H_
