// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_SORT_UPDATES_H_
#define TERN_SCHEDULE_RULES_SORT_UPDATES_H_

#include "tern/tir/function.h"

namespace tern::schedule {

// Updates of floats that may collide, in the order written, for devices: they are sorted by the
// element that they update, stably, and each element is a thread's.
//
// Before:  for i in 0..n, j in 0..m { block b { Y[index[i], j] = Y[index[i], j] + X[i, j] } }
//          Y: float32[R, m]
// After:   T tiles of 64 updates each
//          b_zero:    counts[..] = 0
//          b_counts:  for i: counts[index[i] * T + i // 64] += 1
//          b_starts:  sums of all counts before
//          b_order:   for i: order[starts[..] + how many before i in its tile go there] = i
//          b:         for r in 0..R, j in 0..m { for e in starts[r * T]..starts[(r + 1) * T] {
//                       Y[r, j] = Y[r, j] + X[order[e], j] } }
//
// Where R is static and at most 1024, the updates are not known to be few, and no condition is on
// them. Functions that say `reassociate` need no order, and stay.
tir::PrimFunc SortUpdates(const tir::PrimFunc& function);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_SORT_UPDATES_H_
