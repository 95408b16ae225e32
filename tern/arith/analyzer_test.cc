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
