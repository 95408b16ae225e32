// SPDX-License-Identifier: Apache-2.0
//
// Elementwise blocks on devices.
#include <algorithm>

#include "tern/ir/structural.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_threads.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// coalesced_elementwise: elementwise, broadcast, injective and gather blocks.
//
// Rows that are a static multiple of a vector:
//   for rows, j / 256 / lanes       blockIdx.x
//     for j in 256                  threadIdx.x
//       for j in lanes              one vector
//
// Tensors of any sizes, all indexed alike: the same of their elements in the order of memory. The
// last vector is predicated, and taken by its elements where it is cut off.
//
// Others: coalesced elements, 16 bytes of a thread where there are enough.
//   for rows, j / 4 / 256           blockIdx.x
//     for j in 256                  threadIdx.x
//       for j in 4, unrolled        256 apart, predicated; of narrow elements 8 or 16

// Bytes that a thread writes, element by element, so that as many loads are under way at a time.
constexpr int64_t kUnrolledBytes = 16;
// Shorter rows, whose length is known, are taken as one row, and so are those of a dynamic length
// that is taken to be short (short_rows.h).
constexpr int64_t kShortRow = 512;

// Whether an access is of all elements of a dense tensor, along the axes in their order.
bool IsWhole(const BlockInfo& block, const BlockAccess& access) {
  if (!access.by_axes || !access.buffer->strides.empty() ||
      access.indices.size() != block.axes.size() || access.axes != block.accesses[0].axes)
    return false;
  for (size_t d = 0; d < access.axes.size(); ++d)
    if (!ir::StructuralEqual(block.axes[access.axes[d]].extent, access.buffer->shape[d]))
      return false;
  return true;
}

// Whether elements in the order of memory are neighbours in all tensors. Others may be read where
// the place costs little: all extents are static.
bool IsFlat(const BlockInfo& block) {
  bool is_static = std::all_of(block.axes.begin(), block.axes.end(),
                               [](const BlockAxis& axis) { return ConstExtent(axis) > 0; });
  if (block.conditional || !IsWhole(block, block.accesses[0])) return false;
  bool reads = false;
  for (const BlockAccess& access : block.accesses) {
    bool whole = IsWhole(block, access);
    if (!whole && !access.axes.empty() && !is_static) return false;
    reads |= whole && !access.store;
  }
  return reads;
}

// The elements of all axes; 0: dynamic.
int64_t NumElements(const BlockInfo& block) {
  int64_t count = 1;
  for (const BlockAxis& axis : block.axes) count *= ConstExtent(axis);
  return count;
}

// As many threads of a block as leave enough blocks for the device.
int64_t ThreadsFor(int64_t items, const TargetInfo& target) {
  int64_t threads = std::min(kBlockThreads, target.max_threads);
  constexpr int64_t kLeast = 64;
  while (items > 0 && threads > kLeast && items < threads * target.busy_blocks) threads /= 2;
  return threads;
}

// The loops of the axes in the order in which elements are written.
Schedule::Names LoopsAsWritten(const BlockInfo& block, const Schedule::Names& spatial) {
  Schedule::Names loops = spatial;
  for (size_t axis : block.accesses[0].axes) {
    const std::string& loop = block.axes[axis].loop;
    if (!Contains(loops, loop)) continue;
    std::erase(loops, loop);
    loops.push_back(loop);
  }
  return loops;
}

void MoveRows(Schedule* schedule, const BlockInfo& block, size_t axis, int64_t lanes,
              Schedule::Names loops, const TargetInfo& target) {
  const std::string& loop = block.axes[axis].loop;
  MakeInnermost(schedule, block.name, loop, &loops);
  Lanes split = SplitLanes(schedule, block.name, loop, lanes);
  loops.pop_back();
  if (!split.outer.empty()) loops.push_back(split.outer);
  if (loops.empty()) Refuse("all elements are one vector");
  schedule->Vectorize(LoopOf(block.name, split.inner));
  SpreadOverThreads(schedule, block.name, FuseLoops(schedule, block.name, loops),
                    ThreadsFor(NumElements(block) / lanes, target));
}

void MoveFlat(Schedule* schedule, const BlockInfo& block, int64_t lanes,
              const Schedule::Names& loops, const TargetInfo& target) {
  const std::string& name = block.name;
  if (loops.size() > 1) schedule->Reorder(Around(name, loops));
  std::string all = FuseLoops(schedule, name, loops);
  Schedule::Names made;
  for (const char* suffix : {"_o", "_t", "_v"})
    made.push_back(FreshLoopName(*schedule, all + suffix));
  schedule->Split(LoopOf(name, all), {ThreadsFor(NumElements(block) / lanes, target), lanes}, made,
                  TailStrategy::kGuard);
  schedule->Bind(LoopOf(name, made[0]), kBlockX);
  schedule->Bind(LoopOf(name, made[1]), kThreadX);
  schedule->Vectorize(LoopOf(name, made[2]));
}

void MoveScalars(Schedule* schedule, const BlockInfo& block, Schedule::Names loops,
                 const TargetInfo& target) {
  const std::string& name = block.name;
  if (loops.size() > 1) schedule->Reorder(Around(name, loops));
  int64_t count = NumElements(block), row = 0;
  for (const BlockAxis& axis : block.axes)
    if (axis.loop == loops.back()) row = ConstExtent(axis);
  bool in_rows = loops.size() > 1 && (row == 0 ? target.likely_columns == 0 : row >= kShortRow);
  std::string last = in_rows ? loops.back() : FuseLoops(schedule, name, loops);
  int64_t threads = ThreadsFor(count, target),
          unrolled = std::max<int64_t>(4, kUnrolledBytes / block.accesses[0].buffer->dtype.bytes());
  if (in_rows && row == 0) threads = std::min<int64_t>(threads, kBlockThreads / 2);
  while (count > 0 && unrolled > 1 && count < unrolled * threads * target.busy_blocks * 2)
    unrolled /= 2;
  Schedule::Names made;
  for (const char* suffix : {"_o", "_u", "_t"})
    made.push_back(FreshLoopName(*schedule, last + suffix));
  std::vector<int64_t> factors = {unrolled, threads};
  if (unrolled == 1) {
    factors.erase(factors.begin());
    made.erase(made.begin() + 1);
  }
  schedule->Split(LoopOf(name, last), factors, made, TailStrategy::kGuard);
  if (unrolled > 1) {
    schedule->Reorder(Around(name, {made[0], made[2], made[1]}));
    schedule->Unroll(LoopOf(name, made[1]));
  }
  schedule->Bind(LoopOf(name, made.back()), kThreadX);
  Schedule::Names blocks = {made[0]};
  if (in_rows) blocks.insert(blocks.begin(), loops.begin(), loops.end() - 1);
  schedule->Bind(LoopOf(name, FuseLoops(schedule, name, blocks)), kBlockX);
}

void MoveElements(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  Schedule::Names loops = RequireAlone(*schedule, block).spatial;
  if (loops.empty()) Refuse("it has no loop of its own");
  if (NumElements(block) == 0 &&
      std::any_of(block.axes.begin(), block.axes.end(),
                  [](const BlockAxis& axis) { return ir::IsConst(axis.extent, 0); }))
    Refuse("there are no elements");
  std::optional<size_t> axis = FindVectorAxis(block);
  if (axis && !Contains(loops, block.axes[*axis].loop)) axis = {};
  int64_t lanes = axis ? MoveLanes(block, *axis, target) : 1;
  int64_t most = axis ? MostLanes(block, *axis, target) : 1;
  if (lanes > 1 && lanes == most) return MoveRows(schedule, block, *axis, lanes, loops, target);
  Schedule::Names as_written = LoopsAsWritten(block, loops);
  if (axis && most > 1 && IsFlat(block)) return MoveFlat(schedule, block, most, as_written, target);
  if (lanes > 1) return MoveRows(schedule, block, *axis, lanes, loops, target);
  MoveScalars(schedule, block, as_written, target);
}

}  // namespace

void RegisterDeviceElementwiseRules() {
  using K = BlockKind;
  RegisterRule({.name = "coalesced_elementwise",
                .description = "coalesced loads and stores, as vectors where rows or tensors allow",
                .kinds = {K::kElementwise, K::kBroadcast, K::kInjective, K::kGather},
                .fits = IsDevice,
                .priority = 10,
                .apply = MoveElements});
}

}  // namespace tern::schedule
