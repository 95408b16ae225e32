// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/analyzer.h"

#include <gtest/gtest.h>

#include <random>

#include "tern/arith/fold.h"
#include "tern/ir/structural.h"
#include "tern/ir/visitor.h"
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

// ---- random expressions: the simplified one has the same value, inside the bounds

class RandomExpr {
 public:
  explicit RandomExpr(uint32_t seed) : random_(seed) {
    for (const char* name : {"a", "b", "c"}) vars.emplace_back(name);
  }

  Expr Int(int depth) {
    switch (depth == 0 ? Pick(2) : Pick(11)) {
      case 0:
        return vars[Pick(3)];
      case 1:
        return Expr(static_cast<int64_t>(Pick(41)) - 20);
      case 2:
        return Int(depth - 1) + Int(depth - 1);
      case 3:
        return Int(depth - 1) - Int(depth - 1);
      case 4:
        return Int(depth - 1) * Int(depth - 1);
      case 5:
        return FloorDiv(Int(depth - 1), Int(depth - 1));
      case 6:
        return FloorMod(Int(depth - 1), Int(depth - 1));
      case 7:
        return MinNode::Make(Int(depth - 1), Int(depth - 1));
      case 8:
        return MaxNode::Make(Int(depth - 1), Int(depth - 1));
      case 9:
        return SelectNode::Make(Bool(depth - 1), Int(depth - 1), Int(depth - 1));
      default:
        return TruncDivNode::Make(Int(depth - 1), Int(depth - 1));
    }
  }
  Expr Bool(int depth) {
    switch (depth == 0 ? 0 : Pick(6)) {
      case 0:
        return LTNode::Make(Int(depth ? depth - 1 : 0), Int(0));
      case 1:
        return LENode::Make(Int(depth - 1), Int(depth - 1));
      case 2:
        return EQNode::Make(Int(depth - 1), Int(depth - 1));
      case 3:
        return AndNode::Make(Bool(depth - 1), Bool(depth - 1));
      case 4:
        return OrNode::Make(Bool(depth - 1), Bool(depth - 1));
      default:
        return NotNode::Make(Bool(depth - 1));
    }
  }
  uint32_t Pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  std::vector<Var> vars;

 private:
  std::mt19937 random_;
};

// The value, or nullopt where a part overflows or divides by zero.
std::optional<int64_t> Evaluate(const Expr& expr, const std::map<const VarNode*, int64_t>& values) {
  return DispatchExpr(expr.get(), [&](auto* node) -> std::optional<int64_t> {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
    if constexpr (std::is_same_v<T, IntImmNode>) {
      return node->value;
    } else if constexpr (std::is_same_v<T, VarNode>) {
      return values.at(node);
    } else if constexpr (requires { node->a, node->b; }) {
      auto a = Evaluate(node->a, values), b = Evaluate(node->b, values);
      return a && b ? FoldInt(T::kKind, *a, *b) : std::nullopt;
    } else if constexpr (std::is_same_v<T, NotNode>) {
      auto a = Evaluate(node->a, values);
      return a ? std::optional<int64_t>(!*a) : std::nullopt;
    } else if constexpr (std::is_same_v<T, SelectNode>) {
      auto condition = Evaluate(node->condition, values), yes = Evaluate(node->true_value, values),
           no = Evaluate(node->false_value, values);
      return condition && yes && no ? (*condition ? yes : no) : std::nullopt;
    } else {
      ADD_FAILURE() << "unexpected node";
      return std::nullopt;
    }
  });
}

TEST(AnalyzerProperty, SimplifiedExpressionsHaveTheSameValue) {
  int compared = 0;
  for (uint32_t seed = 0; seed < 10000; ++seed) {
    RandomExpr random(seed);
    Analyzer analyzer;
    std::vector<ConstBounds> ranges;
    for (const Var& var : random.vars) {
      int64_t lo = static_cast<int64_t>(random.Pick(20)) - 10, hi = lo + random.Pick(20);
      ranges.push_back({lo, hi});
      analyzer.Bind(var, {lo, hi});
    }
    Expr expr = seed % 4 ? random.Int(4) : random.Bool(4);
    Expr simple = analyzer.Simplify(expr);
    ConstBounds bounds = analyzer.Bounds(expr);
    for (int trial = 0; trial < 4; ++trial) {
      std::map<const VarNode*, int64_t> values;
      for (size_t v = 0; v < ranges.size(); ++v)
        values[random.vars[v].node()] =
            ranges[v].lo + random.Pick(static_cast<uint32_t>(ranges[v].hi - ranges[v].lo + 1));
      auto expected = Evaluate(expr, values);
      if (!expected) continue;
      ++compared;
      ASSERT_EQ(Evaluate(simple, values), expected)
          << tir::Print(expr) << "  ->  " << tir::Print(simple);
      ASSERT_LE(bounds.lo, *expected) << tir::Print(expr);
      ASSERT_GE(bounds.hi, *expected) << tir::Print(expr);
    }
  }
  EXPECT_GT(compared, 10000);
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
