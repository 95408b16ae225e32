// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/split_updates.h"

#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

void SplitUpdates(Schedule* schedule, const TargetInfo& target, std::vector<RuleResult>* results) {
  if (!target.is_device) return;
  for (const BlockInfo& block : DescribeBlocks(*schedule)) {
    if (block.kind != BlockKind::kReduction) continue;
    TryBefore(
        schedule, block, "split_updates",
        [&](Schedule* attempt) { attempt->SplitUpdates(block.ref); }, results);
  }
}

}  // namespace tern::schedule
