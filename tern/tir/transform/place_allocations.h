// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_PLACE_ALLOCATIONS_H_
#define TERN_TIR_TRANSFORM_PLACE_ALLOCATIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Every allocation stands around the innermost statement that contains all uses of its memory: in a
// loop only where no iteration needs what an earlier one left there, in a launch of threads only
// where it was there before. Memory that threads share enters neither loops nor branches, so that
// there is as much of it as before. In a loop to be pipelined, it stands before the statements.
PrimFunc PlaceAllocations(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_PLACE_ALLOCATIONS_H_
