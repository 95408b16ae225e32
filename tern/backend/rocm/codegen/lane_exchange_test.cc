// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/codegen/lane_exchange.h"

#include <gtest/gtest.h>

namespace tern::backend::rocm {
namespace {

// What lane l has after all of the steps was in this lane before.
int Source(const std::vector<LaneStep>& steps, int lane, int lanes) {
  for (size_t i = steps.size(); i-- > 0;) lane = SourceLane(steps[i], lane, lanes);
  return lane;
}

TEST(LaneExchange, Xor) {
  for (bool is_gfx9 : {false, true}) {
    int lanes = is_gfx9 ? 64 : 32;
    for (int64_t distance = 1; distance < 32; ++distance) {
      std::vector<LaneStep> steps = XorSteps(distance, is_gfx9);
      ASSERT_GE(steps.size(), 1u) << distance;
      EXPECT_LE(steps.size(), is_gfx9 ? 2u : 1u) << distance;
      for (int lane = 0; lane < lanes; ++lane)
        EXPECT_EQ(Source(steps, lane, lanes), lane ^ distance) << distance << " of " << lanes;
    }
    for (int64_t distance : {-1, 0, 32, 63, 64}) EXPECT_TRUE(XorSteps(distance, is_gfx9).empty());
  }
}

TEST(LaneExchange, Neighbours) {
  for (int lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(Source(NeighbourSteps(/*up=*/true, true), lane, 64), lane == 0 ? 0 : lane - 1);
    EXPECT_EQ(Source(NeighbourSteps(/*up=*/false, true), lane, 64), lane == 63 ? 63 : lane + 1);
  }
  EXPECT_TRUE(NeighbourSteps(true, false).empty());
}

// The ISA's names for some of the controls.
TEST(LaneExchange, Controls) {
  EXPECT_EQ(XorSteps(1, true)[0].control, 0xb1u);     // quad_perm:[1,0,3,2]
  EXPECT_EQ(XorSteps(2, false)[0].control, 0x4eu);    // quad_perm:[2,3,0,1]
  EXPECT_EQ(XorSteps(8, true)[0].control, 0x128u);    // row_ror:8
  EXPECT_EQ(XorSteps(8, false)[0].control, 0x168u);   // row_xmask:8
  EXPECT_EQ(XorSteps(16, true)[0].control, 0x401fu);  // swizzle(SWAP,16)
  EXPECT_EQ(XorSteps(16, false)[0].control, kSameRow);
}

// What gfx11's WMMA makes of a left operand that was permuted: element e of the sums of half h is
// of its row 2 * e + h, and should be of row 8 * h + e.
TEST(LaneExchange, RowsOfSums) {
  LaneStep own = {LaneStep::Kind::kRows, RowControl(SumRowOfGfx11, 0)};
  LaneStep other = {LaneStep::Kind::kRowsX, own.control};
  for (int half = 0; half < 2; ++half)
    for (int e = 0; e < 8; ++e) {
      int lane = half * 16 + 2 * e + half;  // any of the two that have the row
      EXPECT_EQ(SourceLane(own, lane, 32) % 16, 8 * half + e);
      EXPECT_EQ(SourceLane(other, lane, 32), SourceLane(own, lane, 32) ^ 16);
    }
}

// Definitions that no exchange uses by itself.
TEST(LaneExchange, RowsHaveEnds) {
  LaneStep left = {LaneStep::Kind::kDpp, 0x101}, right = {LaneStep::Kind::kDpp, 0x111};
  EXPECT_EQ(SourceLane(left, 14, 32), 15);
  EXPECT_EQ(SourceLane(left, 15, 32), 15);
  EXPECT_EQ(SourceLane(right, 17, 32), 16);
  EXPECT_EQ(SourceLane(right, 16, 32), 16);
}

}  // namespace
}  // namespace tern::backend::rocm
