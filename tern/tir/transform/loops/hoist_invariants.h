// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOOPS_HOIST_INVARIANTS_H_
#define TERN_TIR_TRANSFORM_LOOPS_HOIST_INVARIANTS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Loop-invariant code motion, of conditions and of scalar values.
//
// Before:  for j in 0..m { if i < n { A[j] = x * x } }
// After:   if i < n { let t = x * x   for j in 0..m { A[j] = t } }
//
// On devices, where the function says reassociate, divisors are reciprocals then, read from memory
// that the loop does not write:
//
// Before:  for j in 0..m { A[j] = B[j] / s[0] }
// After:   let r = 1 / s[0]   for j in 0..m { A[j] = B[j] * r }
//
// Only the condition of an `if` that is the whole body moves, so no statement is copied; an `else`
// becomes a loop of its own. A loop may run no iteration: only what can neither fault nor overflow
// moves, or what the first iteration of a loop that surely runs would evaluate. Threads that run
// show that the extents of a grid are not 0, so that it can be divided by them. Cheap values and
// loads stay. Thread loops, and loops with a barrier or thread loops in them, stay.
PrimFunc HoistInvariants(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOOPS_HOIST_INVARIANTS_H_
