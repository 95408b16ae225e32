// SPDX-License-Identifier: Apache-2.0
//
// The plugin from outside, through the runtime, on whatever Vulkan device there is.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tern/backend/vulkan/codegen/kernel_writer.h"
#include "tern/compile.h"
#include "tern/detect_target.h"
#include "tern/runtime/test_data/device_plugin_test.h"

namespace tern::runtime {
namespace {

using backend::vulkan::KernelWriter;
using ir::Buffer;
using ir::BufferNode;
using ir::Expr;
using ir::Var;
using tir::Stmt;

constexpr int64_t kThreads = 64;

// if (i < n) c[i] = (a[i] + b[i]) * scale, `threads` in a block; 0: the launch says how many.
DeviceArtifact MakeVectorAdd(const std::string& target = "vulkan", int64_t threads = kThreads) {
  Initialize();
  auto tensor = [](const char* name) {
    return BufferNode::Make(name, DataType::Float(32), {Expr(1)});
  };
  Buffer a = tensor("a"), b = tensor("b"), c = tensor("c");
  Var n("n", DataType::Int(32)), scale("scale", DataType::Float(32)), size("size");
  Var block("block", DataType::Int(32)), thread("thread", DataType::Int(32));
  Expr count = threads ? ir::IntImmNode::Make(DataType::Int(32), threads) : n;
  Expr i = block * ir::IntImmNode::Make(DataType::Int(32), threads ? threads : kThreads) + thread;
  Expr sum = ir::BufferLoadNode::Make(a, {i}) + ir::BufferLoadNode::Make(b, {i});
  Stmt body = tir::IfThenElseNode::Make(i < n, tir::BufferStoreNode::Make(c, {i}, sum * scale));
  Expr zero = ir::IntImmNode::Make(DataType::Int(32), 0);
  body = tir::ForNode::Make(thread, zero, count, tir::ForKind::kThread, body, "threadIdx.x");
  body = tir::ForNode::Make(block, zero, count, tir::ForKind::kThread, body, "blockIdx.x");
  tir::PrimFunc function = tir::PrimFunc::Make(
      "vector_add", {{a->data, a}, {b->data, b}, {c->data, c}, {n, {}}, {scale, {}}}, body,
      {{tir::attr::kCallingConvention, tir::CallingConventionName(tir::CallingConvention::kKernel)},
       {tir::attr::kLaunchTags, ffi::MakeArray({"blockIdx.x", "threadIdx.x"})}});
  KernelWriter writer(function, target::Target::Parse(target));
  DeviceArtifact artifact{.kind = "vulkan", .fmt = "spv"};
  artifact.payload["vector_add"] = writer.Write();
  artifact.fmap["vector_add"] = writer.info();
  return artifact;
}

// Whether Mesa would emit instructions that this CPU's name promises and it does not have
// (test/with_lavapipe.sh).
bool CpuHidesSve() {
  std::ifstream file("/proc/cpuinfo");
  std::stringstream text;
  text << file.rdbuf();
  return text.str().find("0xd40") != std::string::npos &&
         text.str().find(" sve ") == std::string::npos;
}

// A process of its own, where the loader finds no driver: the plugin loads, and has no devices.
TEST(VulkanDeathTest, WithoutADriverThereAreNoDevices) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("VK_ICD_FILENAMES", "/nonexistent", 1);
        setenv("VK_DRIVER_FILES", "/nonexistent", 1);
        LoadPlugin("vulkan");
        std::fputs(ErrorOf([] { GetDeviceKind("vulkan").Alloc(0, 1, 1); }).c_str(), stderr);
        std::exit(GetDeviceKind("vulkan").Count());
      },
      testing::ExitedWithCode(0), "no such device: vulkan:0; libvulkan.so.1 ");
}

struct Vulkan {
  static constexpr const char* kKind = "vulkan";
  static void Open() { setenv("MESA_SHADER_CACHE_DISABLE", "true", 1); }
  static std::string WhyNot() {
    if (CpuHidesSve()) return "the CPU's name promises SVE, which it has not";
    return GetDeviceKind(kKind).Count() == 0 ? "no Vulkan device" : "";
  }
  static DeviceArtifact VectorAdd() { return MakeVectorAdd(); }
};
using VulkanTest = DevicePluginTest<Vulkan>;
INSTANTIATE_TYPED_TEST_SUITE_P(Vulkan, DevicePluginTest, Vulkan);

TEST_F(VulkanTest, DescribesItsDevices) {
  ffi::Map properties = GetDeviceKind("vulkan").Describe(0);
  EXPECT_FALSE(properties->Find("name")->As<std::string>().empty());
  EXPECT_FALSE(properties->Find("driver")->As<std::string>().empty());
  EXPECT_GE(properties->Find("max_threads")->As<int64_t>(), 128);
  EXPECT_GE(properties->Find("max_shared_memory")->As<int64_t>(), 16384);
}

TEST_F(VulkanTest, TheDetectedTargetRuns) {
  target::Target target = DetectTarget("vulkan:0");
  EXPECT_GE(target->GetInt("max_push_constants"), 128);
  ExpectAdds(CreateDeviceModule(MakeVectorAdd(target->str())));
}

TEST_F(VulkanTest, CopiesInPieces) {
  // More than the memory that the host shares with the device.
  const int64_t size = (8 << 20) + 12345;
  Tensor bytes = Tensor::Empty({size}, DataType::UInt(8));
  auto* data = static_cast<uint8_t*>(bytes->data());
  for (int64_t i = 0; i < size; ++i) data[i] = static_cast<uint8_t>(i * 7 + i / 251);
  Tensor back = bytes.CopyTo(DeviceAt(0)).CopyTo({kTernDeviceCpu, 0});
  EXPECT_EQ(std::memcmp(back->data(), data, static_cast<size_t>(size)), 0);
}

TEST_F(VulkanTest, ArgumentsComeInEveryWay) {
  ExpectAdds(CreateDeviceModule(MakeVectorAdd("vulkan -max_push_constants=0")));
  ExpectAdds(CreateDeviceModule(MakeVectorAdd("vulkan -max_buffers=0")));
  ExpectAdds(CreateDeviceModule(MakeVectorAdd("vulkan -max_buffers=0 -max_push_constants=0")));
  ExpectAdds(CreateDeviceModule(MakeVectorAdd("vulkan", /*threads=*/0)));
}

TEST_F(VulkanTest, WhatIsTooLargeNamesTheLimit) {
  std::string error = LaunchError(MakeVectorAdd("vulkan", 0), 1, 1 << 20);
  EXPECT_EQ(error.find("kernel vector_add: grid (1, 1, 1), block (1048576, 1, 1): block axis x has "
                       "1048576; vulkan:0 allows "),
            0u)
      << error;
  EXPECT_NE(error.find(" (maxComputeWorkGroup"), std::string::npos) << error;
  EXPECT_EQ(LaunchError(MakeVectorAdd(), 1, 32),
            "kernel vector_add: grid (1, 1, 1), block (32, 1, 1): the module is for blocks of (64, "
            "1, 1) threads");
  error = ErrorOf([] { GetDeviceKind("vulkan").Alloc(0, uint64_t{1} << 50, 1); });
  EXPECT_EQ(error.find("vulkan:0: 1125899906842624 bytes are more than one buffer can have"), 0u)
      << error;
}

TEST_F(VulkanTest, WrongModulesAndFormatsAreRefused) {
  DeviceArtifact artifact = MakeVectorAdd();
  artifact.payload["vector_add"] = "not SPIR-V, but some text!";
  EXPECT_EQ(LaunchError(artifact, 1, kBlock), "no SPIR-V module: 26 bytes");
  artifact = MakeVectorAdd();
  artifact.payload["vector_add"].resize(artifact.payload["vector_add"].size() - 8);
  EXPECT_EQ(LaunchError(artifact, 1, kBlock),
            "no SPIR-V module: it does not end with the end of a function");
  artifact = MakeVectorAdd();
  artifact.payload["vector_add"].back() = 1;  // the last instruction's length
  EXPECT_NE(LaunchError(artifact, 1, kBlock).find("is longer than the module"), std::string::npos);
  // Arguments that are not what the module takes them for.
  Tensor a = OnDevice(1, 0);
  artifact = MakeVectorAdd();
  artifact.fmap["vector_add"].args[0] = DataType::Float(64);
  EXPECT_EQ(ErrorOf([&] {
              CreateDeviceModule(artifact)->GetFunction("vector_add")(0, 1.0, a->data(), a->data(),
                                                                      1, 1.0, 1, kBlock);
            }),
            "kernel vector_add: grid (1, 1, 1), block (64, 1, 1): the module has a buffer at "
            "binding 0, but argument 0 is no tensor");
  artifact = MakeVectorAdd();
  artifact.fmap["vector_add"].args.pop_back();
  EXPECT_EQ(ErrorOf([&] {
              CreateDeviceModule(artifact)->GetFunction("vector_add")(0, a->data(), a->data(),
                                                                      a->data(), 1, 1, kBlock);
            }),
            "kernel vector_add: grid (1, 1, 1), block (64, 1, 1): the module reads 8 bytes of "
            "scalars; the launch has 4");
  artifact = MakeVectorAdd();
  artifact.payload = {{"other", artifact.payload["vector_add"]}};
  EXPECT_EQ(LaunchError(artifact, 1, kBlock), "the program has no code for kernel vector_add");
  artifact.fmt = "ptx";
  EXPECT_EQ(LaunchError(artifact, 1, kBlock),
            "the vulkan runtime does not take programs in format ptx: spv is legal");
}

}  // namespace
}  // namespace tern::runtime
