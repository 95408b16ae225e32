// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MEMORY_COMPACT_ALLOCATIONS_H_
#define TERN_TIR_TRANSFORM_MEMORY_COMPACT_ALLOCATIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Shrinks every dimension of an allocation to the region that is accessed while it exists.
//
// Before:  for i in 0..n { alloc T: float32[n, 8]   T[i, j] = ...   ... = T[i, j] }
// After:   for i in 0..n { alloc T: float32[1, 8]   T[0, j] = ...   ... = T[0, j] }
//
// Only where that is provably smaller. No dimension is dropped, and a constant extent stays
// constant. Memory with another view, or used as a pointer, stays. Memory of a host that is surely
// small (n <= 7 around it) is of a constant size, though it is larger then: on the stack it needs
// no call.
PrimFunc CompactAllocations(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MEMORY_COMPACT_ALLOCATIONS_H_
