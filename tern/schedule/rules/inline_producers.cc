// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/inline_producers.h"

#include <set>

namespace tern::schedule {
namespace {

// Operations that are computed again rather than read from memory.
constexpr int64_t kCheap = 16;

bool IsSpatial(BlockKind kind) {
  return kind == BlockKind::kElementwise || kind == BlockKind::kBroadcast ||
         kind == BlockKind::kInjective || kind == BlockKind::kGather ||
         kind == BlockKind::kSoftmax || kind == BlockKind::kNormalization;
}

bool ShouldInline(const BlockInfo& producer, const std::vector<BlockInfo>& blocks) {
  if (!IsSpatial(producer.kind) || !producer.members.empty()) return false;
  const tir::Buffer& buffer = producer.accesses[0].buffer;
  int64_t reads = 0;
  for (const BlockInfo& block : blocks)
    for (const BlockAccess& access : block.accesses) {
      if (!access.buffer.same(buffer) || access.store) continue;
      // Otherwise an element is read by many instances.
      if (!IsSpatial(block.kind) || block.axes.size() > producer.axes.size()) return false;
      ++reads;
    }
  return reads == 1 || (reads > 1 && producer.operations <= kCheap);
}

}  // namespace

void InlineProducers(Schedule* schedule, std::vector<RuleResult>* results) {
  std::set<std::string> refused;
  bool changed = true;
  while (changed) {
    changed = false;
    std::vector<BlockInfo> blocks = DescribeBlocks(schedule->function());
    for (const BlockInfo& block : blocks) {
      if (refused.count(block.name) || !ShouldInline(block, blocks)) continue;
      try {
        schedule->Inline(block.name);
      } catch (const Error& error) {
        if (error.kind() != "ScheduleError") throw;
        refused.insert(block.name);
        continue;
      }
      results->push_back(
          {block.name, block.str(), "inline", {{schedule->trace().steps.back()}}, {}});
      changed = true;
      break;  // what is known of the others is of before
    }
  }
}

}  // namespace tern::schedule
