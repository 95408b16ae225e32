// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_INLINE_PRODUCERS_H_
#define TERN_SCHEDULE_RULES_INLINE_PRODUCERS_H_

#include <vector>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// Blocks whose results are cheap to compute again are computed where they are read: those of few
// operations without calls, or that are read once, by blocks that read each element about once.
void InlineProducers(Schedule* schedule, std::vector<RuleResult>* results);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_INLINE_PRODUCERS_H_
