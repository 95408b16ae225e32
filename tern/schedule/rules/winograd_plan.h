// SPDX-License-Identifier: Apache-2.0
//
// How long convolutions take by Winograd's minimal filters, and as they are written.
#ifndef TERN_SCHEDULE_RULES_WINOGRAD_PLAN_H_
#define TERN_SCHEDULE_RULES_WINOGRAD_PLAN_H_

#include <limits>
#include <string>
#include <vector>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// A convolution as the step makes it.
struct WinogradShape {
  int64_t m = 0;
  std::vector<int64_t> image;   // images, places along each window, channels
  std::vector<int64_t> points;  // of each window
  int64_t tiles = 0, channels = 0, outputs = 0, bytes = 0;

  int64_t rank() const { return static_cast<int64_t>(points.size()); }
  int64_t all_points() const;
  // Of a window, and how many tiles there are along its axis.
  int64_t Window(int64_t k) const { return points[k] + 1 - m; }
  int64_t TilesAlong(int64_t k) const { return (image[k + 1] + 1 - Window(k)) / m; }
  int64_t weights_count() const { return all_points() * channels * outputs; }
  int64_t weights_bytes() const { return weights_count() * bytes; }
  int64_t tile_bytes() const { return all_points() * (channels + outputs) * bytes; }
};

// How it is computed.
struct WinogradPlan {
  WinogradShape shape;
  int64_t lanes = 0;
  int64_t rows = 0, vectors = 0;  // of sums that stay in registers: tiles, and vectors of outputs
  int64_t block = 0;              // tiles that are transformed, multiplied and transformed back
  bool apart = false;             // each of these is done to all tiles, on all threads
  double cycles = std::numeric_limits<double>::infinity();

  int64_t columns() const { return vectors * lanes; }
  int64_t blocks() const { return (shape.tiles + block - 1) / block; }
  int64_t tiles() const { return blocks() * block; }
};

// The one that takes the fewest cycles; without end where there is none. Of constant weights the
// transformation costs nothing.
WinogradPlan ChooseWinogradPlan(const Schedule& schedule, const std::string& block,
                                const MachineFacts& facts, int64_t lanes, bool constant);

// What the sums take at least as they are written: a product in a lane of a vector each. 0: not
// known.
double DirectConvolutionCycles(const BlockInfo& block, const MachineFacts& facts, int64_t lanes);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_WINOGRAD_PLAN_H_
