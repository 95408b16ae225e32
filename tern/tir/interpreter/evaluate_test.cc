// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/evaluate.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

class EvaluateTest : public testing::Test {
 protected:
  void SetUp() override { Initialize(); }

  // What an element of a tensor over `x_` is, as text; "?" where it is not known.
  std::string At(const Tensor& tensor, const std::vector<int64_t>& indices) {
    Expr value =
        Evaluate(tensor, indices, [&](const Tensor& input, const std::vector<int64_t>& at) {
          return input.name() == "x" ? elements_.at(static_cast<size_t>(at[0])) : Expr();
        });
    return value ? Print(value) : "?";
  }

  Var n_{"n"};
  std::vector<Expr> elements_{n_, 3, 4};
  Tensor x_ = Input("x", DataType::Int(64), {3});
  Tensor unknown_ = Input("u", DataType::Int(64), {3});
};

TEST_F(EvaluateTest, FormulasAreInsertedAndFolded) {
  Tensor twice = Compute("t", {3}, [&](Var i) { return x_(i) * 2; });
  Tensor turned = Compute("y", {3}, [&](Var i) { return twice(Expr(2) - i) + 1; });
  EXPECT_EQ(At(turned, {0}), "9");
  EXPECT_EQ(At(turned, {2}), "n * 2 + 1");
}

TEST_F(EvaluateTest, ReductionsAreUnrolled) {
  Tensor product = Compute("p", {}, [&](const std::vector<Var>&) {
    ReduceAxis k("k", 3);
    return Prod(x_(k), {k});
  });
  EXPECT_EQ(At(product, {}), "n * 12");
}

TEST_F(EvaluateTest, OnlyTheChosenValueCounts) {
  Tensor y = Compute("y", {3}, [&](Var i) { return Select(i < Expr(1), unknown_(i), x_(i)); });
  EXPECT_EQ(At(y, {0}), "?");
  EXPECT_EQ(At(y, {1}), "3");
  Tensor shifted = Compute("s", {3}, [&](Var i) {
    return Select(i >= Expr(1) && x_(i - 1) == Expr(3), Expr(1), Expr(0));
  });
  EXPECT_EQ(At(shifted, {0}), "0");  // x[-1] is not looked at
  EXPECT_EQ(At(shifted, {2}), "1");
}

TEST_F(EvaluateTest, FloatsAreRoundedToTheirType) {
  Tensor y = Compute("y", {1}, [&](Var i) {
    Expr half = Cast(DataType::Float(32), x_(i + 1)) * Const(DataType::Float(32), 0.5);
    return Cast(DataType::Int(64), Call("floor", {half}));
  });
  EXPECT_EQ(At(y, {0}), "1");
}

TEST_F(EvaluateTest, WhatIsNotKnownIsNothing) {
  Tensor data_index = Compute("y", {1}, [&](Var i) { return x_(x_(i)); });
  EXPECT_EQ(At(data_index, {0}), "?");  // x[n]
  Tensor outside = Compute("z", {1}, [&](Var i) { return x_(i + 3); });
  EXPECT_EQ(At(outside, {0}), "?");
  Tensor by_zero = Compute("w", {1}, [&](Var i) { return ir::FloorDiv(x_(i + 1), Expr(0)); });
  EXPECT_EQ(At(by_zero, {0}), "?");
}

}  // namespace
}  // namespace tern::tir
