// SPDX-License-Identifier: Apache-2.0
//
// depthwise_channels_last: depthwise convolutions whose channels are contiguous (NHWC), of floats
// and of integers, by vectors of channels.
//
//   for b, y, parallel
//     for co in C / lanes
//       for jo in pixels of a row / 4
//         acc[4, lanes] = 0                                  registers
//         for dy, dx (unrolled up to 256 products)
//           for ji in 4 unrolled, ci in lanes vectorized
//             acc[ji, ci] += X[y + dy, jo * 4 + ji + dx, c] * W[dy, dx, c]
//         Y = epilogue(acc)
//
// Inputs of neighbouring pixels are loaded and widened once for a tile, and weights stay in
// registers along a row. Cycles of a vector of products: one, and half a load. Padding is a
// condition on tiles, so that those inside have none (partition_loops). Integers of 8 bits are
// widened in the loads: what is multiplied has 16 bits, for which machines have dot products of
// two. Weights of other layouts (OHWI) are copied first, channels last. Terms are combined in the
// order written.
// Declines several channels for an output, channels that are no vector, dynamic windows or rows.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/operand_copies.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

using Names = Schedule::Names;

// Pixels of a tile: with the weights of a 3 x 3 window and their inputs, as many accumulators as
// have registers.
constexpr int64_t kTilePixels = 4;
// Windows are unrolled where there are no more products in a tile.
constexpr int64_t kMostUnrolled = 256;

// The block, with weights whose last dimension is that of the channels.
BlockInfo WithChannelsLast(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  const BlockAccess& result = block.accesses[0];
  auto reads_pixels = [&](const BlockAccess& access) {
    return std::any_of(access.axes.begin(), access.axes.end(),
                       [&](size_t axis) { return block.axes[axis].role == AxisRole::kPixel; });
  };
  for (const BlockAccess& access : block.accesses) {
    if (access.store || access.buffer.same(result.buffer) || reads_pixels(access)) continue;
    for (size_t d = 0; d + 1 < access.indices.size(); ++d) {
      if (access.indices[d].get() != result.indices.back().get()) continue;
      CopyWithDimLast(schedule, block.name, access.buffer, d, target);
      return DescribeBlock(FindBlockNamed(*schedule, block.name));
    }
  }
  return block;
}

void Depthwise(Schedule* schedule, const BlockInfo& given, const TargetInfo& target) {
  std::optional<size_t> row;
  int64_t taps = 1;
  for (size_t i = 0; i < given.axes.size(); ++i) {
    const BlockAxis& axis = given.axes[i];
    if (axis.role == AxisRole::kK || axis.role == AxisRole::kN)
      Refuse("an output is of several channels");
    if (axis.role == AxisRole::kPixel) row = i;
    if (axis.role == AxisRole::kWindow) taps *= ir::AsConstInt(axis.extent).value_or(0);
  }
  if (!row || taps == 0 || !ir::AsConstInt(given.axes[*row].extent))
    Refuse("rows or windows are of dynamic extents");
  BlockInfo block = WithChannelsLast(schedule, given, target);
  LoopsByKind loops = RequireLoops(*schedule, block);
  size_t channels = RequireVectorAxis(block, loops);
  if (block.axes[channels].role != AxisRole::kGroup) Refuse("channels are not contiguous");
  const Buffer& result = block.accesses[0].buffer;
  int64_t lanes = LanesFor(block, channels, target, 1);
  if (lanes < 2) Refuse("there are fewer channels than two lanes");
  int64_t work = WorkOf(*schedule, block.name);

  Lanes vectors = SplitLanes(schedule, block.name, block.axes[channels].loop, lanes),
        tiles = SplitLanes(schedule, block.name, block.axes[*row].loop, kTilePixels);
  Names order;
  for (const std::string& loop : loops.spatial)
    if (loop != block.axes[channels].loop && loop != block.axes[*row].loop) order.push_back(loop);
  for (const std::string& loop : {vectors.outer, tiles.outer})
    if (!loop.empty()) order.push_back(loop);
  if (order.empty()) Refuse("all of it is one tile");
  std::string around = LoopOf(block.name, order.back());
  order.insert(order.end(), loops.reduce.begin(), loops.reduce.end());
  order.insert(order.end(), {tiles.inner, vectors.inner});
  schedule->Reorder(Around(block.name, order));

  std::string reader = FindEpilogue(*schedule, block.name, result);
  if (reader.empty())
    reader = schedule->CacheWrite(block.name, result->name, StorageScope::kLocal,
                                  FreshBlockName(*schedule, block.name + "_acc"));
  else
    schedule->SetScope(result->name, StorageScope::kLocal);
  Names made = schedule->ReverseComputeAt(reader, around);
  std::string init = schedule->DecomposeReduction(block.name, LoopOf(block.name, loops.reduce[0]),
                                                  FreshBlockName(*schedule, block.name + "_init"));
  ParallelizeOuter(schedule, block.name, work, target);
  bool all = taps * kTilePixels <= kMostUnrolled;
  for (size_t i = all ? 0 : loops.reduce.size() - 1; i < loops.reduce.size(); ++i)
    schedule->Unroll(LoopOf(block.name, loops.reduce[i]));
  for (const std::string& each : {block.name, init}) {
    schedule->Unroll(LoopOf(each, tiles.inner));
    schedule->Vectorize(LoopOf(each, vectors.inner));
  }
  StoreTile(schedule, reader, made, lanes, {block.name + "_cv", block.name + "_ci"});
}

}  // namespace

void RegisterHostDepthwiseRule() {
  RegisterRule({.name = "depthwise_channels_last",
                .description = "vectors of channels, a tile of pixels in registers",
                .kinds = {BlockKind::kConvolution},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 32,
                .apply = Depthwise});
}

}  // namespace tern::schedule
