// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/inline_producers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tern/schedule/rules/loops.h"
#include "tern/tir/analysis/preparation.h"

namespace tern::schedule {
namespace {

// Operations that are computed again rather than read from memory.
constexpr int64_t kCheap = 16;

bool IsSpatial(BlockKind kind) {
  return kind == BlockKind::kElementwise || kind == BlockKind::kBroadcast ||
         kind == BlockKind::kInjective || kind == BlockKind::kGather ||
         kind == BlockKind::kSoftmax || kind == BlockKind::kNormalization;
}

// Reads the elements of a buffer one by one, in the order in which it writes its own.
bool ReadsAsWritten(const BlockInfo& block, const BlockAccess& read) {
  return read.by_axes && read.axes.size() == block.axes.size() &&
         read.axes == block.accesses[0].axes;
}

// Reduces all elements of a buffer, each read once.
bool ReducesAll(const BlockInfo& block, const BlockAccess& read) {
  return block.kind == BlockKind::kReduction && read.by_axes &&
         read.axes.size() == block.axes.size();
}

bool ShouldInline(const BlockInfo& producer, const std::vector<BlockInfo>& blocks,
                  const TargetInfo& target) {
  if (!IsSpatial(producer.kind)) return false;
  const tir::Buffer& buffer = producer.accesses[0].buffer;
  // The last block of a row chain: only what reads it becomes the last in its place.
  bool ends_chain = !producer.members.empty();
  int64_t reads = 0;
  for (const BlockInfo& block : blocks)
    for (const BlockAccess& access : block.accesses) {
      if (!access.buffer.same(buffer) || access.store) continue;
      ++reads;
      if (target.is_device && !ends_chain && ReducesAll(block, access)) continue;
      // Otherwise an element is read by many instances.
      if (!IsSpatial(block.kind) || block.axes.size() > producer.axes.size()) return false;
      if (ends_chain && !ReadsAsWritten(block, access)) return false;
    }
  return reads == 1 || (reads > 1 && !ends_chain && producer.operations <= kCheap);
}

// Elements of a buffer times their size; nothing where that is not known.
std::optional<int64_t> BytesOf(const tir::Buffer& buffer) {
  int64_t bytes = buffer->dtype.bytes();
  for (const ir::Expr& extent : buffer->shape) {
    std::optional<int64_t> number = ir::AsConstInt(extent);
    if (!number) return {};
    bytes *= *number;
  }
  return bytes;
}

// Whether a block makes something of constants alone for one that does not: it is done ahead, and
// then only read, unless what it makes is larger than what it is made of.
bool IsDoneAhead(const BlockInfo& producer, const std::vector<BlockInfo>& blocks,
                 const tir::Preparation& preparation) {
  const tir::Buffer& buffer = producer.accesses[0].buffer;
  if (!preparation.IsConstant(buffer)) return false;
  bool has_reader = std::any_of(blocks.begin(), blocks.end(), [&](const BlockInfo& block) {
    return !preparation.IsConstant(block.accesses[0].buffer) &&
           std::any_of(block.accesses.begin(), block.accesses.end(),
                       [&](const BlockAccess& access) { return access.buffer.same(buffer); });
  });
  std::map<const ir::BufferNode*, std::optional<int64_t>> read;
  for (const BlockAccess& access : producer.accesses)
    if (!access.store) read.emplace(access.buffer.get(), BytesOf(access.buffer));
  int64_t bytes = 0;
  for (const auto& [one, size] : read) bytes += size.value_or(0);
  std::optional<int64_t> made = BytesOf(buffer);
  return has_reader && made && *made <= bytes;
}

}  // namespace

void InlineProducers(Schedule* schedule, const TargetInfo& target,
                     std::vector<RuleResult>* results) {
  std::set<std::string> refused;
  bool changed = true;
  while (changed) {
    changed = false;
    std::vector<BlockInfo> blocks = DescribeBlocks(*schedule);
    tir::Preparation preparation(schedule->function());
    for (const BlockInfo& block : blocks) {
      if (refused.count(block.name) || !ShouldInline(block, blocks, target)) continue;
      if (IsDoneAhead(block, blocks, preparation)) continue;
      changed = TryBefore(
          schedule, block, "inline_producers",
          [&](Schedule* attempt) { attempt->ComputeInline(block.ref); }, results);
      if (changed) break;  // what is known of the others is of before
      refused.insert(block.name);
    }
  }
}

}  // namespace tern::schedule
