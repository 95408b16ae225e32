// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_DEVICE_REDUCTIONS_H_
#define TERN_SCHEDULE_RULES_DEVICE_REDUCTIONS_H_

#include <optional>
#include <string>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// Schedules a reduction, which is alone in its loops, by row_reduction or column_reduction. Refuses
// where neither takes it.
void ReduceOnDevice(Schedule* schedule, const BlockRef& block, const TargetInfo& target);

// The axis along which neighbours are read, or none.
std::optional<size_t> ContiguousAxis(const BlockInfo& block, const BlockAccess& access);
// The read of most elements, along memory: what the time is for. Or none.
const BlockAccess* MainReadOf(const BlockInfo& block);
// Refuses where threads would sum floats in another order than written.
void RequireAnyOrder(const Schedule& schedule, const BlockInfo& block);

// Schedules one whose contiguous axis is kept, by the best plan of column_reduction.
void ReduceColumns(Schedule* schedule, const BlockInfo& block, const TargetInfo& target);

// By RegisterDeviceReductionRules.
void RegisterDeviceRowTileRules();
void RegisterDeviceColumnRules();

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_DEVICE_REDUCTIONS_H_
