// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_DEVICE_REDUCTIONS_H_
#define TERN_SCHEDULE_RULES_DEVICE_REDUCTIONS_H_

#include <string>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// Schedules a reduction, which is alone in its loops, by row_reduction or column_reduction. Refuses
// where neither takes it.
void ReduceOnDevice(Schedule* schedule, const std::string& block, const TargetInfo& target);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_DEVICE_REDUCTIONS_H_
