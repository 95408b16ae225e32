// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MEMORY_HOIST_ALLOCATIONS_H_
#define TERN_TIR_TRANSFORM_MEMORY_HOIST_ALLOCATIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Takes allocations of a dynamic size out of serial loops: on a host each is a call of the
// environment.
//
// Before:  for i in 0..n { alloc T: float32[8, n]   f(T)   for j in 0..8 { alloc U: float32[n] } }
// After:   alloc T: float32[8, n]   alloc U: float32[n]   for i in 0..n { f(T)  for j in 0..8 { } }
//
// Only memory of scope global, of a size that is the same in all iterations and not negative. Of
// several statements in a row that allocate, none is live with the others, and each keeps its own
// inside of the loop: no more memory is needed at once than before.
PrimFunc HoistAllocations(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MEMORY_HOIST_ALLOCATIONS_H_
