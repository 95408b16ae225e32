// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LEGALIZE_NARROW_INDICES_H_
#define TERN_TIR_TRANSFORM_LEGALIZE_NARROW_INDICES_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Narrows int64 indices, comparisons, lets and loop variables to int32 where they provably fit.
//
// Before:  for i: int64 in 0..1024 { A[i * 4] = 0 }
// After:   for i: int32 in 0..1024 { A[i * 4] = 0 }
//
// Every intermediate value must fit. Unbounded values, such as dynamic extents, stay int64.
PrimFunc NarrowIndices(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LEGALIZE_NARROW_INDICES_H_
