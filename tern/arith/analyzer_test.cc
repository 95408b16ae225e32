// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/analyzer.h"

#include <gtest/gtest.h>

#include "tern/tir/text.h"

namespace tern::arith {
namespace {

using namespace tern::ir;

class AnalyzerTest : public ::testing::Test {
 protected:
  AnalyzerTest() {
    analyzer_.BindRange(i_, 0, 16);
    analyzer_.BindRange(j_, 0, n_);
  }
  std::string Simple(const Expr& expr) { return tir::Print(analyzer_.Simplify(expr)); }

  Var i_{"i"}, j_{"j"}, n_{"n"};
  Analyzer analyzer_;
};

TEST_F(AnalyzerTest, FoldsConstants) {
  EXPECT_EQ(Simple(Expr(6) * 7 + 0), "42");
  EXPECT_EQ(Simple(FloorDiv(-7, 2)), "-4");
  EXPECT_EQ(Simple(FloorMod(-7, 2)), "1");
  EXPECT_EQ(Simple(TruncDivNode::Make(-7, 2)), "-3");
  EXPECT_EQ(Simple(TruncModNode::Make(-7, 2)), "-1");
  // What would overflow or fault is left as it is.
  EXPECT_EQ(Simple(Expr(INT64_MAX) + 1), "9223372036854775807 + 1");
  EXPECT_EQ(Simple(FloorDiv(1, 0)), "1 // 0");
  Expr big = IntImmNode::Make(DataType::Int(8), 100);
  EXPECT_EQ(Simple(big + big), "int8(100) + int8(100)");
}

TEST_F(AnalyzerTest, RemovesNeutralElements) {
  EXPECT_EQ(Simple(n_ + 0), "n");
  EXPECT_EQ(Simple(Expr(1) * n_), "n");
  EXPECT_EQ(Simple(n_ * 0), "0");
  EXPECT_EQ(Simple(n_ - n_), "0");
  EXPECT_EQ(Simple(n_ + 3 + 4), "n + 7");
  EXPECT_EQ(Simple(Expr(3) + n_), "n + 3");
  EXPECT_EQ(Simple((n_ + j_) - n_), "j");
}

TEST_F(AnalyzerTest, UsesBounds) {
  EXPECT_EQ(Simple(FloorDiv(i_, 16)), "0");
  EXPECT_EQ(Simple(FloorMod(i_, 16)), "i");
  EXPECT_EQ(Simple(i_ < 16), "true");
  EXPECT_EQ(Simple(i_ < 15), "i < 15");
  EXPECT_EQ(Simple(FloorDiv(n_ * 32 + i_, 16)), "n * 2");
  EXPECT_EQ(Simple(FloorMod(n_ * 32 + i_, 16)), "i");
  EXPECT_EQ(Simple(MinNode::Make(i_, 20)), "i");
  EXPECT_EQ(Simple(j_ >= 0), "true");
  EXPECT_TRUE(analyzer_.CanProve(i_ + 1 >= 1));
  EXPECT_FALSE(analyzer_.CanProve(n_ >= 1));
}

TEST_F(AnalyzerTest, PutsFusedIndicesTogether) {
  Var m("m");
  Expr x = n_ * 256 + i_ * 4 + j_;
  EXPECT_EQ(Simple(FloorDiv(x, 37) * 37 + FloorMod(x, 37)), "n * 256 + i * 4 + j");
  // What becomes of n * 256 by % 37.
  EXPECT_EQ(Simple(FloorDiv(x, 37) * 37 + FloorMod(n_ * 34 + i_ * 4 + j_, 37)),
            "n * 256 + i * 4 + j");
  EXPECT_EQ(Simple(FloorDiv(x, m) * m + FloorMod(x, m)), "n * 256 + i * 4 + j");
  // A remainder that stays has the dividend of the quotient: a part of both may be hoisted.
  EXPECT_EQ(Simple(FloorMod(x, 37)), "(n * 256 + i * 4 + j) % 37");
  EXPECT_EQ(Simple(FloorMod(x + 40, 37)), "(n * 256 + i * 4 + j + 3) % 37");
}

TEST_F(AnalyzerTest, LeavesFloatsAlone) {
  Var x("x", DataType::Float(32));
  Expr zero = MakeConst(DataType::Float(32), 0);
  EXPECT_EQ(Simple(x + zero), "x + 0.0");  // not so for x = -0
  EXPECT_EQ(Simple(x * zero), "x * 0.0");  // nor for x = inf
  EXPECT_EQ(Simple(x - x), "x - x");
  EXPECT_EQ(Simple(x == x), "x == x");
}

TEST_F(AnalyzerTest, NarrowArithmeticWraps) {
  Var u("u", DataType::UInt(8));
  Expr one = IntImmNode::Make(DataType::UInt(8), 1);
  // u + 1 may be 0.
  EXPECT_EQ(analyzer_.Bounds(u + one), (ConstBounds{0, 255}));
  EXPECT_EQ(Simple(u + one >= one), "u + uint8(1) >= uint8(1)");
}

TEST_F(AnalyzerTest, Remainders) {
  analyzer_.BindModular(n_, {16, 0});
  EXPECT_EQ(analyzer_.Modular(n_ * 3 + 5), (ModularSet{48, 5}));
  EXPECT_EQ(analyzer_.Modular(n_ + i_), ModularSet{});
  EXPECT_EQ(analyzer_.Modular(MinNode::Make(n_, n_ + 24)), (ModularSet{8, 0}));
  EXPECT_EQ(Simple(FloorMod(n_ + 3, 8)), "3");
  EXPECT_EQ(Simple(FloorDiv(n_, 4) * 4), "n");
  EXPECT_EQ(Simple(n_ * 2 == 7), "false");
  EXPECT_EQ(Simple(FloorDiv(j_ * n_ + i_, 16)), "j * (n // 16)");
}

TEST_F(AnalyzerTest, Conditions) {
  Analyzer::Mark mark = analyzer_.Enter();
  analyzer_.Assume(i_ < 4 && n_ >= 8 && FloorMod(n_, 8) == 0);
  EXPECT_EQ(analyzer_.Bounds(i_), (ConstBounds{0, 3}));
  EXPECT_EQ(Simple(i_ < n_), "true");
  EXPECT_EQ(Simple(FloorMod(n_, 4)), "0");
  EXPECT_EQ(Simple(MaxNode::Make(i_ * 2, n_)), "n");
  analyzer_.Leave(mark);
  EXPECT_EQ(analyzer_.Bounds(i_), (ConstBounds{0, 15}));
  EXPECT_EQ(Simple(i_ < n_), "i < n");
  EXPECT_EQ(Simple(FloorMod(n_, 4)), "n % 4");
  // In what is chosen, and in what is asked second.
  EXPECT_EQ(Simple(SelectNode::Make(i_ < n_, MinNode::Make(i_, n_), 0)), "select(i < n, i, 0)");
  EXPECT_EQ(Simple(i_ < n_ && i_ < n_ + 1), "i < n");
  EXPECT_EQ(Simple(i_ < 3 || i_ >= 3), "true");
}

TEST_F(AnalyzerTest, TruncatesLikeFlooringWhatIsNotNegative) {
  analyzer_.Bind(n_, {0, ConstBounds::kPosInf});
  EXPECT_EQ(Simple(TruncDivNode::Make(n_ * 64, 64)), "n");
  EXPECT_EQ(Simple(TruncDivNode::Make(i_ - 1, 2)), "truncdiv(i - 1, 2)");
}

TEST_F(AnalyzerTest, ProvesOverSymbolicShapes) {
  Var io("io"), ii("ii"), k("k"), m("m");
  for (const Var& extent : {n_, m}) analyzer_.Bind(extent, {0, ConstBounds::kPosInf});
  analyzer_.BindRange(io, 0, CeilDiv(n_, 4));
  analyzer_.BindRange(ii, 0, 4);
  analyzer_.BindRange(k, 0, m);
  EXPECT_TRUE(analyzer_.CanProve(io * 4 < n_));
  EXPECT_FALSE(analyzer_.CanProve(io * 4 + ii < n_));
  EXPECT_TRUE(analyzer_.CanProve(io * 4 + ii < n_ + 3));
  EXPECT_TRUE(analyzer_.CanProve(j_ * m + k < n_ * m));
  EXPECT_FALSE(analyzer_.CanProve(k * m + j_ < n_ * m));
}

// What is computed in another order must not overflow where it did not before.
TEST_F(AnalyzerTest, AddsNoOverflow) {
  Var x("x", DataType::Int(32)), y("y", DataType::Int(32)), z("z", DataType::Int(32));
  EXPECT_EQ(Simple(x + (y - z)), "x + (y - z)");
  for (const Var& var : {x, y, z}) analyzer_.Bind(var, {0, 1000});
  EXPECT_EQ(Simple(x + (y - z)), "x + y - z");
  EXPECT_EQ(Simple(x + y + z - y), "x + z");
}

// What is in a loop that never runs has no value; its bounds must not matter.
TEST(Bounds, OfWhatNeverRuns) {
  Analyzer analyzer;
  Var i("i"), x("x");
  analyzer.BindRange(i, 1, 0);
  analyzer.Bind(x, {1, 8});
  EXPECT_EQ(analyzer.Bounds(FloorDiv(x, i)), ConstBounds{});
  analyzer.Simplify(FloorMod(FloorDiv(x, i), i) < x);
}

// Half of the values of uint64 are negative as int64.
TEST(Bounds, OfAConversionThatMayWrap) {
  Analyzer analyzer;
  Var u("u", DataType::UInt(64));
  EXPECT_EQ(analyzer.Bounds(CastNode::Make(DataType::Int(64), u)), ConstBounds{});
  analyzer.Bind(u, {0, 7});
  EXPECT_EQ(analyzer.Bounds(CastNode::Make(DataType::Int(64), u)), (ConstBounds{0, 7}));
}

}  // namespace
}  // namespace tern::arith
