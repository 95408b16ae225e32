// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_LAST_WRITES_H_
#define TERN_SCHEDULE_RULES_LAST_WRITES_H_

#include "tern/tir/function.h"

namespace tern::schedule {

// Rows that are written in order, and may meet, for devices: of those that meet the last one is
// written, by any thread.
//
// Before:  for i in 0..n, j in 0..m { block b { Y[index[i], j] = X[i, j] } }   i is not spatial
// After:   b_none:  for r in rows of Y: last[r] = -1
//          b_last:  for i in 0..n: last[index[i]] = max(last[index[i]], i)
//          b:       for i in 0..n, j in 0..m {
//                     if last[index[i]] == i { Y[index[i], j] = X[i, j] } }
//
// Where the steps are not known to be few, the index is read from memory, and the value is not of
// Y.
tir::PrimFunc LastWrites(const tir::PrimFunc& function);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_LAST_WRITES_H_
