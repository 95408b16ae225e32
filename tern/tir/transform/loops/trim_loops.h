// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOOPS_TRIM_LOOPS_H_
#define TERN_TIR_TRANSFORM_LOOPS_TRIM_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Loops over masked tiles end behind the last tile that has anything to do.
//
// Before:  for j in 0..8 attrs {tail = "mask"} { for i in 0..16 { if j * 16 + i < n { S } } }
// After:   for j in 0..min(max((n + 15) // 16, 0), 8) attrs {tail = "mask"} { ... }
//
// Serial loops to a constant end that a split with a masked tail made, where all that their body
// does is under a comparison that fails from some iteration on. Runs after partition_loops, which
// leaves such loops in tails, from the number of full tiles on.
PrimFunc TrimLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOOPS_TRIM_LOOPS_H_
