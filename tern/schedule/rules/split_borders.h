// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_SPLIT_BORDERS_H_
#define TERN_SCHEDULE_RULES_SPLIT_BORDERS_H_

#include <vector>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// Concatenation and padding on hosts become copies without conditions (the step split_cases), which
// are vectors; where an element is decided by each of them, it is no vector. Of results that no
// other block reads, which would read them in one piece.
//
// Before:  Y[i] = select(i < n, A[i], B[i - n])
// After:   Y[i] = A[i]
//          Y[i + n] = B[i]
void SplitBorders(Schedule* schedule, const TargetInfo& target, std::vector<RuleResult>* results);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_SPLIT_BORDERS_H_
