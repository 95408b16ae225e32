// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_SPLIT_UPDATES_H_
#define TERN_SCHEDULE_RULES_SPLIT_UPDATES_H_

#include <vector>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// Devices: a reduction of several results becomes one of each (the step split_updates), which the
// threads of a block can combine, and rows can be fused with.
//
// Before:  for i, j { S[i] += X[i, j]; Q[i] += X[i, j] * X[i, j] }
// After:   for i, j { S[i] += X[i, j] }   for i, j { Q[i] += X[i, j] * X[i, j] }
void SplitUpdates(Schedule* schedule, const TargetInfo& target, std::vector<RuleResult>* results);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_SPLIT_UPDATES_H_
