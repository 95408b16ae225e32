// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/linear_sum.h"

#include <gtest/gtest.h>

#include <limits>

#include "tern/arith/fold.h"
#include "tern/arith/symbolic_bounds.h"
#include "tern/tir/text.h"

namespace tern::arith {
namespace {

using namespace tern::ir;

std::string Sum(const Expr& expr) {
  auto sum = LinearSum::Of(expr);
  return sum ? tir::Print(sum->ToExpr()) : "none";
}

TEST(LinearSum, CollectsEqualTerms) {
  Var i("i"), n("n");
  EXPECT_EQ(Sum(i + n - i), "n");
  EXPECT_EQ(Sum((i + 3) * Expr(4) - i - 2), "i * 3 + 10");
  EXPECT_EQ(Sum(Expr(1) - i - n), "1 - i - n");
  EXPECT_EQ(Sum(FloorDiv(i, 2) + i + FloorDiv(i, 2)), "i // 2 * 2 + i");
  EXPECT_EQ(Sum(i - i), "0");
}

TEST(LinearSum, WidensButDoesNotLookBehindANarrowing) {
  Var i("i", DataType::Int(32)), n("n");
  Expr one = IntImmNode::Make(DataType::Int(32), 1);
  EXPECT_EQ(Sum(CastNode::Make(DataType::Int(64), i + one) - 1), "int64(i)");
  EXPECT_EQ(Sum(CastNode::Make(DataType::Int(32), n + 1) + one), "int64(int32(n + 1)) + 1");
}

TEST(LinearSum, GivesUpWhereACoefficientOverflows) {
  Var i("i");
  Expr large(int64_t{1} << 62);
  EXPECT_EQ(Sum(i * large + i * large), "none");
}

TEST(ProveLessEqual, ByCancellingAndByQuotients) {
  Analyzer analyzer;
  Var n("n"), i("i");
  analyzer.Bind(n, {0, ConstBounds::kPosInf});
  EXPECT_TRUE(ProveLessEqual(analyzer, i, i + n));
  EXPECT_FALSE(ProveLessEqual(analyzer, i + n, i));
  // n <= ceildiv(n, 4) * 4 <= n + 3
  EXPECT_TRUE(ProveLessEqual(analyzer, n, CeilDiv(n, 4) * Expr(4)));
  EXPECT_TRUE(ProveLessEqual(analyzer, CeilDiv(n, 4) * Expr(4), n + 3));
  EXPECT_FALSE(ProveLessEqual(analyzer, CeilDiv(n, 4) * Expr(4), n + 2));
  EXPECT_TRUE(ProveLessEqual(analyzer, MinNode::Make(i, n), n));
  EXPECT_TRUE(ProveLessEqual(analyzer, MaxNode::Make(i, i + 1), i + 1));
  EXPECT_FALSE(ProveLessEqual(analyzer, MaxNode::Make(i, n), n));
}

class SymbolicBoundsTest : public ::testing::Test {
 protected:
  std::string Bounds(const Expr& expr) const {
    SymbolicBounds bounds = symbolic.Bounds(expr);
    auto text = [](const Expr& e) { return e.get() ? tir::Print(e) : "?"; };
    return text(bounds.lo) + " .. " + text(bounds.hi);
  }
  Var n{"n"}, m{"m"}, i{"i"}, j{"j"};
  SymbolicAnalyzer symbolic{[this] {
    Analyzer analyzer;
    analyzer.Bind(n, {0, ConstBounds::kPosInf});
    return analyzer;
  }()};
};

TEST_F(SymbolicBoundsTest, RunOverTheRangesOfInnerVariables) {
  symbolic.EnterRange(i, 0, n);
  symbolic.EnterRange(j, i, 4);
  EXPECT_EQ(Bounds(i), "0 .. n - 1");
  EXPECT_EQ(Bounds(Expr(5) - i), "6 - n .. 5");
  EXPECT_EQ(Bounds(j - i), "0 .. 3");  // the ranges are not independent
  EXPECT_EQ(Bounds(FloorDiv(j, 2) + m), "m .. n // 2 + m + 1");
  EXPECT_EQ(Bounds(FloorMod(j, 8)), "0 .. 7");
  EXPECT_EQ(Bounds(i * n), "0 .. (n - 1) * n");
  EXPECT_EQ(Bounds(i * m), "? .. ?");
  EXPECT_EQ(Bounds(SelectNode::Make(i < 3, j, m)), "min(m, 0) .. max(n + 2, m)");
}

TEST_F(SymbolicBoundsTest, UseWhatIsAssumed) {
  symbolic.EnterRange(i, 0, CeilDiv(n, 4));
  symbolic.EnterRange(j, 0, 4);
  SymbolicAnalyzer::Mark mark = symbolic.Enter();
  symbolic.Assume(i * Expr(4) + j < n);
  EXPECT_EQ(Bounds(i * Expr(4) + j), "0 .. n - 1");
  EXPECT_EQ(Bounds(i * Expr(8) + j * Expr(2) + 1), "1 .. n * 2 - 1");
  symbolic.Leave(mark);
  EXPECT_EQ(Bounds(i * Expr(4) + j), "0 .. (n + 3) // 4 * 4 - 1");
}

TEST_F(SymbolicBoundsTest, SeeThroughLetsButNotThroughMemory) {
  Var x("x"), y("y");
  Buffer a = BufferNode::Make("A", DataType::Int(64), {n});
  symbolic.EnterRange(i, 0, 8);
  symbolic.EnterLet(x, i * Expr(2));
  symbolic.EnterLet(y, BufferLoadNode::Make(a, {i}));
  EXPECT_EQ(Bounds(x + 1), "1 .. 15");
  EXPECT_EQ(Bounds(y), "? .. ?");
  EXPECT_EQ(Bounds(FloorMod(y, 4)), "0 .. 3");
  EXPECT_EQ(Bounds(FloorDiv(i, m)), "? .. ?");  // m may be 0 where the bound is evaluated
}

TEST(CommonDivisor, TakesTheLeastNumberToo) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(CommonDivisor(0, 0), 0);
  EXPECT_EQ(CommonDivisor(-12, 18), 6);
  EXPECT_EQ(CommonDivisor(kLeast, 24), 8);
  EXPECT_EQ(CommonDivisor(kLeast, 0), int64_t{1} << 62);
}

}  // namespace
}  // namespace tern::arith
