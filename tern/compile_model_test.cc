// SPDX-License-Identifier: Apache-2.0
//
// Models of test/models, compiled and run here, against recorded outputs.
#include "tern/compile_model.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tern/frontend/onnx/import.h"
#include "tern/frontend/onnx/reader.h"
#include "tern/runtime/artifact/npy.h"
#include "tern/runtime/runner.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/runtime/vm/session.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

namespace vm = runtime::vm;

ir::IRModule ImportModel(const std::string& name,
                         const frontend::onnx::ImportOptions& options = {}) {
  Initialize();
  std::string path = std::string(TERN_TEST_MODELS) + "/" + name + ".onnx";
  return frontend::onnx::Import(frontend::onnx::ReadModel(path), options);
}

runtime::Tensor Recorded(const std::string& model, const std::string& tensor) {
  return runtime::ReadNpy(std::string(TERN_TEST_MODELS) + "/" + model + "." + tensor + ".npy");
}

void CheckModel(const std::string& name, const ModelOptions& options) {
  ir::IRModule module = ImportModel(name);
  auto model = LoadModel(CompileModel(module, target::Target::DefaultHost(), options));
  std::vector<runtime::Tensor> inputs;
  for (const vm::Port& input : model->program().inputs)
    inputs.push_back(Recorded(name, input.name));
  vm::Session session(model, {.poison_memory = true});
  // The second run finds memory that the first one left.
  for (int run = 0; run < 2; ++run) {
    std::vector<runtime::Tensor> outputs = session.Run(inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      runtime::Tensor expected = Recorded(name, model->program().outputs[i].name);
      EXPECT_LT(runtime::CompareTensors(outputs[i], expected).scaled, 1e-4)
          << name << ", output " << model->program().outputs[i].name;
    }
  }
}

class ModelTest : public testing::TestWithParam<const char*> {};

TEST_P(ModelTest, GivesTheRecordedOutputs) { CheckModel(GetParam(), {}); }

TEST_P(ModelTest, GivesThemWithoutFusion) {
  ModelOptions options;
  options.fuse = false;
  options.strict_math = true;
  CheckModel(GetParam(), options);
}

INSTANTIATE_TEST_SUITE_P(All, ModelTest,
                         testing::Values("mnist", "mobilenet", "resnet", "squeezenet",
                                         "transformer"),
                         [](const auto& info) { return std::string(info.param); });

TEST(CompileModel, FusesEpiloguesAndCompilesEqualKernelsOnce) {
  ir::IRModule module = ImportModel("resnet");
  CompiledModel fused = CompileModel(module, target::Target::DefaultHost());
  ModelOptions apart;
  apart.fuse = false;
  CompiledModel unfused = CompileModel(module, target::Target::DefaultHost(), apart);
  EXPECT_LT(fused.calls.size(), unfused.calls.size());
  for (const graph::Kernel& call : fused.calls) EXPECT_NE(call.ops[0], "relu");
  EXPECT_LE(fused.program.kernels.size(), fused.calls.size());
}

TEST(CompileModel, WeightsArePrepackedWhenAModelIsLoaded) {
  ir::IRModule module = ImportModel("resnet");
  target::Target target = target::Target::Parse("c -vector_bytes=32 -threads=1");
  CompiledModel model = CompileModel(module, target);
  EXPECT_FALSE(model.program.prepack.empty());
}

TEST(CompileModel, OneFileRunsAnyLengthOfADynamicDim) {
  Initialize();
  auto module = tir::ParseModule("t.tir", R"(
constant W: float32[5, 7] = splat(0.5)
constant b: float32[7] = [1, 2, 3, 4, 5, 6, 7]
graph main(x: float32[n, 5]) {
  y = matmul(x, W)
  z = add(y, b)
  r = relu(z)
  return r
}
)");
  auto model = LoadModel(CompileModel(module, target::Target::DefaultHost()));
  vm::Session session(model);
  for (int64_t n : {1, 2, 7, 33, 0}) {
    runtime::Tensor x = runtime::Tensor::Empty({n, 5}, DataType::Float(32));
    for (int64_t i = 0; i < n * 5; ++i) x.as<float>()[i] = static_cast<float>(i % 3);
    runtime::Tensor y = session.Run({x})[0];
    ASSERT_EQ(y->shape(), (std::vector<int64_t>{n, 7}));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < 7; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < 5; ++k) sum += 0.5f * x.as<float>()[i * 5 + k];
        EXPECT_FLOAT_EQ(y.as<float>()[i * 7 + j], sum + static_cast<float>(j + 1));
      }
  }
}

TEST(CompileModel, ResultsMayBeInputsConstantsAndViews) {
  Initialize();
  auto module = tir::ParseModule("t.tir", R"(
constant c: float32[300] = splat(2)
constant flat: int64[1] = [-1]
graph main(x: float32[2, 3]) {
  y = relu(x)
  v = reshape(y, flat)
  w = reshape(x, flat)
  return y, v, x, c, w
}
)");
  auto model = LoadModel(CompileModel(module, target::Target::DefaultHost()));
  runtime::Tensor x = runtime::Tensor::Empty({2, 3}, DataType::Float(32));
  for (int i = 0; i < 6; ++i) x.as<float>()[i] = static_cast<float>(i - 3);
  std::vector<runtime::Tensor> results = vm::Session(model).Run({x});
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(results[1]->shape(), (std::vector<int64_t>{6}));
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(results[0].as<float>()[i], std::max(0.f, x.as<float>()[i]));
    EXPECT_EQ(results[1].as<float>()[i], std::max(0.f, x.as<float>()[i]));
    EXPECT_EQ(results[2].as<float>()[i], x.as<float>()[i]);
    EXPECT_EQ(results[4].as<float>()[i], x.as<float>()[i]);
  }
  EXPECT_EQ(results[3].as<float>()[299], 2);
}

// What a model of a graph computes for x = 0, 1, 2, ...
std::vector<runtime::Tensor> RunText(const char* text, const std::vector<int64_t>& shape,
                                     CompiledModel* compiled = nullptr) {
  Initialize();
  CompiledModel model =
      CompileModel(tir::ParseModule("t.tir", text), target::Target::DefaultHost());
  if (compiled) *compiled = model;
  runtime::Tensor x = runtime::Tensor::Empty(shape, DataType::Float(32));
  for (int64_t i = 0; i < x->num_elements(); ++i) x.as<float>()[i] = static_cast<float>(i);
  vm::Session session(LoadModel(model), {.poison_memory = true});
  session.Run({x});
  return session.Run({x});
}

int CountOf(const CompiledModel& model, vm::Opcode op) {
  const std::vector<vm::Instruction>& code = model.program.functions[0].code;
  return static_cast<int>(std::count_if(code.begin(), code.end(),
                                        [&](const vm::Instruction& one) { return one.op == op; }));
}

// Both concats are written by those who compute their inputs; what is given, read twice or a result
// is copied.
TEST(CompileModel, ConcatsAreWrittenInPlace) {
  CompiledModel model;
  std::vector<runtime::Tensor> results = RunText(R"(
graph main(x: float32[1, 16]) {
  a = neg(x)
  b = add(x, x)
  c = concat(a, b) {axis = 1}
  d = mul(x, x)
  e = concat(c, x, d, b, a) {axis = 1}
  y = neg(e)
  return y, d, e
}
)",
                                                 {1, 16}, &model);
  EXPECT_EQ(model.calls.size(), 4u);                // neg, add, mul, neg
  EXPECT_EQ(CountOf(model, vm::Opcode::kCopy), 4);  // x, d, b and a into e
  for (int64_t i = 0; i < 16; ++i) {
    auto x = static_cast<float>(i);
    const float expected[] = {-x, 2 * x, x, x * x, 2 * x, -x};
    for (int64_t part = 0; part < 6; ++part) {
      EXPECT_EQ(results[0].as<float>()[part * 16 + i], -expected[part]) << part << ", " << i;
      EXPECT_EQ(results[2].as<float>()[part * 16 + i], expected[part]) << part << ", " << i;
    }
    EXPECT_EQ(results[1].as<float>()[i], x * x);
  }
}

// Where a part would not be aligned, and where parts are not contiguous, a kernel copies.
// What they read is computed in them.
TEST(CompileModel, OtherConcatsAreKernels) {
  CompiledModel model;
  std::vector<runtime::Tensor> results = RunText(R"(
graph main(x: float32[2, 3]) {
  a = neg(x)
  b = add(x, x)
  y = concat(a, b) {axis = 1}
  return y
}
)",
                                                 {2, 3}, &model);
  EXPECT_EQ(model.calls.size(), 1u);
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j) {
      auto x = static_cast<float>(i * 3 + j);
      EXPECT_EQ(results[0].as<float>()[i * 6 + j], -x);
      EXPECT_EQ(results[0].as<float>()[i * 6 + 3 + j], 2 * x);
    }
}

// A cache of keys and values that grows by one token: one kernel, though views are between.
TEST(CompileModel, ConcatsOfDynamicSizesReadWhatIsBehindViews) {
  Initialize();
  auto module = tir::ParseModule("t.tir", R"(
constant first: int64[] = [0]
constant axis: int64[1] = [0]
graph main(past: float32[2, b, n, 3], k: float32[b, 1, 3], v: float32[b, n + 1, 3]) {
  old = gather(past, first) {axis = 0}
  keys = concat(old, k) {axis = 1}
  two_k = unsqueeze(keys, axis)
  two_v = unsqueeze(v, axis)
  y = concat(two_k, two_v) {axis = 0}
  return y
}
)");
  target::Target target = target::Target::DefaultHost();
  CompiledModel fused = CompileModel(module, target);
  EXPECT_EQ(fused.calls.size(), 1);
  ModelOptions apart;
  apart.fuse = false;
  vm::Session session(LoadModel(fused)), plain(LoadModel(CompileModel(module, target, apart)));
  for (int64_t n : {0, 1, 5}) {
    std::vector<runtime::Tensor> inputs;
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{2, 2, n, 3}, {2, 1, 3}, {2, n + 1, 3}}) {
      inputs.push_back(runtime::Tensor::Empty(shape, DataType::Float(32)));
      for (int64_t i = 0; i < inputs.back()->num_elements(); ++i)
        inputs.back().as<float>()[i] =
            static_cast<float>(100 * inputs.size()) + static_cast<float>(i);
    }
    runtime::Tensor y = session.Run(inputs)[0];
    EXPECT_EQ(y->shape(), (std::vector<int64_t>{2, 2, n + 1, 3}));
    EXPECT_EQ(runtime::CompareTensors(y, plain.Run(inputs)[0]).absolute, 0);
  }
}

TEST(CompileModel, PartsWithoutGapsAreViews) {
  CompiledModel model;
  std::vector<runtime::Tensor> results = RunText(R"(
constant sizes: int64[3] = [1, 2, 1]
graph main(x: float32[4, 32]) {
  y = neg(x)
  a, b, c = split(y, sizes) {axis = 0}
  r = relu(b)
  s = add(a, c)
  return r, s, b
}
)",
                                                 {4, 32}, &model);
  EXPECT_EQ(model.calls.size(), 3u);  // neg, relu, add
  for (int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(results[0].as<float>()[i], 0);
    EXPECT_EQ(results[2].as<float>()[i], -static_cast<float>(i + 32));
  }
  for (int64_t i = 0; i < 32; ++i)
    EXPECT_EQ(results[1].as<float>()[i], -static_cast<float>(i + i + 96));
}

TEST(CompileModel, DynamicExtentsThatMustBeEqualAreChecked) {
  constexpr const char* kText = R"(
constant table: float32[5, 4] = splat(1)
constant zero: int64[1] = [0]
constant one: int64[1] = [1]
graph main(x: float32[n, 4]) {
  s = shape(x)
  n_1 = slice(s, zero, one)
  t = slice(table, zero, n_1)
  y = add(x, t)
  return y
}
)";
  for (int64_t n : {1, 3, 5}) EXPECT_EQ(RunText(kText, {n, 4})[0]->shape()[0], n);
  std::string error = runtime::ErrorOf([&] { RunText(kText, {6, 4}); });
  EXPECT_NE(error.find("shapes cannot be broadcast to one"), std::string::npos) << error;
  EXPECT_NE(error.find("here n = 6"), std::string::npos) << error;
}

TEST(CompileModel, ShapesCanBeGiven) {
  frontend::onnx::ImportOptions options;
  options.dims = {{"no_such_dim", 3}};
  EXPECT_THROW(ImportModel("transformer", options), Error);
  options.dims.clear();
  options.input_shapes = {{"no_such_input", {1}}};
  EXPECT_THROW(ImportModel("transformer", options), Error);
}

}  // namespace
}  // namespace tern
