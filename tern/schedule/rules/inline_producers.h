// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_INLINE_PRODUCERS_H_
#define TERN_SCHEDULE_RULES_INLINE_PRODUCERS_H_

#include <vector>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// Inlines elementwise producers into their consumers (compute_inline): those with one read, or of
// few operations without calls, where consumers read each element about once. On devices, which
// would write the elements for another kernel to read, into reductions too.
//
// Before:  for i { T[i] = A[i] * 2 }   for i { C[i] = T[i] + 1 }
// After:   for i { C[i] = A[i] * 2 + 1 }
void InlineProducers(Schedule* schedule, const TargetInfo& target,
                     std::vector<RuleResult>* results);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_INLINE_PRODUCERS_H_
