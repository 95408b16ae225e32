// SPDX-License-Identifier: Apache-2.0
//
// row_tile_reduction: rows of a large operand are reduced along memory, beside operands that all
// rows share: a product of few rows of A with weights B[j, k] that are unpacked on the way.
//
//   for j / (warps * tile)                   blockIdx.x
//     for j in warps                         threadIdx.y
//       for k in 32                          threadIdx.x
//         for k / 32 / lanes
//           b = B[tile, lanes]               16 bytes a load
//           a = A[few, lanes]                once for all rows of the tile
//           P[few, tile] op= f(a, b)         registers
//       S[few, tile] = sum of P              warp shuffles
//
// A warp has its rows to itself. Time is that of reading B where the tile is so large that the
// caches give A in the meantime. Declines where no operand is shared, or is of no wider elements
// than B, so that reading it again costs no more than B; where rows are no multiple of 32 vectors;
// and where more than 4 rows of A would not fit registers.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/device_reductions.h"
#include "tern/schedule/rules/device_threads.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

constexpr int64_t kWarp = 32, kWarps = 4, kTile = 4, kMostShared = 4;

// Bytes from memory in a cycle, of the device.
constexpr double kBytesPerCycle = 2400;

struct RowTilePlan : PlanCost {
  int64_t tile = kTile;    // rows of a warp at a time
  int64_t warps = kWarps;  // of a thread block
  int64_t lanes = 1;       // elements of each that a thread has at a time

  static const std::vector<PlanField<RowTilePlan>>& Fields() {
    using P = RowTilePlan;
    static const std::vector<PlanField<P>> fields = {
        {"tile", &P::tile}, {"warps", &P::warps}, {"lanes", &P::lanes}};
    return fields;
  }
};
using P = RowTilePlan;

struct RowTiles {
  size_t steps = 0;                // the axis along memory
  LoopRef j, k;                    // loops of the rows, and of the axis
  LoopRefs few;                    // other loops of results
  int64_t lanes = 1;               // of the axis, for a thread at a time, at most
  int64_t extent = 0, length = 0;  // rows, and elements of one
  int64_t bytes = 0;               // of an element
  std::vector<Buffer> operands;    // that are read along memory
};

RowTiles Match(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target) {
  RequireAnyOrder(schedule, block);
  LoopsByKind loops = RequireAlone(schedule, block);
  const BlockAccess* read = MainReadOf(block);
  auto stores = std::count_if(block.accesses.begin(), block.accesses.end(),
                              [](const BlockAccess& access) { return access.store; });
  if (!read || loops.reduce.size() != 1 || stores != 1 || block.conditional)
    Refuse("it is no plain reduction along one axis");
  RowTiles result;
  result.steps = *ContiguousAxis(block, *read);
  const BlockAxis& steps = block.axes[result.steps];
  if (steps.kind != IterKind::kReduce || !read->by_axes || read->axes.size() != 2)
    Refuse("what is read most is no matrix whose rows are reduced");
  size_t rows = read->axes[0];
  result.j = block.axes[rows].loop;
  result.k = steps.loop;
  int64_t few = 1;
  for (const LoopRef& loop : loops.spatial) {
    if (loop == result.j) continue;
    result.few.push_back(loop);
    for (const BlockAxis& axis : block.axes)
      if (axis.loop == loop) few *= ConstExtent(axis);
  }
  bool is_shared = false;
  for (const BlockAccess& access : block.accesses) {
    if (access.store || ContiguousAxis(block, access) != result.steps) continue;
    is_shared |= std::count(access.axes.begin(), access.axes.end(), rows) == 0 &&
                 access.buffer->dtype.bits() > read->buffer->dtype.bits();
    if (std::none_of(result.operands.begin(), result.operands.end(),
                     [&](const Buffer& one) { return one.same(access.buffer); }))
      result.operands.push_back(access.buffer);
  }
  if (!is_shared) Refuse("its rows share no operand of wider elements");
  if (few < 1 || few > kMostShared)
    Refuse("it has " + std::to_string(few) + " results for each row; expected 1 to " +
           std::to_string(kMostShared));
  if (target.vector_bytes == 0) Refuse("the target has no vector loads");
  result.lanes = MostLanes(block, result.steps, target) / PowerFor(few, kMostShared);
  result.length = ConstExtent(steps);
  result.extent = ConstExtent(block.axes[rows]);
  result.bytes = read->buffer->dtype.bytes();
  if (result.length == 0 || result.length % (kWarp * result.lanes) != 0)
    Refuse("its rows are no multiple of " + std::to_string(kWarp * result.lanes) + " elements");
  return result;
}

// Memory is what it takes: the plan follows from the sizes.
std::vector<P> Plans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                     const Wanted<P>& want) {
  RowTiles tiles = Match(*schedule, block, target);
  P plan;
  plan.tile = want.Or(&P::tile, plan.tile);
  if (plan.tile < 1 || tiles.extent % plan.tile != 0)
    Refuse("the number of its rows is no multiple of " + std::to_string(plan.tile));
  plan.warps = want.Or(&P::warps, PowerIn(tiles.extent / plan.tile, kWarps));
  plan.lanes = want.Or(&P::lanes, tiles.lanes);
  bool fits = plan.warps > 0 && tiles.extent % (plan.tile * plan.warps) == 0 && plan.lanes > 0 &&
              tiles.lanes % plan.lanes == 0 && plan.warps * kWarp <= target.max_threads;
  if (!fits) return {};
  plan.cycles = plan.limit = static_cast<double>(tiles.extent) *
                             static_cast<double>(tiles.length * tiles.bytes) / kBytesPerCycle;
  return {plan};
}

// Copies of what a thread needs for a step of a loop, to registers, by loads of 16 bytes at most.
void LoadInto(Schedule* schedule, const BlockRef& copy, const LoopRef& loop, int64_t most,
              const TargetInfo& target) {
  LoopRefs loops = schedule->ComputeAt(copy, loop);
  BlockInfo info = DescribeBlock(*schedule, copy);
  int64_t lanes = std::min(most, target.vector_bytes / info.accesses[0].buffer->dtype.bytes());
  Lanes split = SplitLanes(schedule, copy, loops.back(), lanes);
  if (lanes > 1) schedule->Vectorize(split.inner.Of(copy));
  loops.back() = split.outer;
  for (const LoopRef& around : loops)
    if (!around.empty()) schedule->Unroll(around.Of(copy));
}

void Apply(Schedule* schedule, const BlockInfo& block, const TargetInfo& target, const P& plan) {
  RowTiles tiles = Match(*schedule, block, target);
  const BlockRef& name = block.ref;
  CopyRefs copies;
  for (const Buffer& buffer : tiles.operands)
    copies.push_back(schedule->CacheRead(name, buffer, StorageScope::kLocal,
                                         FreshBlockName(*schedule, buffer->name + "_step")));
  auto fresh = [&](const std::string& wish) { return FreshLoopName(*schedule, wish); };
  LoopRefs k =
      schedule->Split(tiles.k.Of(name), {kWarp, plan.lanes},
                      {fresh(tiles.k + "_o"), fresh(tiles.k + "_t"), fresh(tiles.k + "_v")});
  LoopRefs j =
      schedule->Split(tiles.j.Of(name), {plan.warps, plan.tile},
                      {fresh(tiles.j + "_o"), fresh(tiles.j + "_y"), fresh(tiles.j + "_i")});
  LoopRefs order = {j[0], j[1]};
  order.insert(order.end(), tiles.few.begin(), tiles.few.end());
  order.insert(order.end(), {j[2], k[1], k[0], k[2]});
  schedule->Reorder(order.Of(name));
  CopyRef parts = schedule->Rfactor(k[1].Of(name), FreshBlockName(*schedule, name + "_parts"));
  schedule->SetScope(parts, StorageScope::kLocal);
  schedule->Bind(j[0].Of(name), kBlockX);
  schedule->Bind(j[1].Of(name), kThreadY);
  schedule->Bind(k[1].Of(name), kThreadX);
  for (const LoopRef& loop : tiles.few) schedule->Unroll(loop.Of(name));
  schedule->Unroll(j[2].Of(name));
  LoopRefs inside = schedule->ComputeAt(parts, j[1].Of(name));
  LoopRef thread = inside.back();
  inside.pop_back();
  LoopRefs steps = LoopsAround(*schedule, parts, {k[0], k[2]}), order_of_parts = {thread};
  order_of_parts.insert(order_of_parts.end(), steps.begin(), steps.end());
  order_of_parts.insert(order_of_parts.end(), inside.begin(), inside.end());
  schedule->Reorder(order_of_parts.Of(parts));
  schedule->Bind(thread.Of(parts), kThreadX);
  for (const CopyRef& copy : copies) LoadInto(schedule, copy, steps[0], plan.lanes, target);
  schedule->Unroll(steps[1]);
  for (const LoopRef& loop : inside) schedule->Unroll(loop.Of(parts));
}

}  // namespace

void RegisterDeviceRowTileRules() {
  RegisterRule({.name = "row_tile_reduction",
                .description = "rows are reduced beside operands that they share: by a warp, "
                               "several rows at a time",
                .kinds = {BlockKind::kReduction},
                .fits = [](const TargetInfo& target) { return target.has_shared_memory(); },
                .priority = 11,
                .planned = Planned<P>(Plans, Apply)});
}

}  // namespace tern::schedule
