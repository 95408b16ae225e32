// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_POLYPHASE_H_
#define TERN_SCHEDULE_RULES_POLYPHASE_H_

#include <vector>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// Transposed convolutions become convolutions at stride 1 (the step polyphase), which the rules for
// these take, of hosts and of devices. Functions that say `reassociate` alone.
//
// Before:  Y[o, y] += select((y - dy) % 2 == 0 && ..., X[c, (y - dy) // 2], 0) * W[c, o, dy]
// After:   conv_phases[f, y] += select(..., X[c, y + dy - 1], 0) * conv_weights[f, c, dy]
//          Y[o, y] = conv_phases[y % 2 * outputs + o, y // 2]
void SplitPhases(Schedule* schedule, std::vector<RuleResult>* results);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_POLYPHASE_H_
