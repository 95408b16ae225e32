// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/split_dims.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/graph/collapse_dims.h"
#include "tern/tir/builder.h"
#include "tern/tir/text.h"

namespace tern::graph {
namespace {

using tir::Compute;
using tir::Input;
using tir::ReduceAxis;
using tir::Tensor;
using tir::Var;

const DataType kFloat = DataType::Float(32);

std::string TextOf(const std::vector<tir::Argument>& params) {
  Initialize();
  return tir::Print(SplitDims(tir::MakeFunction("f", params)));
}

std::string FirstLine(const std::vector<tir::Argument>& params) {
  std::string text = TextOf(params);
  return text.substr(0, text.find('\n'));
}

// `group` groups of channels and outputs, with a bias for each output.
std::vector<tir::Argument> GroupedConvolution(int group, int channels, int outputs, int kernel) {
  Tensor x = Input("X", kFloat, {1, group * channels, 8, 8});
  Tensor w = Input("W", kFloat, {group * outputs, channels, kernel, kernel});
  Tensor b = Input("B", kFloat, {group * outputs});
  ReduceAxis c("c", channels), kh("kh", kernel), kw("kw", kernel);
  std::vector<ir::Expr> shape = {1, group * outputs, 9 - kernel, 9 - kernel};
  Tensor y = Compute("Y", shape, [&](Var n, Var o, Var h, Var v) {
    return tir::Sum(x(n, ir::FloorDiv(o, outputs) * channels + ir::Expr(c), h + ir::Expr(kh),
                      v + ir::Expr(kw)) *
                        w(o, c, kh, kw),
                    {c, kh, kw});
  });
  Tensor z = Compute("Z", shape, [&](Var n, Var o, Var h, Var v) { return y(n, o, h, v) + b(o); });
  return {x, w, b, z};
}

TEST(SplitDims, TheGroupOfAConvolutionIsAnAxis) {
  std::string text = TextOf(GroupedConvolution(2, 48, 128, 3));
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "func f(X: float32[1, 2, 48, 8, 8], W: float32[2, 128, 48, 3, 3], B: float32[2, 128], "
            "Z: float32[1, 2, 128, 6, 6]) {");
  EXPECT_EQ(text.find("//"), std::string::npos) << text;
  EXPECT_NE(text.find("X[vi0, vi1_o, vc, vi2 + vkh, vi3 + vkw] * W[vi1_o, vi1_i, vc, vkh, vkw]"),
            std::string::npos)
      << text;
}

TEST(SplitDims, PredicatesHaveTheNewAxes) {
  Tensor x = Input("X", kFloat, {1, 8, 5, 5}), w = Input("W", kFloat, {16, 4, 1, 1});
  Tensor t = Input("T", kFloat, {4});
  ir::Expr element = t(0);
  ir::Buffer table = element.As<ir::BufferLoadNode>()->buffer;
  ReduceAxis c("c", 4);
  Tensor y = Compute("Y", {1, 16, 5, 5}, [&](Var n, Var o, Var h, Var v) {
    return tir::Sum(x(n, ir::FloorDiv(o, 8) * 4 + ir::Expr(c), h, v) * w(o, c, 0, 0), {c});
  });
  Tensor z = Compute("Z", {1, 16, 5, 5}, [&](Var n, Var o, Var h, Var v) {
    ir::Expr some = ir::RampNode::Make(o, 1, 4) < ir::BroadcastNode::Make(3, 4);
    ir::Expr lanes = ir::BufferLoadNode::Make(table, {ir::RampNode::Make(0, 1, 4)}, {}, some);
    return y(n, o, h, v) + ir::ShuffleNode::Make({lanes}, {0});
  });
  std::string text = TextOf({x, w, t, z});
  EXPECT_NE(text.find("where ramp(vi1_o_1 * 8 + vi1_i_1, 1, 4)"), std::string::npos) << text;
}

TEST(SplitDims, GroupedPointwiseConvolutionsAreBatchesOfMatmuls) {
  Initialize();
  tir::PrimFunc function = SplitDims(tir::MakeFunction("f", GroupedConvolution(4, 24, 16, 1)));
  std::string text = tir::Print(CollapseDims(function).function);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "func f(X: float32[4, 24, 64], W: float32[4, 16, 24], B: float32[4, 16], "
            "Z: float32[4, 16, 64]) {");
}

TEST(SplitDims, QueriesThatShareKeys) {
  Tensor q = Input("Q", kFloat, {8, 5, 16}), k = Input("K", kFloat, {2, 7, 16});
  Tensor s = Compute("S", {8, 5, 7}, [&](Var h, Var i, Var j) {
    ReduceAxis d("d", 16);
    return tir::Sum(q(h, i, d) * k(ir::FloorDiv(h, 4), j, d), {d});
  });
  EXPECT_EQ(FirstLine({q, k, s}),
            "func f(Q: float32[2, 4, 5, 16], K: float32[2, 7, 16], S: float32[2, 4, 5, 7]) {");
}

TEST(SplitDims, NotTheLastAxisOfTheResult) {
  Tensor x = Input("X", kFloat, {6, 8});
  Tensor y = Compute("Y", {4, 16}, [&](Var i, Var j) {
    ReduceAxis k("k", 3);
    return tir::Sum(x(i + ir::Expr(k), ir::FloorDiv(j, 2)), {k});
  });
  EXPECT_EQ(FirstLine({x, y}), "func f(X: float32[6, 8], Y: float32[4, 16]) {");
}

TEST(SplitDims, NotWhereAnAccessCrossesGroups) {
  Tensor x = Input("X", kFloat, {8, 8});
  Tensor y = Compute("Y", {8, 8}, [&](Var i, Var j) {
    ReduceAxis k("k", 8);
    return tir::Sum(x(ir::FloorDiv(i, 4), k) * x(ir::Expr(7) - ir::Expr(i), j), {k});
  });
  EXPECT_EQ(FirstLine({x, y}), "func f(X: float32[8, 8], Y: float32[8, 8]) {");
}

TEST(SplitDims, WhatDividesNothingStays) {
  Tensor x = Input("X", kFloat, {8, 8});
  Tensor y = Compute("Y", {8}, [&](Var i) {
    ReduceAxis k("k", 8);
    return tir::Sum(x(i, k), {k});
  });
  EXPECT_EQ(FirstLine({x, y}), "func f(X: float32[8, 8], Y: float32[8]) {");
}

}  // namespace
}  // namespace tern::graph
