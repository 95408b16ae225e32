// SPDX-License-Identifier: Apache-2.0
//
// Transposition on devices, through shared memory.
#include "tern/schedule/rules/device_transpose.h"

#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_threads.h"

namespace tern::schedule {

using namespace tern::tir;

std::optional<Transposition> FindTransposition(const BlockInfo& block) {
  if (block.accesses.empty() || !block.accesses[0].store || !block.accesses[0].by_axes ||
      block.conditional || block.accesses[0].axes.empty())
    return {};
  size_t written = block.accesses[0].axes.back();
  std::optional<Transposition> found;
  for (const BlockAccess& access : block.accesses) {
    if (access.store ? &access != &block.accesses[0] : !access.by_axes) return {};
    if (access.store || access.axes.empty() || access.axes.back() == written) continue;
    bool across = std::count(access.axes.begin(), access.axes.end(), written) > 0;
    if (!across) continue;
    if (found) return {};
    found = {access.buffer, written, access.axes.back()};
  }
  return found;
}

namespace {

// Tiles become thread blocks: one axis of them where all extents are static, else the last loops
// are blockIdx.x and .y, which tells what a tile has. Others are blockIdx.x instead, the only one
// that may have any number of blocks, and the last loops .y and .z. The innermost loop.
std::string BindTiles(Schedule* schedule, const BlockInfo& block, Schedule::Names loops) {
  bool is_static = std::all_of(block.axes.begin(), block.axes.end(),
                               [](const BlockAxis& axis) { return ConstExtent(axis) > 0; });
  std::string inner;
  auto bind = [&](const std::string& loop, const std::string& axis) {
    schedule->Bind(LoopOf(block.name, loop), axis);
    if (inner.empty()) inner = loop;
  };
  Schedule::Names axes = {kBlockX, "blockIdx.y"};
  if (loops.size() > axes.size()) axes = {"blockIdx.y", "blockIdx.z"};
  for (const std::string& axis : axes) {
    if (is_static || loops.empty()) break;
    bind(loops.back(), axis);
    loops.pop_back();
  }
  if (!loops.empty()) bind(FuseLoops(schedule, block.name, loops), kBlockX);
  return inner;
}

// shared_memory_transpose: injective blocks that read across the contiguous axis of the result.
//
//   for tile of 64 x 64 bind(blockIdx.x) {         # .y, .z and .x where extents are dynamic
//     for threads { X_shared[r, c] = X[...] }     # coalesced along the axis that is read
//     for threads { Y[...] = X_shared[c, r] }     # coalesced along the axis that is written
//   }
//
// X_shared has an odd row stride, against bank conflicts. Tiles at the ends are
// predicated; they are 32 x 32 where a side is no longer. Declines where an extent is below 16, or
// shared memory does not suffice.
void TransposeTiles(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  std::optional<Transposition> across = FindTransposition(block);
  if (!across) Refuse("no tensor is read across the contiguous axis of the result");
  if (target.likely_columns > 0 && target.likely_columns < kLeastTransposed)
    Refuse("an axis is taken to be short, or too long for a grid");
  Schedule::Names outer = RequireAlone(*schedule, block).spatial;
  int64_t bytes = across->buffer->dtype.bytes();
  constexpr int64_t kLargeTile = 64, kSmallTile = kLeastTile;
  int64_t side = kLargeTile;
  for (size_t axis : {across->written, across->read})
    if (int64_t extent = ConstExtent(block.axes[axis]); extent > 0 && extent <= kSmallTile)
      side = kSmallTile;
  int64_t columns = std::min(kBlockThreads, target.max_threads) / side;
  int64_t shared = side * (side + 1) * bytes;
  for (size_t axis : {across->written, across->read}) {
    int64_t extent = ConstExtent(block.axes[axis]);
    if (extent > 0 && extent < kLeastTransposed)
      Refuse("axis " + block.axes[axis].var.name() + " has fewer than " +
             std::to_string(kLeastTransposed) + " elements");
  }
  if (shared > target.shared_bytes || columns < 1)
    Refuse("a tile needs " + std::to_string(shared) + " bytes of shared memory and " +
           std::to_string(side) + " threads");
  const std::string &name = block.name, &written = block.axes[across->written].loop,
                    &read = block.axes[across->read].loop;
  std::erase(outer, written);
  std::erase(outer, read);
  Lanes w = SplitLanes(schedule, name, written, side), r = SplitLanes(schedule, name, read, side);
  for (const std::string& tile : {r.outer, w.outer})
    if (!tile.empty()) outer.push_back(tile);
  Schedule::Names order = outer;
  order.insert(order.end(), {r.inner, w.inner});
  schedule->Reorder(Around(name, order));
  if (outer.empty()) Refuse("all elements are one tile");
  std::string tile = BindTiles(schedule, block, outer);
  std::string copy = schedule->CacheRead(name, across->buffer->name, StorageScope::kShared);
  Schedule::Names made = schedule->ComputeAt(copy, LoopOf(name, tile));
  if (made.size() != 2) Refuse("a tile of " + across->buffer->name + " is no matrix");
  // Rows start on different banks.
  int64_t rank = static_cast<int64_t>(across->buffer->shape.size());
  int64_t odd = std::max<int64_t>(1, 4 / bytes);
  for (int64_t d = rank - 1; d-- > 0;)
    Try(schedule, [&](Schedule* attempt) { attempt->StorageAlign(copy, d, side, odd); });
  for (const auto& [part, row, column] :
       {std::tuple(copy, made[0], made[1]), std::tuple(name, r.inner, w.inner)}) {
    Lanes rows = SplitLanes(schedule, part, row, columns);
    schedule->Bind(LoopOf(part, rows.inner), kThreadY);
    schedule->Bind(LoopOf(part, column), kThreadX);
    if (!rows.outer.empty()) schedule->Unroll(LoopOf(part, rows.outer));
  }
}

}  // namespace

void RegisterDeviceTransposeRules() {
  RegisterRule({.name = "shared_memory_transpose",
                .description = "64 x 64 tiles through shared memory: coalesced loads and stores",
                .kinds = {BlockKind::kInjective},
                .fits = [](const TargetInfo& target) { return target.has_shared_memory(); },
                .priority = 20,
                .apply = TransposeTiles});
}

}  // namespace tern::schedule
