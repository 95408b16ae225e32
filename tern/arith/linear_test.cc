// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/linear.h"

#include <gtest/gtest.h>

#include "tern/tir/text.h"

namespace tern::arith {
namespace {

using namespace tern::ir;

std::string Linear(const Expr& expr, const Var& var) {
  auto linear = AsLinear(expr, var.node());
  return linear ? std::to_string(linear->coefficient) + ", " + tir::Print(linear->rest) : "none";
}

TEST(AsLinear, SplitsSumsAndProductsWithConstants) {
  Var i("i"), n("n");
  EXPECT_EQ(Linear(i, i), "1, 0");
  EXPECT_EQ(Linear(n * n, i), "0, n * n");
  EXPECT_EQ(Linear((i * 4 + n) * Expr(2) - i, i), "7, n * 2");
  EXPECT_EQ(Linear(Expr(3) * (n - i), i), "-3, n * 3");
  EXPECT_EQ(Linear(i - i + n, i), "0, n");
}

TEST(AsLinear, RefusesOtherForms) {
  Var i("i"), n("n");
  EXPECT_EQ(Linear(i * n, i), "none");
  EXPECT_EQ(Linear(i * i, i), "none");
  EXPECT_EQ(Linear(FloorDiv(i, 2), i), "none");
  EXPECT_EQ(Linear(i * INT64_MAX + i * INT64_MAX, i), "none");
  // Narrow and unsigned sums wrap.
  Var narrow("i", DataType::Int(8)), natural("i", DataType::UInt(32));
  EXPECT_EQ(Linear(narrow + narrow, narrow), "none");
  EXPECT_EQ(Linear(natural, natural), "none");
}

TEST(AsLinear, LooksThroughWideningCasts) {
  Var i("i", DataType::Int(32)), k("k");
  Expr one = IntImmNode::Make(DataType::Int(32), 1);
  EXPECT_EQ(Linear(CastNode::Make(DataType::Int(64), i + one) * Expr(2), i), "2, 2");
  EXPECT_EQ(Linear(CastNode::Make(DataType::Int(32), k), k), "none");
}

}  // namespace
}  // namespace tern::arith
