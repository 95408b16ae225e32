// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_PLAIN_LOOPS_H_
#define TERN_SCHEDULE_PLAIN_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::schedule {

// Blocks for serial loops that are written without one, where what they do is known and may be
// done in another order (integers, or `reassociate`): updates that may collide, and scans. Rules
// and schedules then take them as they take blocks. An update of H is called H_update, a scan to Y
// Y_scan.
//
// Before:  for i in 0..n { H[int64(A[i])] += 1 }
// After:   for i in 0..n { block H_update(vi: reduce(n) = i) { H[int64(A[vi])] += 1 } }
//
// Before:  sum[0] = s; for i in 0..n { sum[0] += X[i]; Y[i] = sum[0] }
// After:   for i in 0..n { block Y_scan(vi: scan(n) = i) {
//            Y[vi] = X[vi] + select(vi > 0, Y[vi - 1], s) } }
//
// A scan is also one that stores before it adds (exclusive), Y[0] = x; for i in 1..n
// { Y[i] = Y[i - 1] + X[i] }, and Y[i] = X[i] + select(i > 0, Y[i - 1], s).
tir::PrimFunc NamePlainLoops(const tir::PrimFunc& function);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_PLAIN_LOOPS_H_
