// SPDX-License-Identifier: Apache-2.0
//
// Layout changes: copies whose contiguous axis differs between source and destination.
#ifndef TERN_SCHEDULE_RULES_TRANSPOSE_TILES_H_
#define TERN_SCHEDULE_RULES_TRANSPOSE_TILES_H_

#include <string>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// Transposes a float32 copy in register tiles, where it reads along one axis and writes along
// another. Whether that could be done.
bool TransposeTiles(Schedule* schedule, const BlockRef& block, const TargetInfo& target);

// The same of a copy whose result another block, a fused epilogue, alone reads elementwise: some
// rows are transposed, in L1, before it takes them.
bool TransposeTilesFor(Schedule* schedule, const BlockRef& epilogue, const BlockRef& block,
                       const TargetInfo& target);

// The copy of a result that was computed with its axes in another order: the block that alone reads
// the result takes it by rows, as above, or else all of it is transposed. Whether that could be
// done.
bool TransposeResult(Schedule* schedule, const BlockRef& copy, const TargetInfo& target);

// Makes a block read a channels-last copy of its one input: contiguous along the block's last axis.
// The copy; none where it is so already, or that axis is no index.
CopyRef TransposeChannelsLast(Schedule* schedule, const BlockRef& block, const std::string& name);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_TRANSPOSE_TILES_H_
