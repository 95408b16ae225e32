// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/collapse_dims.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
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

std::string FirstLine(const std::vector<tir::Argument>& params) {
  Initialize();
  std::string text = tir::Print(CollapseDims(tir::MakeFunction("f", params)).function);
  return text.substr(0, text.find('\n'));
}

TEST(CollapseDims, PointwiseConvolutionsAreMatmuls) {
  Tensor x = Input("X", kFloat, {1, 64, 7, 9}), w = Input("W", kFloat, {32, 64, 1, 1});
  Tensor b = Input("B", kFloat, {32});
  ReduceAxis c("c", 64);
  Tensor y = Compute("Y", {1, 32, 7, 9}, [&](Var n, Var o, Var h, Var v) {
    return tir::Sum(x(n, c, h, v) * w(o, c, 0, 0), {c});
  });
  Tensor z = Compute("Z", {1, 32, 7, 9}, [&](Var n, Var o, Var h, Var v) {
    return tir::Max(y(n, o, h, v) + b(o), tir::Const(kFloat, 0));
  });
  EXPECT_EQ(FirstLine({x, w, b, z}),
            "func f(X: float32[64, 63], W: float32[32, 64], B: float32[32], Z: float32[32, 63]) {");
}

TEST(CollapseDims, MatmulsOfOneRowStayMatmuls) {
  Tensor x = Input("X", kFloat, {1, 64}), w = Input("W", kFloat, {32, 64}),
         b = Input("B", kFloat, {32});
  ReduceAxis k("k", 64);
  Tensor y = Compute("Y", {1, 32}, [&](Var m, Var n) { return tir::Sum(x(m, k) * w(n, k), {k}); });
  Tensor z = Compute("Z", {1, 32}, [&](Var m, Var n) { return y(m, n) + b(n); });
  EXPECT_EQ(FirstLine({x, w, b, z}),
            "func f(X: float32[1, 64], W: float32[32, 64], B: float32[32], Z: float32[1, 32]) {");
}

TEST(CollapseDims, AxesOfPredicatesStay) {
  Tensor x = Input("X", kFloat, {8, 9}), w = Input("W", kFloat, {4});
  ir::Expr element = w(0);
  ir::Buffer weights = element.As<ir::BufferLoadNode>()->buffer;
  Tensor y = Compute("Y", {8, 9}, [&](Var i, Var j) {
    ir::Expr some = ir::RampNode::Make(i, 1, 4) < ir::BroadcastNode::Make(3, 4);
    ir::Expr lanes = ir::BufferLoadNode::Make(weights, {ir::RampNode::Make(0, 1, 4)}, {}, some);
    return x(i, j) + ir::ShuffleNode::Make({lanes}, {0});
  });
  EXPECT_EQ(FirstLine({x, w, y}), "func f(X: float32[8, 9], W: float32[4], Y: float32[8, 9]) {");
}

TEST(CollapseDims, WindowsKeepTheirAxes) {
  Tensor x = Input("X", kFloat, {2, 3, 9, 9});
  ReduceAxis k("k", 3);
  Tensor y = Compute("Y", {2, 3, 7, 9}, [&](Var n, Var c, Var h, Var v) {
    return tir::MaxOf(x(n, c, h + k, v), {k});
  });
  EXPECT_EQ(FirstLine({x, y}), "func f(X: float32[6, 9, 9], Y: float32[6, 7, 9]) {");
}

TEST(CollapseDims, ElementwiseIsOneLoopAlsoOfDynamicExtents) {
  Var n("n");
  Tensor x = Input("X", kFloat, {n, 4, 5});
  Tensor y = Compute("Y", {n, 4, 5}, [&](Var i, Var j, Var k) { return x(i, j, k) + x(i, j, k); });
  EXPECT_EQ(FirstLine({x, y}), "func f(X: float32[extent0], Y: float32[extent0]) {");
}

TEST(CollapseDims, AnExtentThatIsNeededByItselfStays) {
  Var n("n");
  Tensor x = Input("X", kFloat, {n, 4});
  Tensor y = Compute("Y", {n, 4}, [&](Var i, Var j) {
    return tir::Select(i < n - 1, x(i, j), tir::Const(kFloat, 0));
  });
  EXPECT_EQ(FirstLine({x, y}), "func f(X: float32[n, 4], Y: float32[n, 4]) {");
}

TEST(CollapseDims, TransposedAxesStayApart) {
  Tensor x = Input("X", kFloat, {2, 3, 4, 5});
  Tensor y = Compute("Y", {4, 5, 2, 3}, [&](Var a, Var b, Var c, Var d) { return x(c, d, a, b); });
  EXPECT_EQ(FirstLine({x, y}), "func f(X: float32[6, 20], Y: float32[20, 6]) {");
}

TEST(CollapseDims, ReducedAxesAreOne) {
  Tensor x = Input("X", kFloat, {2, 3, 4, 5});
  Tensor y = Compute("Y", {2, 3, 1, 1}, [&](Var a, Var b, Var, Var) {
    ReduceAxis h("h", 4), w("w", 5);
    return tir::Sum(x(a, b, h, w), {h, w});
  });
  EXPECT_EQ(FirstLine({x, y}), "func f(X: float32[6, 20], Y: float32[6]) {");
}

}  // namespace
}  // namespace tern::graph
