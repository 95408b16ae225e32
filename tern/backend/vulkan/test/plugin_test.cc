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
#include "tern/runtime/device.h"
#include "tern/runtime/device_module.h"
#include "tern/runtime/plugin.h"
#include "tern/runtime/stream.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

using backend::vulkan::KernelWriter;
using ir::Buffer;
using ir::BufferNode;
using ir::Expr;
using ir::Var;
using tir::Stmt;

constexpr TernDevice kDevice{7, 0};
constexpr int64_t kBlock = 64;

// if (i < n) c[i] = (a[i] + b[i]) * scale, `threads` in a block; 0: the launch says how many.
DeviceArtifact VectorAdd(const std::string& target = "vulkan", int64_t threads = kBlock) {
  Initialize();
  auto tensor = [](const char* name) {
    return BufferNode::Make(name, DataType::Float(32), {Expr(1)});
  };
  Buffer a = tensor("a"), b = tensor("b"), c = tensor("c");
  Var n("n", DataType::Int(32)), scale("scale", DataType::Float(32)), size("size");
  Var block("block", DataType::Int(32)), thread("thread", DataType::Int(32));
  Expr count = threads ? ir::IntImmNode::Make(DataType::Int(32), threads) : n;
  Expr i = block * ir::IntImmNode::Make(DataType::Int(32), threads ? threads : kBlock) + thread;
  Expr sum = ir::BufferLoadNode::Make(a, {i}) + ir::BufferLoadNode::Make(b, {i});
  Stmt body = tir::IfThenElseNode::Make(i < n, tir::BufferStoreNode::Make(c, {i}, sum * scale));
  Expr zero = ir::IntImmNode::Make(DataType::Int(32), 0);
  body = tir::ForNode::Make(thread, zero, count, tir::ForKind::kThread, body, "threadIdx.x");
  body = tir::ForNode::Make(block, zero, count, tir::ForKind::kThread, body, "blockIdx.x");
  tir::PrimFunc function = tir::PrimFunc::Make(
      "vector_add", {{a->data, a}, {b->data, b}, {c->data, c}, {n, {}}, {scale, {}}}, body,
      {{tir::attr::kCallingConvention, "kernel"},
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

class VulkanTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("MESA_SHADER_CACHE_DISABLE", "true", 1); }
  void SetUp() override {
    if (CpuHidesSve()) GTEST_SKIP() << "SKIPPED: the CPU's name promises SVE, which it has not";
    if (GetDeviceKind("vulkan").Count() == 0) GTEST_SKIP() << "SKIPPED: no Vulkan device";
  }
  static Tensor OnDevice(int64_t size, double first) {
    Tensor host = Tensor::Empty({size}, DataType::Float(32));
    for (int64_t i = 0; i < size; ++i) SetElement(host, i, first + static_cast<double>(i));
    return host.CopyTo(kDevice);
  }
  static void ExpectAdds(const ffi::Module& module) {
    const int64_t n = 1000;
    Tensor a = OnDevice(n, 0), b = OnDevice(n, 5), c = OnDevice(n, -1);
    module->GetFunction("vector_add")(0, a->data(), b->data(), c->data(), n, 0.5,
                                      (n + kBlock - 1) / kBlock, kBlock);
    Tensor host = c.CopyTo({kTernDeviceCpu, 0});
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(GetElement(host, i), (2.0 * static_cast<double>(i) + 5) / 2);
  }
  // Of a launch on tensors of one element.
  static std::string LaunchError(const DeviceArtifact& artifact, int64_t grid, int64_t block) {
    Tensor a = OnDevice(1, 0);
    return ErrorOf([&] {
      CreateDeviceModule(artifact)->GetFunction("vector_add")(0, a->data(), a->data(), a->data(), 1,
                                                              1.0, grid, block);
    });
  }
};

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
  ExpectAdds(CreateDeviceModule(VectorAdd(target->str())));
}

TEST_F(VulkanTest, CopiesWithOffsetsAndInPieces) {
  const DeviceKind& kind = GetDeviceKind("vulkan");
  Tensor a = OnDevice(8, 0), b = OnDevice(8, 100);
  kind.Copy({.src = a->data(),
             .src_offset = 4,
             .src_device = a->device(),
             .dst = b->data(),
             .dst_offset = 8,
             .dst_device = b->device(),
             .bytes = 12});
  kind.Synchronize(0);
  Tensor host = b.CopyTo({kTernDeviceCpu, 0});
  std::vector<double> values;
  for (int i = 0; i < 8; ++i) values.push_back(GetElement(host, i));
  EXPECT_EQ(values, (std::vector<double>{100, 101, 1, 2, 3, 105, 106, 107}));

  // More than the memory that the host shares with the device.
  const int64_t size = (8 << 20) + 12345;
  Tensor bytes = Tensor::Empty({size}, DataType::UInt(8));
  auto* data = static_cast<uint8_t*>(bytes->data());
  for (int64_t i = 0; i < size; ++i) data[i] = static_cast<uint8_t>(i * 7 + i / 251);
  Tensor back = bytes.CopyTo(kDevice).CopyTo({kTernDeviceCpu, 0});
  EXPECT_EQ(std::memcmp(back->data(), data, static_cast<size_t>(size)), 0);
}

TEST_F(VulkanTest, StreamsAndEvents) {
  const DeviceKind& kind = GetDeviceKind("vulkan");
  EXPECT_GT(kind.Memory(0).total_bytes, 0u);
  ffi::Function add = CreateDeviceModule(VectorAdd())->GetFunction("vector_add");
  const int64_t n = 1000, grid = (n + kBlock - 1) / kBlock;
  Tensor a = OnDevice(n, 0), b = OnDevice(n, 5), c = OnDevice(n, -1);
  Stream first(kDevice), second(kDevice);
  Event start(kDevice), done(kDevice);
  {
    StreamScope scope(first);
    start.Record();
    add(0, a->data(), b->data(), c->data(), n, 0.5, grid, kBlock);
    done.Record();
  }
  StreamScope scope(second);
  done.HoldCurrentStream();
  add(0, c->data(), c->data(), a->data(), n, 1.0, grid, kBlock);
  second.Synchronize();
  Tensor host = a.CopyTo({kTernDeviceCpu, 0});
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(GetElement(host, i), 2.0 * static_cast<double>(i) + 5);
  EXPECT_GE(Event::SecondsBetween(start, done), 0);
  EXPECT_EQ(ErrorOf([&] { Event::SecondsBetween(start, Event(kDevice)); }),
            "an event that was never recorded has no time");
}

TEST_F(VulkanTest, RunsAKernelSavesAndLoadsIt) {
  ffi::Module module = CreateDeviceModule(VectorAdd());
  ExpectAdds(module);
  ExpectAdds(LoadDeviceModule("vulkan", module->SaveToBytes()));
}

TEST_F(VulkanTest, ArgumentsComeInEveryWay) {
  ExpectAdds(CreateDeviceModule(VectorAdd("vulkan -max_push_constants=0")));
  ExpectAdds(CreateDeviceModule(VectorAdd("vulkan -max_buffers=0")));
  ExpectAdds(CreateDeviceModule(VectorAdd("vulkan -max_buffers=0 -max_push_constants=0")));
  ExpectAdds(CreateDeviceModule(VectorAdd("vulkan", /*threads=*/0)));
}

TEST_F(VulkanTest, MemoryThatIsFreedIsThereUntilItIsNotUsed) {
  ffi::Function add = CreateDeviceModule(VectorAdd())->GetFunction("vector_add");
  const int64_t n = 1000;
  Tensor c = OnDevice(n, 0);
  for (int round = 0; round < 100; ++round) {
    Tensor a = OnDevice(n, round), b = OnDevice(n, 1);
    add(0, a->data(), b->data(), c->data(), n, 1.0, (n + kBlock - 1) / kBlock, kBlock);
  }
  EXPECT_EQ(GetElement(c.CopyTo({kTernDeviceCpu, 0}), 10), 99 + 10 + 1 + 10);
}

TEST_F(VulkanTest, WhatIsTooLargeNamesTheLimit) {
  std::string error = LaunchError(VectorAdd("vulkan", 0), 1, 1 << 20);
  EXPECT_EQ(error.find("kernel vector_add: grid (1, 1, 1), block (1048576, 1, 1): block axis x has "
                       "1048576; vulkan:0 allows "),
            0u)
      << error;
  EXPECT_NE(error.find(" (maxComputeWorkGroup"), std::string::npos) << error;
  EXPECT_EQ(LaunchError(VectorAdd(), 1, 32),
            "kernel vector_add: grid (1, 1, 1), block (32, 1, 1): the module is for blocks of (64, "
            "1, 1) threads");
  error = ErrorOf([] { GetDeviceKind("vulkan").Alloc(0, uint64_t{1} << 50, 1); });
  EXPECT_EQ(error.find("vulkan:0: 1125899906842624 bytes are more than one buffer can have"), 0u)
      << error;
}

TEST_F(VulkanTest, EmptyLaunchesDoNothing) {
  EXPECT_EQ(LaunchError(VectorAdd(), 0, kBlock), "no error");
}

TEST_F(VulkanTest, WrongModulesAndFormatsAreRefused) {
  DeviceArtifact artifact = VectorAdd();
  artifact.payload["vector_add"] = "not SPIR-V, but some text!";
  EXPECT_EQ(LaunchError(artifact, 1, kBlock), "no SPIR-V module: 26 bytes");
  artifact = VectorAdd();
  artifact.payload["vector_add"].resize(artifact.payload["vector_add"].size() - 8);
  EXPECT_EQ(LaunchError(artifact, 1, kBlock),
            "no SPIR-V module: it does not end with the end of a function");
  artifact = VectorAdd();
  artifact.payload["vector_add"].back() = 1;  // the last instruction's length
  EXPECT_NE(LaunchError(artifact, 1, kBlock).find("is longer than the module"), std::string::npos);
  artifact = VectorAdd();
  artifact.payload = {{"other", artifact.payload["vector_add"]}};
  EXPECT_EQ(LaunchError(artifact, 1, kBlock), "the program has no code for kernel vector_add");
  artifact.fmt = "ptx";
  EXPECT_EQ(LaunchError(artifact, 1, kBlock),
            "the vulkan runtime does not take programs in format ptx: spv is legal");
}

}  // namespace
}  // namespace tern::runtime
