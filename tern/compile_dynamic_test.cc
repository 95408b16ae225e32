// SPDX-License-Identifier: Apache-2.0
//
// Dynamic extents of models: ranges, versions (graph/versions.h) and states of sessions.
#include <gtest/gtest.h>

#include <functional>

#include "tern/compile_model.h"
#include "tern/graph/dim_ranges.h"
#include "tern/graph/op.h"
#include "tern/model_report.h"
#include "tern/runtime/vm/session.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

namespace vm = runtime::vm;
using runtime::Tensor;

CompiledModel Compiled(const std::string& text) {
  Initialize();
  return CompileModel(tir::ParseModule("t.tir", text), target::Target::DefaultHost());
}

Tensor Numbers(std::vector<int64_t> shape, float first = -2) {
  Tensor tensor = Tensor::Empty(std::move(shape), DataType::Float(32));
  for (int64_t i = 0; i < tensor->num_elements(); ++i)
    tensor.as<float>()[i] = static_cast<float>(i % 7) + first;
  return tensor;
}

std::string ErrorOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// relu(x) W by hand.
void ExpectProduct(const Tensor& x, const Tensor& y) {
  ASSERT_EQ(y->shape(), (std::vector<int64_t>{x->shape()[0], 3}));
  for (int64_t i = 0; i < x->shape()[0]; ++i)
    for (int64_t j = 0; j < 3; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < 5; ++k)
        sum += std::max(x.as<float>()[i * 5 + k], 0.0F) * static_cast<float>((k * 3 + j) % 4);
      EXPECT_FLOAT_EQ(y.as<float>()[i * 3 + j], sum) << i << ", " << j;
    }
}

constexpr const char* kWeights = R"(
constant W: float32[5, 3] = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2]
)";
constexpr const char* kBody = R"({
  r = relu(x)
  y = matmul(r, W)
  return y
}
)";

TEST(DynamicShapes, ARangeIsCheckedBeforeAnythingElse) {
  CompiledModel compiled =
      Compiled(std::string(kWeights) +
               "graph main(x: float32[n, 5]) attrs {dim_ranges = [[\"n\", 1, 9]]} " + kBody);
  vm::Session session(LoadModel(compiled));
  for (int64_t n : {1, 4, 9}) {
    Tensor x = Numbers({n, 5});
    ExpectProduct(x, session.Run({x})[0]);
  }
  std::string error = ErrorOf([&] { session.Run({Numbers({10, 5})}); });
  EXPECT_NE(error.find("compiled for other shapes (n: 1..9)"), std::string::npos) << error;
  EXPECT_NE(error.find("here n = 10"), std::string::npos) << error;
  EXPECT_NE(ErrorOf([&] { session.Run({Numbers({0, 5})}); }), "");
  // The arena has a bound.
  std::optional<MemoryReport> memory = ReportMemory(compiled.program, compiled.dim_ranges);
  ASSERT_TRUE(memory);
  EXPECT_LE(session.arena_bytes(), memory->arena_bytes);
}

TEST(DynamicShapes, VersionsShareWeights) {
  std::string text = std::string(kWeights) +
                     "graph main(x: float32[n, 5]) attrs {dim_ranges = [[\"n\", 1, 64]]} " + kBody;
  for (const char* n : {"1", "8"})
    text += "graph main_v" + std::string(n) + "(x: float32[" + n +
            ", 5]) attrs {version_of = \"main\"} " + kBody;
  CompiledModel compiled = Compiled(text);
  EXPECT_EQ(compiled.weights.size(), 1U);
  EXPECT_EQ(compiled.program.dims, std::vector<std::string>{"n"});
  vm::Session session(LoadModel(compiled));
  for (int64_t n : {8, 3, 1, 64, 8}) {
    Tensor x = Numbers({n, 5});
    ExpectProduct(x, session.Run({x})[0]);
    Tensor y = Tensor::Empty({n, 3}, DataType::Float(32));
    EXPECT_EQ(session.Run({x}, {y})[0].get(), y.get());  // in place, in every version
    ExpectProduct(x, y);
  }
  std::string error = ErrorOf([&] { session.Run({Numbers({65, 5})}); });
  EXPECT_NE(error.find("(n: 1, 8, 1..64)"), std::string::npos) << error;
}

TEST(DynamicShapes, VersionsAlone) {
  std::string text = std::string(kWeights) +
                     "graph main(x: float32[n, 5]) attrs {versions_only = true} { return }\n";
  for (const char* n : {"2", "7"})
    text += "graph main_v" + std::string(n) + "(x: float32[" + n +
            ", 5]) attrs {version_of = \"main\"} " + kBody;
  vm::Session session(LoadModel(Compiled(text)));
  for (int64_t n : {7, 2}) {
    Tensor x = Numbers({n, 5});
    ExpectProduct(x, session.Run({x})[0]);
  }
  std::string error = ErrorOf([&] { session.Run({Numbers({3, 5})}); });
  EXPECT_NE(error.find("(n: 2, 7)"), std::string::npos) << error;
}

TEST(DynamicShapes, VersionsOfOtherParametersAreErrors) {
  std::string text = std::string(kWeights) + "graph main(x: float32[n, 5]) " + kBody +
                     "graph other(x: float32[2, 6]) attrs {version_of = \"main\"} { return x }\n";
  EXPECT_NE(ErrorOf([&] { Compiled(text); }).find("graph other is no version of main"),
            std::string::npos);
}

TEST(DynamicShapes, RangesSimplifyExtents) {
  Initialize();
  ir::Var n("n");
  EXPECT_FALSE(ir::AsConstInt(graph::Simplified(tir::Min(n, ir::Expr(1)))));
  {
    graph::ScopedDimRanges scope;
    scope.Add(n, {1, 512});
    EXPECT_TRUE(ir::IsConst(graph::Simplified(tir::Min(n, ir::Expr(1))), 1));
    EXPECT_TRUE(graph::SameExtent(tir::Min(n, ir::Expr(512)), n));
  }
  EXPECT_FALSE(graph::SameExtent(tir::Min(n, ir::Expr(512)), n));
}

// A cache that grows by what each run is given.
TEST(States, OutputsAreTheNextInputs) {
  vm::Session session(LoadModel(Compiled(R"(
constant axes: int64[1] = [1]
graph main(x: float32[b, t, 2], past: float32[b, p, 2]) {
  present = concat(past, x) {axis = 1}
  y = reduce_sum(present, axes) {keepdims = 0}
  return y, present
}
)")));
  session.BindState("past", "present");
  std::vector<float> sum(4, 0);
  const void* places[8] = {};
  for (int run = 0; run < 8; ++run) {
    int64_t tokens = run == 0 ? 16 : 1;
    Tensor x = Numbers({2, tokens, 2}, static_cast<float>(run));
    std::vector<Tensor> results = session.Run({x, {}});
    for (int64_t i = 0; i < x->num_elements(); ++i)
      sum[static_cast<size_t>(i / (tokens * 2) * 2 + i % 2)] += x.as<float>()[i];
    EXPECT_EQ(results[1]->shape(), (std::vector<int64_t>{2, 16 + run, 2}));
    for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(results[0].as<float>()[i], sum[i]) << run;
    places[run] = results[1]->data();
  }
  // Two pieces of memory that have room for more are used in turn.
  EXPECT_EQ(places[5], places[7]);
  EXPECT_EQ(places[4], places[6]);
  EXPECT_NE(places[6], places[7]);
  session.ResetStates();
  EXPECT_EQ(session.Run({Numbers({2, 3, 2}), {}})[1]->shape(), (std::vector<int64_t>{2, 3, 2}));
  session.BindState("past", "present", Numbers({2, 5, 2}));
  EXPECT_EQ(session.Run({Numbers({2, 3, 2}), {}})[1]->shape(), (std::vector<int64_t>{2, 8, 2}));
  EXPECT_NE(ErrorOf([&] {
              session.BindState("past", "y");
            }).find("output y is float32[b, 2] and cannot be input past"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { session.BindState("x", "present"); }).find("is the state of input past"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { session.BindState("pas", "present"); }).find("has no input pas"),
            std::string::npos);
}

}  // namespace
}  // namespace tern
