// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/split_borders.h"

#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Of one block: padding of two dimensions is five.
constexpr size_t kMostParts = 6;

bool IsCopy(BlockKind kind) {
  return kind == BlockKind::kElementwise || kind == BlockKind::kBroadcast ||
         kind == BlockKind::kInjective || kind == BlockKind::kGather;
}

bool IsReadElsewhere(const PrimFunc& function, const BlockInfo& block) {
  std::vector<const BlockNode*> all = BlocksIn(function->body);
  return std::any_of(all.begin(), all.end(), [&](const BlockNode* other) {
    return other->name != block.name && Touches(AsStmt(other), block.accesses[0].buffer);
  });
}

}  // namespace

void SplitBorders(Schedule* schedule, const TargetInfo& target, std::vector<RuleResult>* results) {
  if (!target.is_host_with_vectors()) return;
  for (const BlockInfo& block : DescribeBlocks(*schedule)) {
    if (!IsCopy(block.kind) || !block.conditional || block.accesses.empty() ||
        !block.accesses[0].store || IsReadElsewhere(schedule->function(), block))
      continue;
    auto cut = [&](Schedule* whole) {
      BlockRefs parts = {block.ref};
      for (size_t i = 0; i < parts.size() && parts.size() < kMostParts;) {
        bool done = Try(whole, [&](Schedule* attempt) {
          std::string name =
              FreshBlockName(*attempt, block.ref + "_" + std::to_string(parts.size()));
          parts.push_back(attempt->SplitCases(parts[i], name));
        });
        if (!done) ++i;
      }
      if (parts.size() == 1) Refuse("block " + block.name + " has no borders");
    };
    TryBefore(schedule, block, "split_borders", cut, results);
  }
}

}  // namespace tern::schedule
