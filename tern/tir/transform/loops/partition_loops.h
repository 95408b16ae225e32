// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOOPS_PARTITION_LOOPS_H_
#define TERN_TIR_TRANSFORM_LOOPS_PARTITION_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Splits loops where a condition changes, so that full tiles run without predicates.
//
// Before:  for i in 0..(n + 3) // 4 { for j in 0..4 { if i * 4 + j < n { S } } }
// After:   for i in 0..n // 4 { for j in 0..4 { S } }   the tail, with its condition
//
// Conditions are comparisons linear in the loop variable, in an `if`, a select or a bool let. A
// loop becomes up to three: before, inside and after the range where all of them hold.
// - A constant range must be at least half of the loop.
// - The loops before and after are partitioned again where they have one iteration, else code would
//   grow by two bodies per loop of a nest.
// - Where all comparisons are about the end of a tile, an unrolled loop of up to 8 iterations, the
//   tail has a body per number of iterations left, so that it stays in registers. A parallel loop
//   selects that body inside, and is not partitioned otherwise. Around serial loops it may have
//   other comparisons, which stay, if only the last iteration has a partial tile, of known length.
// - Loops with `tail = "guard"` stay, and so do vectorized ones whose tail is masked.
// - So do loops around a serial loop and masked vectors beside it, as tiles of a GEMM, if nothing
//   but masks depends on the end: a second tile would be more code, and no faster. Masks may be in
//   further serial loops in which they stay the same, as those over the rows of a block of columns.
// - Loops with a block, a barrier, a thread loop, shared memory or over a thousand nodes stay.
// - Loops in which lanes of a warp exchange values stay whole, too: where a bound depends on the
//   lane, lanes would meet in different loops. So do those that multiply on matrix units of groups
//   of warps: multiplications run on from one iteration to the next. What threads compute in
//   registers there has two versions, chosen by a bound that is the same for all of them: tiles on
//   the diagonal of a causal mask, and others.
//
// Before:  for k in 0..n { acc = multiply(..)
//            for i { x[i] = select(k * 8 + i <= t, acc[i], 0) } }
// After:   for k in 0..n { acc = multiply(..)
//            if k < (least t + 1) // 8 { for i { x[i] = acc[i] } } else { as before } }
PrimFunc PartitionLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOOPS_PARTITION_LOOPS_H_
