// SPDX-License-Identifier: Apache-2.0
#include "tern/specialize_model.h"

#include <gtest/gtest.h>

#include "tern/frontend/onnx/import.h"
#include "tern/frontend/onnx/reader.h"
#include "tern/graph/transform/passes.h"
#include "tern/runtime/runner.h"
#include "tern/runtime/vm/session.h"
#include "tern/runtime/vm/text.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

namespace vm = runtime::vm;
using runtime::Tensor;

constexpr const char* kText = R"(
constant W: float32[64, 48] = splat(0.125)
constant t: int64[2] = [-1, 32]
graph main(x: float32[n, 64]) attrs {dim_ranges = [["n", 1, 100]]} {
  r = relu(x)
  y = matmul(r, W)
  s = softmax(y)
  v = reshape(x, t)
  return s, v
}
)";

ir::IRModule Parsed(const std::string& text) {
  Initialize();
  return tir::ParseModule("t.tir", text);
}

Tensor Numbers(std::vector<int64_t> shape) {
  Tensor tensor = Tensor::Empty(std::move(shape), DataType::Float(32));
  for (int64_t i = 0; i < tensor->num_elements(); ++i)
    tensor.as<float>()[i] = static_cast<float>(i % 7) - 2;
  return tensor;
}

struct Both {
  explicit Both(const ir::IRModule& module, const std::string& when = "eager")
      : general(LoadModel(CompileModel(module, target, {}))),
        specializer(MakeSpecializer(vm::Specializer::Parse(when), module, target, {}, general)) {}
  target::Target target = target::Target::DefaultHost();
  std::shared_ptr<const vm::Model> general;
  std::shared_ptr<vm::Specializer> specializer;
};

TEST(SpecializeModel, GivesTheSameResults) {
  Both both(Parsed(kText));
  vm::Session plain(both.general), session(both.general, {.specializer = both.specializer});
  for (int64_t n : {1, 7, 33}) {
    Tensor x = Numbers({n, 64});
    std::vector<Tensor> expected = plain.Run({x}), actual = session.Run({x});
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_LE(runtime::CompareTensors(actual[i], expected[i]).absolute, 1e-6);
  }
  std::vector<vm::Specialization> all = both.specializer->All();
  ASSERT_EQ(all.size(), 3);
  for (const vm::Specialization& one : all) {
    ASSERT_EQ(one.state, vm::Specialization::State::kReady) << one.error;
    EXPECT_TRUE(one.model->program().dims.empty());
  }
  // Out of its range the general model says so, and nothing else was made.
  EXPECT_THROW(session.Run({Numbers({101, 64})}), Error);
  EXPECT_NE(both.specializer->All().back().error.find("n is 1..100, and cannot be 101"),
            std::string::npos);
}

TEST(SpecializeModel, SharesWeightsWithTheGeneralModel) {
  Both both(Parsed(kText));
  vm::Session(both.general, {.specializer = both.specializer}).Run({Numbers({7, 64})});
  const vm::Model& made = *both.specializer->All().at(0).model;
  size_t shared = 0;
  for (size_t i = 0; i < made.program().constants.size(); ++i)
    for (size_t k = 0; k < both.general->program().constants.size(); ++k)
      if (made.constant(i) && made.constant(i).get() == both.general->constant(k).get()) ++shared;
  EXPECT_GE(shared, 1);
}

TEST(SpecializeModel, OffAndStaticModelsHaveNone) {
  EXPECT_FALSE(Both(Parsed(kText), "off").specializer);
  EXPECT_FALSE(Both(Parsed(kText), "").specializer);
  std::string fixed = kText;
  fixed.replace(fixed.find("[n, 64]"), 7, "[3, 64]");
  fixed.erase(fixed.find(" attrs {dim_ranges"),
              std::string(" attrs {dim_ranges = [[\"n\", 1, 100]]}").size());
  EXPECT_FALSE(Both(Parsed(fixed)).specializer);
}

// A graph with extents fixed later is the graph that would have been imported with them.
TEST(SpecializeModel, FixingDimsIsImportingWithThem) {
  Initialize();
  namespace onnx = frontend::onnx;
  onnx::Model model = onnx::ReadModel(std::string(TERN_TEST_MODELS) + "/transformer.onnx");
  auto optimized = [](const ir::IRModule& module) {
    return tir::PrintModule(OptimizeGraph(module, {target::Target::DefaultHost()}));
  };
  ir::IRModule open = onnx::Import(model);
  graph::Function main = graph::AsGraph(open->functions.at("main"));
  std::map<std::string, int64_t> dims;
  for (const graph::Value& param : main->params)
    for (const ir::Expr& extent : param->type.shape)
      if (const auto* var = extent.As<ir::VarNode>()) dims[var->name] = 5;
  ASSERT_FALSE(dims.empty());
  onnx::ImportOptions options;
  options.dims = dims;
  EXPECT_EQ(optimized(graph::WithGraph(ir::IRModule::Make({}), graph::FixDims(main, dims))),
            optimized(onnx::Import(model, options)));
}

}  // namespace
}  // namespace tern
