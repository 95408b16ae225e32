// SPDX-License-Identifier: Apache-2.0
//
// Copies of elements between memory in which neighbours differ.
#ifndef TERN_SCHEDULE_RULES_TRANSPOSE_TILES_H_
#define TERN_SCHEDULE_RULES_TRANSPOSE_TILES_H_

#include <string>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// A block that copies float32 elements, where neighbours in what is read and in what is written are
// along two axes: tiles of them are turned in registers. Whether that could be done.
bool TransposeTiles(Schedule* schedule, const std::string& block, const MachineFacts& facts);

// A block reads a copy of the one buffer that it reads, in which neighbours are along the block's
// last axis. The name of the copy's block; "" where they are so already, or that axis is no index.
std::string TransposeChannelsLast(Schedule* schedule, const std::string& block,
                                  const std::string& name);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_TRANSPOSE_TILES_H_
