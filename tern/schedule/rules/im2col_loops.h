// SPDX-License-Identifier: Apache-2.0
//
// The loops of an operand that im2col made: its indices are quotients and rests of fused axes,
// which the loops of a copy, or of a GEMM that reads through it, follow better by parts.
#ifndef TERN_SCHEDULE_RULES_IM2COL_LOOPS_H_
#define TERN_SCHEDULE_RULES_IM2COL_LOOPS_H_

#include <string>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// The extent of the innermost of the axes that are fused in an axis of an operand's block, by
// number; 0 where that is the whole axis.
int64_t InnermostFused(const Schedule& schedule, const BlockRef& operand, size_t axis);

// Schedules the copy to an operand: rows along the axis that is contiguous in memory, in parallel.
void CopyOperand(Schedule* schedule, const BlockRef& operand, const TargetInfo& target);

// Whether a block copies every second element along its last axis, or fewer, and each at most once,
// as im2col of 1x1 windows with strides does. Its rows are copied better by themselves than as
// vectors of packed panels, which cross their ends.
bool IsSubsampled(const Schedule& schedule, const BlockRef& block);

// N axes that do not lie side by side with the others in B, as the images of NCHW do not: with
// those as batch axes N is contiguous. None where the others are not contiguous either.
struct ColumnsApart {
  Schedule::Names axes;
  int64_t contiguous = 1;  // extent of the others
};
ColumnsApart FindColumnsApart(const BlockInfo& block);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_IM2COL_LOOPS_H_
