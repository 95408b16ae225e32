// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MEMORY_PLACE_ALLOCATIONS_H_
#define TERN_TIR_TRANSFORM_MEMORY_PLACE_ALLOCATIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Moves every allocation to the innermost statement that contains all uses of its memory.
//
// Before:  alloc T: float32[8]   for i { T[j] = A[i, j]   ... = T[j] }
// After:   for i { alloc T: float32[8]   T[j] = A[i, j]   ... = T[j] }
//
// Into a loop only where no iteration needs what an earlier one left; into a launch only from a
// launch. Shared memory enters neither loops nor branches. In a loop to be pipelined it stands
// before the statements.
PrimFunc PlaceAllocations(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MEMORY_PLACE_ALLOCATIONS_H_
