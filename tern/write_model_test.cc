// SPDX-License-Identifier: Apache-2.0
#include "tern/write_model.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tern/frontend/onnx/import.h"
#include "tern/frontend/onnx/reader.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/artifact/npy.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/runtime/vm/load_model.h"
#include "tern/runtime/vm/session.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

namespace vm = runtime::vm;

ir::IRModule ImportResnet() {
  Initialize();
  return frontend::onnx::Import(
      frontend::onnx::ReadModel(std::string(TERN_TEST_MODELS) + "/resnet.onnx"), {});
}

std::string RunResnet(const std::shared_ptr<const vm::Model>& model) {
  runtime::Tensor x = runtime::ReadNpy(std::string(TERN_TEST_MODELS) + "/resnet.data.npy");
  runtime::Tensor y = vm::Session(model).Run({x})[0];
  return {y.as<char>(), y->num_bytes()};
}

uint64_t BytesOf(const std::vector<ir::Constant>& weights) {
  uint64_t bytes = 0;
  for (const ir::Constant& constant : weights) bytes += constant->num_bytes();
  return bytes;
}

// Without LLVM too: what the machine is, the target says.
constexpr const char* kTarget = "c -vector_bytes=32 -threads=1";

TEST(WriteModel, WeightsThatDoNotGrowArePackedBefore) {
  ir::IRModule module = ImportResnet();
  target::Target target = target::Target::Parse(kTarget);
  ModelOptions options;
  CompiledModel at_load = CompileModel(module, target, options);
  options.pack_weights = true;
  CompiledModel before = CompileModel(module, target, options);
  // Those of 1x1 convolutions are as large as they were, those of 3x3 ones four times.
  EXPECT_LT(before.program.prepack.size(), at_load.program.prepack.size());
  EXPECT_FALSE(before.program.prepack.empty());
  EXPECT_LE(BytesOf(before.weights), BytesOf(at_load.weights) * 5 / 4);
  EXPECT_EQ(RunResnet(LoadModel(before)), RunResnet(LoadModel(at_load)));
  // Nobody reads the originals, which are gone.
  std::set<std::string> names;
  for (const ir::Constant& constant : before.weights) names.insert(constant->name);
  EXPECT_EQ(names.size(), before.weights.size());
  size_t used = 0;
  for (const vm::Constant& constant : before.program.constants)
    used += constant.source == vm::ConstantSource::kWeights && names.contains(constant.name);
  EXPECT_EQ(used, names.size());
}

// A weight that is a result too is not only packed.
TEST(WriteModel, WeightsThatOthersReadStay) {
  Initialize();
  std::string rows, target = "c -vector_bytes=32 -threads=1";
  for (int i = 0; i < 64 * 64; ++i) rows += (i ? ", " : "") + std::to_string(i % 7);
  auto weights_of = [&](const std::string& results) {
    ModelOptions options;
    options.pack_weights = true;
    CompiledModel model =
        CompileModel(tir::ParseModule("t.tir", "constant W: float32[64, 64] = [" + rows + R"(]
graph main(x: float32[32, 64]) {
  y = matmul(x, W)
  return )" + results + "\n}\n"),
                     target::Target::Parse(target), options);
    EXPECT_EQ(model.weights.size(), 1u);
    EXPECT_EQ(model.program.prepack.size(), results == "y" ? 0u : 1u);
    return model.weights[0]->name;
  };
  EXPECT_NE(weights_of("y"), "W");
  EXPECT_EQ(weights_of("y, W"), "W");
}

TEST(WriteModel, DefaultsOfInputsStay) {
  Initialize();
  std::string rows;
  for (int i = 0; i < 64 * 64; ++i) rows += (i ? ", " : "") + std::to_string(i % 7);
  ModelOptions options;
  options.pack_weights = true;
  CompiledModel model =
      CompileModel(tir::ParseModule("t.tir", "constant W: float32[64, 64] = [" + rows + R"(]
constant S: float32[1, 2] = [3, 4]
graph main(x: float32[32, 64], s: float32[1, 2]) {
  d = with_default(s, S)
  y = matmul(x, W)
  z = relu(d)
  return y, z
}
)"),
                   target::Target::Parse(kTarget), options);
  EXPECT_TRUE(model.program.prepack.empty());
  auto loaded = LoadModel(model);
  EXPECT_FALSE(loaded->input_default(0));
  ASSERT_TRUE(loaded->input_default(1));
  EXPECT_EQ(loaded->input_default(1).as<float>()[1], 4);
}

TEST(WriteModel, MachinesThatAreOneToTheRuntimeAreRefused) {
  ir::IRModule module = ImportResnet();
  runtime::TempDirectory directory;
  std::vector<CompiledModel> models;
  for (const char* target : {kTarget, "c -vector_bytes=16 -threads=1"})
    models.push_back(CompileModel(module, target::Target::Parse(target)));
  std::string error = runtime::ErrorOf([&] { WriteModel(models, directory.File("m.tern")); });
  EXPECT_NE(error.find("run on the same machines; a file has one code for each"), std::string::npos)
      << error;
}

}  // namespace
}  // namespace tern
