// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/codegen/lane_exchange.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

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

using Lanes = std::vector<std::vector<int>>;  // by lane, then element

// Both halves of the wave get all 16 elements of a lane's row, those of the first half first, as
// CodeGenAmdgpu::Replicate does it.
Lanes Replicated(const Lanes& part, uint64_t rows) {
  LaneStep own = {LaneStep::Kind::kRows, rows}, other = {LaneStep::Kind::kRowsX, rows};
  Lanes whole(32);
  for (int lane = 0; lane < 32; ++lane) {
    std::vector<int> low = part[SourceLane(own, lane, 32)],
                     high = part[SourceLane(other, lane, 32)];
    if (lane >= 16) std::swap(low, high);
    whole[lane] = low;
    whole[lane].insert(whole[lane].end(), high.begin(), high.end());
  }
  return whole;
}

// gfx11's WMMA, by its definition: lanes l % 16 have row l % 16 of the left operand and column l %
// 16 of the right one, in both halves; element e of the sums of lane l is of row 2 * e + l / 16.
TEST(LaneExchange, WmmaOfGfx11) {
  auto a = [](int i, int k) { return 3 * i + k * k; };
  auto b = [](int k, int j) { return k - 5 * j + k * j; };
  Lanes left(32), right(32);
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < 8; ++e) {
      left[lane].push_back(a(lane % 16, lane / 16 * 8 + e));
      right[lane].push_back(b(lane / 16 * 8 + e, lane % 16));
    }
  left = Replicated(left, RowControl(SumRowOfGfx11, 0));
  right = Replicated(right, kSameRow);
  for (int lane = 0; lane < 16; ++lane) {
    EXPECT_EQ(left[lane], left[lane + 16]);
    EXPECT_EQ(right[lane], right[lane + 16]);
  }
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < 8; ++e) {
      int sum = 0, wanted = 0;
      for (int k = 0; k < 16; ++k) {
        sum += left[2 * e + lane / 16][k] * right[lane % 16][k];
        wanted += a(lane / 16 * 8 + e, k) * b(k, lane % 16);
      }
      EXPECT_EQ(sum, wanted) << lane << " " << e;
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
