// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/winograd_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tern/compile.h"
#include "tern/tir/text.h"

namespace tern::schedule {
namespace {

using namespace tern::tir;

// A border of one, windows of 3 x 3. `batch`: of how many images, "n" for any number.
PrimFunc Conv(int64_t channels, int64_t outputs, int64_t size, const std::string& batch = "1") {
  Initialize();
  std::string c = std::to_string(channels), o = std::to_string(outputs), n = std::to_string(size),
              image = ", " + n + ", " + n + "]";
  std::string text = "func conv(X: float32[" + batch + ", " + c + image + ", W: float32[" + o +
                     ", " + c + ", 3, 3], Y: float32[" + batch + ", " + o + image +
                     ") attrs {reassociate = true} {\n";
  text += "for b in 0.." + batch + ", o in 0.." + o + ", y in 0.." + n + ", x in 0.." + n +
          ", c in 0.." + c + ", dy in 0..3, dx in 0..3 {\n";
  text += "block conv(vb: spatial(" + batch + ") = b, vo: spatial(" + o + ") = o, vy: spatial(" +
          n + ") = y, vx: spatial(" + n + ") = x, vc: reduce(" + c +
          ") = c, vdy: reduce(3) = dy, vdx: reduce(3) = dx) {\n";
  text += "init { Y[vb, vo, vy, vx] = 0 }\nlet row = vy + vdy - 1\nlet column = vx + vdx - 1\n";
  text += "Y[vb, vo, vy, vx] = Y[vb, vo, vy, vx] + select(row >= 0 && row < " + n +
          " && column >= 0 && column < " + n +
          ", X[vb, vc, row, column], 0) * W[vo, vc, vdy, vdx]\n";
  text += "}\n}\n}\n";
  return AsPrimFunc(ParseModule("test.tir", text)->functions.begin()->second);
}

TargetInfo Machine(int64_t threads = 1) {
  TargetInfo info;
  info.vector_bytes = 64;
  info.vector_registers = 32;
  info.l1_bytes = 48 << 10;
  info.l2_bytes = 2 << 20;
  info.threads = threads;
  return info;
}

constexpr int64_t kLanes = 16;

WinogradPlan PlanOf(const PrimFunc& function, bool constant, int64_t threads = 1) {
  Schedule schedule(function);
  std::vector<WinogradPlan> plans =
      WinogradPlans(schedule, schedule.BlockNamed("conv"), Machine(threads), kLanes, constant,
                    Wanted<WinogradPlan>(nullptr));
  auto best = std::min_element(
      plans.begin(), plans.end(),
      [](const WinogradPlan& a, const WinogradPlan& b) { return a.cycles < b.cycles; });
  return best == plans.end() ? WinogradPlan() : *best;
}
double DirectOf(const PrimFunc& function) {
  return DirectConvolutionCycles(DescribeBlocks(function).at(0), Machine(), kLanes);
}

TEST(WinogradPlan, LargeImagesHaveLargeTiles) {
  PrimFunc function = Conv(64, 64, 56);
  WinogradPlan plan = PlanOf(function, false);
  EXPECT_EQ(plan.m, 4);
  EXPECT_LT(plan.cycles, DirectOf(function) / 2);
  // The 14 x 14 tiles of 6 x 6 points are in blocks that half of L2 has room for.
  int64_t tiles = 14 * 14, tile_bytes = 6 * 6 * (64 + 64) * 4;
  EXPECT_LT(plan.block, tiles);
  EXPECT_LE(plan.block * tile_bytes, Machine().l2_bytes / 2);
  EXPECT_EQ(tiles % plan.block, 0);
}

// Weights that are read from afar: with larger tiles there are more of them.
TEST(WinogradPlan, ManyWeightsHaveSmallTiles) {
  PrimFunc function = Conv(512, 512, 7);
  WinogradPlan plan = PlanOf(function, true);
  EXPECT_EQ(plan.m, 2);
  EXPECT_LT(plan.cycles, DirectOf(function));
  EXPECT_GT(PlanOf(function, false).cycles, DirectOf(function));
}

// Of any number of images, that for one is too slow for several.
TEST(WinogradPlan, DynamicBatchesHaveFewProducts) {
  WinogradPlan plan = PlanOf(Conv(512, 512, 7, "n"), true);
  EXPECT_EQ(plan.m, 4);
  EXPECT_EQ(plan.block, 0);
}

TEST(WinogradPlan, FewChannelsAreNotWorthIt) {
  PrimFunc function = Conv(16, 16, 8);
  EXPECT_GT(PlanOf(function, false).cycles, DirectOf(function));
}

TEST(WinogradPlan, ThreadsHaveBlocksUnlessThereAreFewTiles) {
  WinogradPlan many = PlanOf(Conv(64, 64, 56), true, 0);
  EXPECT_EQ(many.share_block, 0);
  EXPECT_LE(many.block, 14 * 14 / 7);
  EXPECT_EQ(PlanOf(Conv(256, 256, 14), true, 0).share_block, 1);
}

TEST(WinogradPlan, ChannelsAreVectors) {
  EXPECT_EQ(PlanOf(Conv(24, 64, 56), false).block, 0);
  EXPECT_EQ(PlanOf(Conv(64, 24, 56), false).block, 0);
}

}  // namespace
}  // namespace tern::schedule
