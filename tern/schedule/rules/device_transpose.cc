// SPDX-License-Identifier: Apache-2.0
//
// shared_memory_transpose: injective blocks of devices that read across the contiguous axis of the
// result.
//
//   for tiles                           blockIdx.x; .y, .z and .x where extents are dynamic
//     for r in tile / rows, unrolled    X_shared[r, c] = X[...]: coalesced along what is read
//       for rows, c in tile / lanes     threadIdx.y, threadIdx.x
//         for lanes                     one vector
//     for c in tile / rows, unrolled    Y[...] = X_shared[r, c]: coalesced along what is written
//       for rows, r in tile / lanes     threadIdx.y, threadIdx.x
//         for lanes                     loads of X_shared to registers, and a vector store
//
// Elements of less than 4 bytes are moved in vectors of 4 bytes, where both extents are multiples.
// Rows of X_shared are `pad` elements longer than a tile, against bank conflicts. Tiles at the ends
// are predicated. Cost: accesses of whole tiles, and what a tile takes to start, wait for memory
// and for its threads, as long as so many; fewer threads wait for more of their own:
//
//   cycles = tiles / busy_blocks * (tile * tile / lanes + 2700) * (1 + tile / rows / 64)
//
// Declines where an extent is below 16, or shared memory has no room for a tile.
#include "tern/schedule/rules/device_transpose.h"

#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_threads.h"
#include "tern/schedule/rules/register_tiles.h"

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
LoopRef BindTiles(Schedule* schedule, const BlockInfo& block, LoopRefs loops) {
  bool is_static = std::all_of(block.axes.begin(), block.axes.end(),
                               [](const BlockAxis& axis) { return ConstExtent(axis) > 0; });
  LoopRef inner;
  auto bind = [&](const LoopRef& loop, const std::string& axis) {
    schedule->Bind(loop.Of(block.ref), axis);
    if (inner.empty()) inner = loop;
  };
  std::vector<std::string> axes = {kBlockX, "blockIdx.y"};
  if (loops.size() > axes.size()) axes = {"blockIdx.y", "blockIdx.z"};
  for (const std::string& axis : axes) {
    if (is_static || loops.empty()) break;
    bind(loops.back(), axis);
    loops.pop_back();
  }
  if (!loops.empty()) bind(FuseLoops(schedule, block.ref, loops), kBlockX);
  return inner;
}

// Of a bank of shared memory.
constexpr int64_t kBankBytes = 4;

struct TransposePlan : PlanCost {
  int64_t tile = 0;   // its side
  int64_t lanes = 1;  // neighbours that a thread loads, and stores, at once
  int64_t rows = 0;   // of a tile that threads have at a time
  int64_t pad = 0;    // elements behind a row in shared memory

  static const std::vector<PlanField<TransposePlan>>& Fields() {
    using P = TransposePlan;
    static const std::vector<PlanField<P>> fields = {
        {"tile", &P::tile}, {"lanes", &P::lanes}, {"rows", &P::rows}, {"pad", &P::pad}};
    return fields;
  }
};
using P = TransposePlan;

Transposition RequireTransposition(const BlockInfo& block, const TargetInfo& target) {
  std::optional<Transposition> across = FindTransposition(block);
  if (!across) Refuse("no tensor is read across the contiguous axis of the result");
  if (target.likely_columns > 0 && target.likely_columns < kLeastTransposed)
    Refuse("an axis is taken to be short, or too long for a grid");
  for (size_t axis : {across->written, across->read})
    if (int64_t extent = ConstExtent(block.axes[axis]); extent > 0 && extent < kLeastTransposed)
      Refuse("axis " + block.axes[axis].var.name() + " has fewer than " +
             std::to_string(kLeastTransposed) + " elements");
  return *across;
}

// Elements that a thread may move at once: as many as a bank of shared memory has.
int64_t VectorLanes(const BlockInfo& block, const Transposition& across, const TargetInfo& target) {
  int64_t lanes = kBankBytes / across.buffer->dtype.bytes();
  if (target.vector_bytes < kBankBytes || lanes <= 1) return 1;
  for (size_t axis : {across.written, across.read}) {
    int64_t extent = ConstExtent(block.axes[axis]);
    lanes = extent > 0 ? PowerIn(extent, lanes) : 1;
  }
  return lanes;
}

std::vector<P> TransposePlans(Schedule*, const BlockInfo& block, const TargetInfo& target,
                              const Wanted<P>& want) {
  constexpr double kTileAccesses = 2700, kAccessesOfThread = 64;
  Transposition across = RequireTransposition(block, target);
  int64_t bytes = across.buffer->dtype.bytes(), most = std::min(kBlockThreads, target.max_threads);
  std::vector<P> plans;
  auto add = [&](int64_t tile, int64_t lanes, int64_t rows) {
    P plan;
    plan.tile = tile;
    plan.lanes = lanes;
    plan.rows = rows;
    plan.pad = want.Or(&P::pad, std::max<int64_t>(1, kBankBytes / bytes));  // on other banks
    if (plan.pad < 0 || plan.pad % lanes != 0 ||
        tile * (tile + plan.pad) * bytes > target.shared_bytes)
      return;
    double tiles = 1 / static_cast<double>(target.busy_blocks), side = static_cast<double>(tile);
    for (size_t axis : {across.written, across.read}) {
      int64_t extent = ConstExtent(block.axes[axis]);
      tiles *= static_cast<double>(CeilDiv(extent > 0 ? extent : target.likely_m, tile));
    }
    plan.cycles = tiles * (side * side / static_cast<double>(lanes) + kTileAccesses) *
                  (1 + side / static_cast<double>(rows) / kAccessesOfThread);
    plans.push_back(plan);
  };
  for (int64_t lanes = VectorLanes(block, across, target); lanes > 0; lanes /= 2)
    for (int64_t tile : {2 * kLeastTile, kLeastTile})
      for (int64_t rows = most * lanes / tile; rows > 0; rows /= 2) add(tile, lanes, rows);
  if (plans.empty() && !want.is_asked())
    Refuse("a tile of " + std::to_string(kLeastTile) + " x " + std::to_string(kLeastTile) +
           " needs as many threads, and room in shared memory");
  return plans;
}

void TransposeTiles(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                    const P& plan) {
  Transposition across = RequireTransposition(block, target);
  LoopRefs outer = RequireAlone(*schedule, block).spatial;
  const BlockRef& name = block.ref;
  const LoopRef &written = block.axes[across.written].loop, &read = block.axes[across.read].loop;
  BlockRef writer;  // stores vectors of what a thread has in registers
  if (plan.lanes > 1)
    writer = schedule->CacheWrite(name, block.accesses[0].buffer, StorageScope::kLocal);
  std::erase(outer, written);
  std::erase(outer, read);
  Lanes w = SplitLanes(schedule, name, written, plan.tile),
        r = SplitLanes(schedule, name, read, plan.tile);
  for (const LoopRef& tile : {r.outer, w.outer})
    if (!tile.empty()) outer.push_back(tile);
  LoopRefs order = outer;
  order.insert(order.end(), {r.inner, w.inner});
  schedule->Reorder(order.Of(name));
  if (outer.empty()) Refuse("all elements are one tile");
  LoopRef tile = BindTiles(schedule, block, outer);
  CopyRef copy = schedule->CacheRead(name, across.buffer, StorageScope::kShared);
  LoopRefs made = schedule->ComputeAt(copy, tile.Of(name));
  if (made.size() != 2) Refuse("a tile of " + across.buffer->name + " is no matrix");
  auto rank = std::ssize(across.buffer->shape);
  for (int64_t d = rank - 1; plan.pad > 0 && d-- > 0;)
    Try(schedule, [&](Schedule* attempt) { attempt->StorageAlign(copy, d, plan.tile, plan.pad); });
  for (const auto& [part, row, column] :
       {std::tuple(BlockRef(copy), made[0], made[1]), std::tuple(name, r.inner, w.inner)}) {
    Lanes rows = SplitLanes(schedule, part, row, plan.rows);
    schedule->Bind(rows.inner.Of(part), kThreadY);
    LoopRef thread = column;
    if (plan.lanes > 1) {
      Lanes vectors = SplitLanes(schedule, part, column, plan.lanes);
      thread = vectors.outer;
      if (part == name) {
        LoopRefs stored = schedule->ReverseComputeAt(writer, thread.Of(name));
        if (stored.size() != 1) Refuse("what a thread stores is no vector");
        schedule->Vectorize(stored[0].Of(writer));
        schedule->Unroll(vectors.inner.Of(name));
      } else {
        schedule->Vectorize(vectors.inner.Of(part));
      }
    }
    schedule->Bind(thread.Of(part), kThreadX);
    if (!rows.outer.empty()) schedule->Unroll(rows.outer.Of(part));
  }
}

}  // namespace

void RegisterDeviceTransposeRules() {
  RegisterRule({.name = "shared_memory_transpose",
                .description = "tiles through shared memory: coalesced loads and stores",
                .kinds = {BlockKind::kInjective},
                .fits = [](const TargetInfo& target) { return target.has_shared_memory(); },
                .priority = 20,
                .planned = Planned<P>(TransposePlans, TransposeTiles)});
}

}  // namespace tern::schedule
