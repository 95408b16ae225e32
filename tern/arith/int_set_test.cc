// SPDX-License-Identifier: Apache-2.0
//
// Random sets are in test/fuzz/check_arith.cc.
#include "tern/arith/int_set.h"

#include <gtest/gtest.h>

#include "tern/arith/test_index_text.h"

namespace tern::arith {
namespace {

using namespace tern::ir;

std::string Print(const Range& range) {
  return tir::Print(range.min) + "..+" + tir::Print(range.extent);
}

std::string Covered(const std::string& loops, const std::string& expr) {
  IndexText text = IndexText::Parse(loops, {expr});
  auto covered = Cover(text.exprs[0], text.loops, text.condition, text.Outside());
  if (!covered) return "?";
  return Print(covered->range) + (covered->exact ? "" : " at most");
}

TEST(IntSet, WhatAnExpressionCovers) {
  EXPECT_EQ(Covered("i in 0..4, j in 0..8", "i * 8 + j"), "0..+32");
  EXPECT_EQ(Covered("i in 0..4, j in 0..8", "i * 16 + j"), "0..+56 at most");
  EXPECT_EQ(Covered("i in 0..n, j in 0..4", "i * 4 + j"), "0..+n * 4");
  EXPECT_EQ(Covered("i in 0..n, r in 0..3", "i + r - 1"), "-1..+n + 2 at most");
  EXPECT_EQ(Covered("i in 0..(n + 3) // 4, j in 0..4 where i * 4 + j < n", "i * 4 + j"),
            "0..+n at most");
  EXPECT_EQ(Covered("j in 0..4", "n + j * 2"), "n..+7 at most");
  EXPECT_EQ(Covered("i in 0..n, j in 0..4", "j"), "0..+4 at most");  // n may be 0
}

class RangesTest : public ::testing::Test {
 protected:
  RangesTest() { analyzer.Bind(n, {0, ConstBounds::kPosInf}); }
  Var n{"n"}, m{"m"};
  Analyzer analyzer;
  Range all{0, n}, first{0, n + 1}, second{n, 4};
};

TEST_F(RangesTest, Proofs) {
  EXPECT_TRUE(Contains(first, all, analyzer));
  EXPECT_FALSE(Contains(all, first, analyzer));
  EXPECT_TRUE(AreDisjoint(all, second, analyzer));
  EXPECT_FALSE(AreDisjoint(first, second, analyzer));
  EXPECT_TRUE(Contains(Box{first, first}, Box{all, first}, analyzer));
  EXPECT_FALSE(Contains(Box{all, first}, Box{first, all}, analyzer));
  EXPECT_TRUE(AreDisjoint(Box{all, all}, Box{all, second}, analyzer));
}

TEST_F(RangesTest, HullAndIntersection) {
  EXPECT_EQ(Print(Hull(all, second, analyzer)), "0..+n + 4");
  EXPECT_EQ(Print(Hull(all, Range{0, m}, analyzer)), "0..+max(n, m)");
  EXPECT_TRUE(FillHull({all}, {second}, analyzer));
  EXPECT_FALSE(FillHull({all, all}, {second, second}, analyzer));
  EXPECT_FALSE(FillHull({all}, {Range{n + 1, 2}}, analyzer));
  EXPECT_EQ(Print(Intersection(first, second, analyzer)), "n..+1");
  EXPECT_EQ(Print(Intersection(all, second, analyzer)), "n..+0");
  EXPECT_EQ(Print(Intersection(all, Range{0, 8}, analyzer)), "0..+min(n, 8)");
}

}  // namespace
}  // namespace tern::arith
