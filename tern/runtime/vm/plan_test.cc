// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/plan.h"

#include <gtest/gtest.h>

#include <random>

#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime::vm {
namespace {

TEST(Plan, MemoryIsUsedAgain) {
  // A chain: each tensor lives while the next one is made.
  std::vector<PlanItem> items;
  for (uint32_t i = 0; i < 10; ++i) items.push_back({1000, {i, i + 1}});
  EXPECT_EQ(MakePlan(items).bytes, 2 * 1024);
  EXPECT_EQ(MakePlan(items, /*reuse=*/false).bytes, 10 * 1024);
}

TEST(Plan, TheSmallestGapIsTaken) {
  // At 2: what was 0 (4096) and 2 (128) is free, and 64 go to the small one.
  std::vector<PlanItem> items = {
      {4096, {0, 1}}, {2048, {0, 9}}, {128, {0, 1}}, {64, {0, 9}}, {64, {2, 9}}};
  Plan plan = MakePlan(items);
  EXPECT_EQ(plan.bytes, 4096 + 2048 + 128 + 64);
  EXPECT_EQ(plan.offsets[4], plan.offsets[2]);
}

TEST(Plan, NoBytes) {
  EXPECT_EQ(MakePlan({}).bytes, 0);
  EXPECT_EQ(MakePlan({{0, {0, 5}}}).bytes, 0);
  EXPECT_NE(ErrorOf([] { MakePlan({{~uint64_t{0}, {0, 5}}}); }), "no error");
  EXPECT_NE(ErrorOf([] { MakePlan({{uint64_t{1} << 62, {0, 5}}, {uint64_t{1} << 62, {0, 5}}}); }),
            "no error");
}

TEST(Plan, WhatLivesAtOnceLiesApart) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<PlanItem> items;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 40; ++i) {
      uint32_t first = random() % 100;
      items.push_back({random() % 5000, {first, first + static_cast<uint32_t>(random() % 20)}});
      sum += (items.back().bytes + 63) / 64 * 64;
    }
    Plan plan = MakePlan(items);
    EXPECT_LT(plan.bytes, sum);
    for (size_t a = 0; a < items.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % kPlanAlignment, 0);
      EXPECT_LE(plan.offsets[a] + items[a].bytes, plan.bytes);
      for (size_t b = 0; b < a; ++b)
        EXPECT_TRUE(!items[a].lifetime.Overlaps(items[b].lifetime) || items[a].bytes == 0 ||
                    items[b].bytes == 0 || plan.offsets[a] + items[a].bytes <= plan.offsets[b] ||
                    plan.offsets[b] + items[b].bytes <= plan.offsets[a]);
    }
  }
}

}  // namespace
}  // namespace tern::runtime::vm
