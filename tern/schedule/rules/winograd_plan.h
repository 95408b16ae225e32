// SPDX-License-Identifier: Apache-2.0
//
// The cost model of Winograd convolutions, beside that of direct ones:
//
//   cycles = points * K * tiles / tile_m * N / tile_n                  # GEMM; v = tile_n / lanes
//            * max(tile_m * v / 2, (tile_m + v) / 2, 4)
//          + transforms: operations / 2 + loads / 2 + stores, per tile and vector of channels
//          + copies of input and output, one element a cycle
//          + what half of L2 has no room for, 8 bytes a cycle
#ifndef TERN_SCHEDULE_RULES_WINOGRAD_PLAN_H_
#define TERN_SCHEDULE_RULES_WINOGRAD_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// A convolution as the step makes it.
struct WinogradShape {
  int64_t m = 0;
  std::vector<int64_t> input;   // shape of the padded input: batch, spatial dims, channels
  std::vector<int64_t> points;  // m + r - 1 along each dimension of the window
  int64_t tiles = 0, channels = 0, outputs = 0, bytes = 0;
  bool dynamic_batch = false;  // the numbers are those of one image

  int64_t rank() const { return static_cast<int64_t>(points.size()); }
  int64_t all_points() const;
  // Of a window, and how many tiles there are along its axis.
  int64_t Window(int64_t k) const { return points[k] + 1 - m; }
  int64_t TilesAlong(int64_t k) const { return (input[k + 1] + 1 - Window(k)) / m; }
  int64_t weights_count() const { return all_points() * channels * outputs; }
  int64_t weights_bytes() const { return weights_count() * bytes; }
  int64_t tile_bytes() const { return all_points() * (channels + outputs) * bytes; }
};

struct WinogradPlan : HostPlan {
  int64_t m = 0;                   // F(m, r): outputs of a tile along each window axis
  int64_t tile_m = 0, tile_n = 0;  // accumulators in registers: tiles, output channels
  int64_t vector = 0;              // lanes, along channels
  int64_t block = 0;  // tiles that are transformed, multiplied and transformed back at a time;
                      // 0: those of all images, of a dynamic batch
  int64_t share_block = 0;  // 1: threads share the work of a block, else each takes some blocks

  static const std::vector<PlanField<WinogradPlan>>& Fields();
};

// All plans with their costs. The transformation of constant weights costs nothing.
std::vector<WinogradPlan> WinogradPlans(const Schedule& schedule, const BlockRef& block,
                                        const TargetInfo& target, int64_t lanes, bool constant,
                                        const Wanted<WinogradPlan>& want);

// The shape of the buffers that the step made.
std::optional<WinogradShape> WinogradShapeOf(const Schedule& schedule, const CopyRefs& made,
                                             int64_t m);

// Lower bound for the direct convolution: two vector FMAs a cycle, weights read once, of one image
// where the batch is dynamic. 0: unknown.
double DirectConvolutionCycles(const BlockInfo& block, const TargetInfo& target, int64_t lanes);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_WINOGRAD_PLAN_H_
