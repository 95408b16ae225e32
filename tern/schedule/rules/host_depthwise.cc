// SPDX-License-Identifier: Apache-2.0
//
// depthwise_channels_last: depthwise convolutions whose channels are contiguous (NHWC), of floats
// and of integers, and such of groups that have few channels, by vectors of groups.
//
//   for b, y, parallel
//     for go in groups / lanes
//       for jo in pixels of a row / 4
//         acc[4, N, lanes] = 0                               registers; N: outputs of a group
//         for c in channels of a group
//           for dy, dx (unrolled up to 256 products)
//             for ji in 4 unrolled, n in N unrolled, gi in lanes vectorized
//               acc[ji, n, gi] += X[y + dy, jo * 4 + ji + dx, c, g] * W[c, dy, dx, n, g]
//         Y = epilogue(acc)                                  several outputs: transposed, in L1
//
// Inputs of neighbouring pixels are loaded and widened once for a tile, and weights stay in
// registers along a row. Cost, of P pixels and N outputs of a group at a time:
//
//   cycles = pixels / P * groups / lanes * channels * taps
//          * max(P * N / fma_per_cycle + (P + N) / loads_per_cycle, fma_latency)
//
// with up to 16 accumulators, P * N, and 4 pixels. Padding is a
// condition on tiles, so that those inside have none (partition_loops). Integers of 8 bits are
// widened in the loads: what is multiplied has 16 bits, for which machines have dot products of
// two. Weights of other layouts (OHWI), and inputs of several channels a group, are copied first,
// groups last. Terms are combined in the order written.
// Declines groups of more outputs than 8 or half a vector, fewer groups than lanes of such, groups
// that are no vector, dynamic windows or rows, one group.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/operand_copies.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Pixels of a tile, and accumulators: as many as have registers with the weights of a 3 x 3 window
// and their inputs.
constexpr int64_t kTilePixels = 4, kMostAccumulators = 16;
// Outputs of a group.
constexpr int64_t kMostFilters = 8;
// Windows are unrolled where there are no more products in a tile.
constexpr int64_t kMostUnrolled = 256;

struct DepthwisePlan : HostPlan {
  int64_t vector = 0;  // lanes, along channels or groups
  int64_t pixels = 0;  // of a row with accumulators
  int64_t unroll = 0;  // products of a tile that are written out, at most

  static const std::vector<PlanField<DepthwisePlan>>& Fields() {
    using P = DepthwisePlan;
    static const std::vector<PlanField<P>> fields = {{"vector", &P::vector},
                                                     {"pixels", &P::pixels},
                                                     {"unroll", &P::unroll},
                                                     {"parallel", &P::parallel}};
    return fields;
  }
};
using P = DepthwisePlan;

// The axes of a convolution of groups.
struct GroupedWindows {
  size_t group = 0, row = 0;  // of the pixels, the last axis
  std::optional<size_t> filters;
  int64_t groups = 0, filter_count = 1, channels = 1, taps = 1;

  bool is_depthwise() const { return !filters && channels == 1; }
};

GroupedWindows RequireGroups(const BlockInfo& block, const TargetInfo& target) {
  GroupedWindows windows;
  std::optional<size_t> row, group;
  for (size_t i = 0; i < block.axes.size(); ++i) {
    const BlockAxis& axis = block.axes[i];
    int64_t extent = ir::AsConstInt(axis.extent).value_or(0);
    if (axis.role == AxisRole::kPixel) row = i;
    if (axis.role == AxisRole::kWindow) windows.taps *= extent;
    if (axis.role == AxisRole::kK) windows.channels *= extent;
    if (axis.role == AxisRole::kN) {
      if (windows.filters) Refuse("outputs of a group have several axes");
      windows.filters = i;
      windows.filter_count = extent;
    }
    if (axis.role == AxisRole::kGroup) {
      if (group) Refuse("groups have several axes");
      group = i;
      windows.groups = extent;
    }
  }
  if (!group) Refuse("it has one group");
  if (!row || windows.taps == 0 || windows.channels == 0 ||
      !ir::AsConstInt(block.axes[*row].extent))
    Refuse("rows or windows are of dynamic extents");
  windows.row = *row;
  windows.group = *group;
  const BlockAccess& result = block.accesses[0];
  size_t last = windows.filters.value_or(windows.group);
  if (result.indices.back().get() != block.axes[last].var.get())
    Refuse("channels are not contiguous");
  int64_t lanes = target.vector_bytes / result.buffer->dtype.bytes();
  if (!windows.is_depthwise() &&
      (windows.filter_count == 0 || windows.filter_count > std::min(kMostFilters, lanes / 2) ||
       windows.groups < lanes))
    Refuse("there are fewer groups than lanes, or they have too many outputs");
  return windows;
}

// "(d0, d1, d2) -> (d0, d2, d1)" for dim 1.
IndexMap DimLast(size_t rank, size_t dim) {
  std::string from, to;
  for (size_t d = 0; d < rank; ++d) {
    from += (d ? ", d" : "d") + std::to_string(d);
    if (d != dim) to += "d" + std::to_string(d) + ", ";
  }
  return IndexMap::Parse("(" + from + ") -> (" + to + "d" + std::to_string(dim) + ")");
}

// The dimension that an axis is the index of, unless it is the last one.
std::optional<size_t> DimBeforeLast(const BlockAccess& access, const BlockAxis& axis) {
  for (size_t d = 0; d + 1 < access.indices.size(); ++d)
    if (access.indices[d].get() == axis.var.get()) return d;
  return {};
}

// Operands whose last dimension is not that of the groups are copied.
void PutGroupsLast(Schedule* schedule, const BlockInfo& block, size_t group,
                   const TargetInfo& target) {
  for (const BlockAccess& access : block.accesses) {
    if (access.store || access.buffer.same(block.accesses[0].buffer)) continue;
    if (std::optional<size_t> dim = DimBeforeLast(access, block.axes[group]))
      CopyWithDimLast(schedule, block.ref, access.buffer, *dim, target);
  }
}

// What reads the accumulators. Where the result has its groups last they are local; else they are
// stored to a tile that has, which `transposed` copies to the result.
struct Accumulators {
  BlockRef reader, transposed;  // the latter may be none
};
Accumulators KeepAccumulators(Schedule* schedule, const BlockInfo& block, size_t group) {
  const BlockAccess& result = block.accesses[0];
  BlockRef reader = FindEpilogue(*schedule, block.ref, result.buffer);
  BufferRef buffer = result.buffer;
  std::string acc = FreshBlockName(*schedule, block.ref + "_acc");
  std::optional<size_t> dim = DimBeforeLast(result, block.axes[group]);
  if (reader) {
    schedule->SetScope(buffer, StorageScope::kLocal);
  } else {
    CopyRef copy = schedule->CacheWrite(block.ref, buffer, StorageScope::kLocal,
                                        dim ? FreshBlockName(*schedule, block.ref + "_rows") : acc);
    reader = copy;
    buffer = copy;
  }
  if (!dim) return {reader, {}};
  schedule->TransformLayout(buffer, DimLast(result.indices.size(), *dim));
  return {schedule->CacheWrite(block.ref, buffer, StorageScope::kLocal, acc), reader};
}

// Unrolls loops from the innermost on, as long as there are few products in them, and that one
// always.
void UnrollWindows(Schedule* schedule, const BlockInfo& block, const LoopRefs& loops,
                   int64_t products, int64_t most) {
  for (size_t i = loops.size(); i-- > 0;) {
    for (const BlockAxis& axis : block.axes)
      if (axis.loop == loops[i]) products *= ir::AsConstInt(axis.extent).value_or(most);
    if (i + 1 < loops.size() && products > most) return;
    schedule->Unroll(loops[i].Of(block.ref));
  }
}

// The operands as they are read, and what the plans depend on.
struct Depthwise {
  GroupedWindows windows;
  Accumulators accumulators;
  BlockInfo block;
  size_t channels = 0;  // axis
};
Depthwise Prepare(Schedule* schedule, const BlockInfo& given, const TargetInfo& target) {
  Depthwise made;
  made.windows = RequireGroups(given, target);
  PutGroupsLast(schedule, given, made.windows.group, target);
  made.accumulators = KeepAccumulators(schedule, given, made.windows.group);
  made.block = DescribeBlock(*schedule, given.ref);
  made.channels = RequireVectorAxis(made.block, RequireLoops(*schedule, made.block));
  if (made.channels != made.windows.group) Refuse("channels are not contiguous");
  if (LanesFor(made.block, made.channels, target, 1) < 2)
    Refuse("there are fewer channels than two lanes");
  return made;
}

std::vector<P> DepthwisePlans(Schedule* schedule, const BlockInfo& given, const TargetInfo& target,
                              const Wanted<P>& want) {
  Schedule probe = *schedule;
  Depthwise made = Prepare(&probe, given, target);
  int64_t filters = made.windows.filter_count;
  double products = static_cast<double>(WorkOf(*schedule, given.ref)) /
                    static_cast<double>(std::max<int64_t>(given.operations, 1));
  std::vector<P> plans;
  for (int64_t lanes = LanesFor(made.block, made.channels, target, 1); lanes >= 2; lanes /= 2)
    for (int64_t pixels = kTilePixels; pixels >= 1; pixels /= 2) {
      if (pixels * filters > kMostAccumulators) continue;
      P plan;
      plan.vector = lanes;
      plan.pixels = pixels;
      plan.unroll = want.Or(&P::unroll, kMostUnrolled);
      double accumulators = static_cast<double>(pixels * filters),
             step = accumulators / static_cast<double>(target.fma_per_cycle) +
                    static_cast<double>(pixels + filters) /
                        static_cast<double>(target.loads_per_cycle),
             steps = products / (accumulators * static_cast<double>(lanes));
      plan.cycles = steps * std::max(step, static_cast<double>(target.fma_latency));
      plan.limit = steps * accumulators / static_cast<double>(target.fma_per_cycle);
      if (plan.unroll > 0) plans.push_back(plan);
    }
  return plans;
}

void ApplyDepthwise(Schedule* schedule, const BlockInfo& given, const TargetInfo& target, P* plan) {
  int64_t work = WorkOf(*schedule, given.ref), pixels = plan->pixels, lanes = plan->vector;
  auto [windows, accumulators, block, channels] = Prepare(schedule, given, target);
  LoopsByKind loops = RequireLoops(*schedule, block);
  Lanes vectors = SplitLanes(schedule, block.ref, block.axes[channels].loop, lanes),
        tiles = SplitLanes(schedule, block.ref, block.axes[windows.row].loop, pixels);
  LoopRefs order, tile = {tiles.inner},
                  apart = {block.axes[channels].loop, block.axes[windows.row].loop};
  if (windows.filters) {
    tile.push_back(block.axes[*windows.filters].loop);
    apart.push_back(tile.back());
  }
  for (const LoopRef& loop : loops.spatial)
    if (!Contains(apart, loop)) order.push_back(loop);
  for (const LoopRef& loop : {vectors.outer, tiles.outer})
    if (!loop.empty()) order.push_back(loop);
  if (order.empty()) Refuse("all of it is one tile");
  LoopRef around = order.back().Of(block.ref);
  order.insert(order.end(), loops.reduce.begin(), loops.reduce.end());
  order.insert(order.end(), tile.begin(), tile.end());
  order.push_back(vectors.inner);
  schedule->Reorder(order.Of(block.ref));

  LoopRefs made = schedule->ReverseComputeAt(accumulators.reader, around);
  if (!accumulators.transposed.empty()) schedule->ReverseComputeAt(accumulators.transposed, around);
  BlockRef init = schedule->DecomposeReduction(block.ref, loops.reduce[0].Of(block.ref),
                                               FreshBlockName(*schedule, block.ref + "_init"));
  ParallelizeOuter(schedule, block.ref, work, target, plan);
  UnrollWindows(schedule, block, loops.reduce, pixels * windows.filter_count, plan->unroll);
  for (const BlockRef& each : {block.ref, init}) {
    for (const LoopRef& loop : tile) schedule->Unroll(LoopAround(*schedule, each, loop));
    schedule->Vectorize(LoopAround(*schedule, each, vectors.inner));
  }
  for (size_t i = 0; i + 2 < made.size(); ++i) schedule->Unroll(made[i].Of(accumulators.reader));
  StoreTile(schedule, accumulators.reader, made, lanes, {block.ref + "_cv", block.ref + "_ci"});
}

}  // namespace

void RegisterHostDepthwiseRule() {
  RegisterRule(
      {.name = "depthwise_channels_last",
       .description = "vectors of channels or groups of few, a tile of pixels in registers",
       .kinds = {BlockKind::kConvolution},
       .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
       .priority = 32,
       .planned = Planned<P>(DepthwisePlans, ApplyDepthwise)});
}

}  // namespace tern::schedule
