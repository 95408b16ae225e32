// SPDX-License-Identifier: Apache-2.0
//
// Softmax and normalization on devices: chains of blocks over the same rows.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_reductions.h"
#include "tern/schedule/rules/device_threads.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Steps of a thread.
constexpr int64_t kMostUnrolled = 8;

// Spreads the innermost loop of a block over threads, in vector accesses of so many lanes.
void SpreadRow(Schedule* schedule, const std::string& name, const std::string& loop,
               int64_t threads, int64_t lanes) {
  std::string rest = loop;
  if (lanes > 1) {
    Lanes split = SplitLanes(schedule, name, loop, lanes);
    // A row of one vector is left to threads by its elements: no thread but one may write it.
    if (!split.outer.empty()) {
      schedule->Vectorize(LoopOf(name, split.inner));
      rest = split.outer;
    }
  }
  // Few steps that are no multiple of the threads are unrolled, the last one under a condition:
  // their loads are under way at once.
  int64_t steps = 0;
  for (const ForNode* own : NestOf(schedule->tree(), FindBlockNamed(*schedule, name)).loops)
    if (own->var.name() == rest) steps = ir::AsConstInt(own->extent).value_or(0);
  bool unrolls = steps > threads && steps % threads != 0 && steps <= kMostUnrolled * threads;
  Lanes split = SplitLanes(schedule, name, rest, threads,
                           unrolls ? TailStrategy::kGuard : TailStrategy::kLoop);
  if (unrolls) schedule->Unroll(LoopOf(name, split.outer));
  schedule->Bind(LoopOf(name, split.inner), kThreadX);
}

// The buffers that several of the blocks read whole rows of, and none of them writes.
std::vector<Buffer> SharedReads(const Schedule& schedule, const Schedule::Names& blocks,
                                size_t rank) {
  std::vector<std::pair<Buffer, int>> counts;
  std::vector<Buffer> written;
  for (const std::string& name : blocks)
    written.push_back(DescribeBlock(FindBlockNamed(schedule, name)).accesses[0].buffer);
  auto is_written = [&](const Buffer& buffer) {
    return std::any_of(written.begin(), written.end(),
                       [&](const Buffer& other) { return other.same(buffer); });
  };
  for (const std::string& name : blocks) {
    std::vector<Buffer> seen;
    for (const BlockAccess& access : DescribeBlock(FindBlockNamed(schedule, name)).accesses) {
      bool whole = !access.store && access.by_axes && access.axes.size() > rank;
      if (!whole || is_written(access.buffer)) continue;
      if (std::any_of(seen.begin(), seen.end(),
                      [&](const Buffer& other) { return other.same(access.buffer); }))
        continue;
      seen.push_back(access.buffer);
      auto it = std::find_if(counts.begin(), counts.end(),
                             [&](const auto& entry) { return entry.first.same(access.buffer); });
      it == counts.end() ? (void)counts.emplace_back(access.buffer, 1) : (void)++it->second;
    }
  }
  std::vector<Buffer> result;
  for (const auto& [buffer, count] : counts)
    if (count > 1) result.push_back(buffer);
  return result;
}

// Copies a row that several blocks read to shared memory, if it fits.
void KeepRows(Schedule* schedule, const Schedule::Names& blocks, size_t rank,
              const TargetInfo& target, int64_t length, Schedule::Names* copies) {
  int64_t bytes = 0;
  for (const Buffer& buffer : SharedReads(*schedule, blocks, rank)) {
    bytes += length * buffer->dtype.bytes();
    // Several blocks at a time hide what each waits for.
    constexpr int64_t kMost = 48 << 10, kForResults = 1024;
    if (length == 0 || bytes + kForResults > std::min(kMost, target.shared_bytes)) return;
    Try(schedule, [&](Schedule* attempt) {
      std::string copy;
      for (const std::string& name : blocks) {
        BlockInfo info = DescribeBlock(FindBlockNamed(*attempt, name));
        bool reads = std::any_of(info.accesses.begin(), info.accesses.end(), [&](const auto& a) {
          return !a.store && a.buffer->name == buffer->name;
        });
        if (!reads) continue;
        if (copy.empty())
          copy = attempt->CacheRead(name, buffer->name, StorageScope::kShared);
        else
          attempt->ReuseCache(name, copy);
      }
      copies->push_back(copy);
    });
  }
}

// Inlines elementwise blocks of the row.
Schedule::Names InlineElements(Schedule* schedule, const BlockInfo& block) {
  Schedule::Names kept;
  for (const std::string& name : block.members) {
    BlockInfo info = DescribeBlock(FindBlockNamed(*schedule, name));
    bool reduces = std::any_of(info.axes.begin(), info.axes.end(), [](const BlockAxis& axis) {
      return axis.kind == IterKind::kReduce;
    });
    if (reduces || !Try(schedule, [&](Schedule* attempt) { attempt->ComputeInline(name); }))
      kept.push_back(name);
  }
  return kept;
}

// Whether the sizes of buffers are known, and shared memory has room for all of them.
bool FitShared(const Schedule& schedule, const Schedule::Names& buffers, const TargetInfo& target) {
  constexpr int64_t kForResults = 1024;
  int64_t all = kForResults;
  for (const std::string& name : buffers) {
    const Buffer& buffer = FindAllocation(schedule.function()->body, name)->buffer;
    int64_t bytes = buffer->dtype.bytes();
    for (const Expr& extent : buffer->shape) {
      std::optional<int64_t> known = ir::AsConstInt(extent);
      if (!known) return false;
      bytes *= *known;
    }
    all += bytes;
  }
  return all <= target.shared_bytes;
}

// row_per_thread_block: softmax, normalization.
//
//   for row bind(blockIdx.x) {
//     X_shared = X[row]                                   # once, where it fits in 48 KiB
//     for each reduction { for threads { ... } }          # vector loads; shuffles, shared memory
//     for threads { Y[row] = ... }                        # vector stores; elementwise is inlined
//   }
//
// Rows of up to 1024 elements are several of a thread block, along threadIdx.y, each of a warp; of
// a dynamic length up to 512, in a version of its own (reduction_versions.h). Declines: floats
// without `reassociate`, results that do not fit in shared memory.

// What a thread loads at once where rows are few, on average of vectors and single elements; half
// of the vectors that it has where they are many.
constexpr int64_t kElementsAtOnce = 2, kVectorsAtOnce = 2;
// Longer rows have a thread block each. Those of a warp that are longer than the other, too, where
// they are few.
constexpr int64_t kShortRow = 1024, kWarpRow = 512;
// Threads that keep a multiprocessor busy, if each has several loads under way.
constexpr int64_t kBusyThreads = 512;

// The axis that a block moves vectors along, or reduces vectors of one result along.
std::optional<size_t> AxisOfVectors(const BlockInfo& info) {
  if (std::optional<size_t> axis = FindVectorAxis(info)) return axis;
  auto stores = std::count_if(info.accesses.begin(), info.accesses.end(),
                              [](const BlockAccess& access) { return access.store; });
  const BlockAccess* read = stores == 1 ? MainReadOf(info) : nullptr;
  std::optional<size_t> axis = read ? ContiguousAxis(info, *read) : std::nullopt;
  return axis && info.axes[*axis].kind == IterKind::kReduce ? axis : std::nullopt;
}

// Elements of a row; 0: dynamic.
int64_t RowLength(const BlockInfo& block) {
  int64_t length = 1;
  for (size_t a = 0; a < block.axes.size(); ++a)
    if (std::count(block.rows.begin(), block.rows.end(), a) == 0)
      length *= ConstExtent(block.axes[a]);
  return length;
}

// Rows of a thread block of so many threads each, where there are enough rows for the device.
int64_t RowsOfBlock(const BlockInfo& block, int64_t threads, const TargetInfo& target) {
  int64_t rows = std::min(kBlockThreads, target.max_threads) / threads, all = 1;
  for (size_t axis : block.rows) all *= ConstExtent(block.axes[axis]);
  while (rows > 1 && all > 0 && all < rows * target.busy_blocks) rows /= 2;
  return rows;
}

// Whether rows of so many threads keep the device busy.
bool IsFull(const BlockInfo& block, int64_t threads, const TargetInfo& target) {
  int64_t all = 1;
  for (size_t axis : block.rows) all *= ConstExtent(block.axes[axis]);
  return all * threads >= target.busy_blocks * kBusyThreads;
}

// Elements of a vector of the narrowest tensor.
int64_t LanesOf(const BlockInfo& block, const TargetInfo& target) {
  int64_t bytes = std::max<int64_t>(target.vector_bytes, 4);
  for (const BlockAccess& access : block.accesses)
    bytes = std::min<int64_t>(bytes, std::max(access.buffer->dtype.bytes(), 1));
  return std::max<int64_t>(target.vector_bytes / bytes, 1);
}

// The loops of rows become thread blocks, so many rows each. The loop of the blocks.
std::string BindRows(Schedule* schedule, const BlockInfo& block, int64_t rows_of_block) {
  Schedule::Names rows;
  Nest nest = NestOf(schedule->tree(), FindBlockNamed(*schedule, block.name));
  for (size_t i = 0; i < block.rows.size(); ++i) rows.push_back(nest.loops[i]->var.name());
  if (rows_of_block > 1) {
    Lanes split = SplitLanes(schedule, block.name, rows.back(), rows_of_block);
    rows.pop_back();
    if (!split.outer.empty()) rows.push_back(split.outer);
    if (rows.empty()) Refuse("all rows are one thread block's");
  }
  std::string row = FuseLoops(schedule, block.name, rows);
  schedule->Bind(LoopOf(block.name, row), kBlockX);
  return row;
}

void ShareRows(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
               int64_t threads, int64_t rows_of_block) {
  int64_t length = RowLength(block);
  Schedule::Names members = InlineElements(schedule, block), all = members, copies;
  all.push_back(block.name);
  KeepRows(schedule, all, block.rows.size(), target, length * rows_of_block, &copies);
  Schedule::Names shared = copies;
  for (const std::string& name : members) {
    BlockInfo info = DescribeBlock(FindBlockNamed(*schedule, name));
    shared.push_back(info.accesses[0].buffer->name);
    schedule->SetScope(shared.back(), StorageScope::kShared);
  }
  std::string row = BindRows(schedule, block, rows_of_block);
  for (size_t i = members.size(); i-- > 0;)
    schedule->ComputeAt(members[i], LoopOf(block.name, row));
  for (const std::string& copy : copies) schedule->ComputeAt(copy, LoopOf(block.name, row));
  // Which row it is of several dynamic axes cannot be told: all of them would be computed.
  if (!FitShared(*schedule, shared, target))
    Refuse("a row does not fit in shared memory, or its size is dynamic");

  all.insert(all.begin(), copies.begin(), copies.end());
  for (const std::string& name : all) {
    const BlockNode* node = FindBlockNamed(*schedule, name);
    BlockInfo info = DescribeBlock(node);
    Nest own = NestOf(schedule->tree(), node);
    if (own.loops.empty()) Refuse("block " + name + " has no loop of its own in a row");
    std::optional<size_t> axis = AxisOfVectors(info);
    std::string loop = own.loops.back()->var.name();
    bool moves =
        axis && !info.conditional && info.axes[*axis].loop == loop && target.vector_bytes > 0;
    int64_t lanes = moves ? MoveLanes(info, *axis, target) : 1;
    if (rows_of_block > 1) {
      const ForNode* rows = own.loops.size() > 1 ? own.loops[own.loops.size() - 2] : nullptr;
      if (!rows || !ir::IsConst(rows->extent, rows_of_block))
        Refuse("block " + name + " has no loop of rows");
      schedule->Bind(LoopOf(name, rows->var.name()), kThreadY);
    }
    SpreadRow(schedule, name, loop, threads, lanes);
  }
}

void RowsInBlocks(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  if (RowLoop(*schedule, block).empty()) Refuse("the loops of the rows are not the outer ones");
  RequireReassociate(*schedule);
  int64_t length = RowLength(block), warp = std::max<int64_t>(target.warp_size, 32);
  int64_t likely = length > 0 ? length : target.likely_steps;
  if (likely > 0 && likely <= kShortRow && block.rows.size() + 1 == block.axes.size()) {
    int64_t threads = PowerFor(likely, warp), rows = RowsOfBlock(block, threads, target);
    bool is_full = likely <= kWarpRow || IsFull(block, threads, target);
    if (rows > 1 && is_full &&
        Try(schedule, [&](Schedule* attempt) { ShareRows(attempt, block, target, threads, rows); }))
      return;
  }
  int64_t threads = length > 0 ? ThreadsForRow(length, kElementsAtOnce, target)
                               : ThreadsForRow(4 * kUnknownExtent, 1, target);
  int64_t few =
      length > 0 ? ThreadsForRow(length, kVectorsAtOnce * LanesOf(block, target), target) : threads;
  if (IsFull(block, few, target)) threads = few;
  ShareRows(schedule, block, target, threads, 1);
}

}  // namespace

void RegisterDeviceRowRules() {
  using K = BlockKind;
  RegisterRule(
      {.name = "row_per_thread_block",
       .description = "one thread block per row: the row is read once and reduced by the block",
       .kinds = {K::kSoftmax, K::kNormalization},
       .fits = [](const TargetInfo& target) { return target.has_shared_memory(); },
       .priority = 30,
       .apply = RowsInBlocks});
}

}  // namespace tern::schedule
