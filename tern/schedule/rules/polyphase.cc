// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/polyphase.h"

#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

void SplitPhases(Schedule* schedule, std::vector<RuleResult>* results) {
  for (const BlockInfo& block : DescribeBlocks(*schedule)) {
    if (block.kind != BlockKind::kReduction) continue;
    TryBefore(
        schedule, block, "polyphase", [&](Schedule* attempt) { attempt->Polyphase(block.ref); },
        results);
  }
}

}  // namespace tern::schedule
