// SPDX-License-Identifier: Apache-2.0
//
// Code objects, read back as a driver would, and what the fake driver refuses.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tern/backend/rocm/runtime/hip_abi.h"
#include "tern/backend/rocm/schedule/architecture.h"
#include "tern/backend/rocm/test/code_object.h"
#include "tern/compile.h"
#include "tern/runtime/kernel/device_artifact.h"
#include "tern/tir/text.h"

namespace tern::backend::rocm {
namespace {

using test::CodeObject;

constexpr const char* kProgram = R"(
func scale(A: float32[n, 64], B: float32[n, 64], flag: bool, s: float32) {
  for b in 0..n bind(blockIdx.x) {
    for t in 0..64 bind(threadIdx.x) {
      alloc tile: float32[64] in shared
      tile[t] = A[b, t] * s
      barrier("shared")
      B[b, t] = select(flag, tile[63 - t], tile[t])
    }
  }
}
)";

std::string Compile(const std::string& target) {
  Initialize();
  ffi::Module compiled =
      tern::Compile(tir::ParseModule("test.tir", kProgram), target::Target::Parse(target));
  const ffi::Module& device = compiled->imports().at(0);
  return runtime::LoadDeviceArtifact("rocm", device->SaveToBytes()).payload.at("");
}

TEST(CodeObject, MetadataOfAllArchitectures) {
  for (const std::string& arch : backend::rocm::Architectures()) {
    SCOPED_TRACE(arch);
    CodeObject object = test::ReadCodeObject(Compile("rocm -arch=" + arch));
    EXPECT_EQ(object.architecture, arch);
    EXPECT_EQ(object.version, 5);
    EXPECT_EQ(object.tir, "");
    ASSERT_EQ(object.kernels.size(), 1u);
    const test::KernelMetadata& kernel = object.kernels.at("scale_kernel");
    EXPECT_EQ(kernel.max_threads, 64u);
    EXPECT_EQ(kernel.wave, arch.starts_with("gfx9") ? 64u : 32u);
    EXPECT_EQ(kernel.group_bytes, 256u);
    EXPECT_EQ(kernel.private_bytes, 0u);
    EXPECT_FALSE(kernel.dynamic_stack);
    ASSERT_EQ(kernel.args.size(), 5u);
    const uint64_t offsets[] = {0, 8, 16, 24, 28}, sizes[] = {8, 8, 8, 4, 1};
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(kernel.args[i].offset, offsets[i]) << i;
      EXPECT_EQ(kernel.args[i].size, sizes[i]) << i;
      EXPECT_EQ(kernel.args[i].kind, i < 2 ? "global_buffer" : "by_value") << i;
      EXPECT_EQ(kernel.args[i].address_space, i < 2 ? "global" : "") << i;
    }
  }
}

TEST(Architecture, SaysHowManyThreadsAWarpHas) {
  Initialize();
  EXPECT_EQ(target::WarpSize(target::Target::Parse("rocm -arch=gfx942")), 64);
  EXPECT_EQ(target::WarpSize(target::Target::Parse("amd/rx-7900-xtx")), 32);
}

TEST(CodeObject, RefusesOtherBytes) {
  EXPECT_THROW(test::ReadCodeObject("nothing"), Error);
  std::string other = Compile("rocm");
  other[18] = 62;  // another machine
  EXPECT_THROW(test::ReadCodeObject(other), Error);
}

// The fake's functions, as the plugin finds them.
class FakeHip : public ::testing::Test {
 protected:
  void SetUp() override {
    void* library = dlopen(TERN_STANDIN_DIRECTORY "/libamdhip64.so", RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    using namespace hip;  // NOLINT: of the types below
#define TERN_HIP_FIND(name, symbol, ...) \
  hip_.name = reinterpret_cast<Result (*)(__VA_ARGS__)>(dlsym(library, symbol));
    TERN_HIP_FUNCTIONS(TERN_HIP_FIND)
#undef TERN_HIP_FIND
    hip_.GetErrorString =
        reinterpret_cast<const char* (*)(Result)>(dlsym(library, "hipGetErrorString"));
    ASSERT_EQ(hip_.Init(0), kSuccess);
    ASSERT_EQ(hip_.Malloc(&a_, kBytes), kSuccess);
    ASSERT_EQ(hip_.Malloc(&b_, kBytes), kSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(hip_.Free(a_), hip::kSuccess);
    EXPECT_EQ(hip_.Free(b_), hip::kSuccess);
  }

  hip::Function Load() {
    code_ = Compile("rocm -embed_tir=1");
    hip::Function kernel = nullptr;
    EXPECT_EQ(hip_.ModuleLoadData(&module_, code_.data()), hip::kSuccess);
    EXPECT_EQ(hip_.ModuleGetFunction(&kernel, module_, "scale_kernel"), hip::kSuccess);
    return kernel;
  }

  // "" where it succeeds.
  std::string Launch(hip::Function kernel, unsigned blocks, unsigned threads, int64_t n,
                     void* from) {
    bool flag = true;
    float factor = 2;
    void* args[] = {&from, &b_, &n, &factor, &flag};
    hip::Result result =
        hip_.ModuleLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, nullptr, args, nullptr);
    return result == hip::kSuccess ? "" : hip_.GetErrorString(result);
  }

  static constexpr int64_t kRows = 3;
  static constexpr size_t kBytes = kRows * 64 * sizeof(float);
  hip::Functions hip_;
  hip::Module module_ = nullptr;
  std::string code_;
  void *a_ = nullptr, *b_ = nullptr;
};

TEST_F(FakeHip, RunsKernels) {
  hip::Function kernel = Load();
  std::vector<float> values(kRows * 64), result(kRows * 64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  ASSERT_EQ(hip_.MemcpyAsync(a_, values.data(), kBytes, hip::kHostToDevice, nullptr), 0);
  EXPECT_EQ(Launch(kernel, kRows, 64, kRows, a_), "");
  ASSERT_EQ(hip_.MemcpyAsync(result.data(), b_, kBytes, hip::kDeviceToHost, nullptr), 0);
  EXPECT_EQ(result[0], 126);
  EXPECT_EQ(result[191], 256);
  EXPECT_EQ(hip_.ModuleUnload(module_), hip::kSuccess);
  EXPECT_NE(Launch(kernel, kRows, 64, kRows, a_).find("no such function"), std::string::npos);
}

TEST_F(FakeHip, RefusesWrongLaunches) {
  hip::Function kernel = Load();
  auto refused = [&](const std::string& message, const char* why) {
    EXPECT_NE(message.find(why), std::string::npos) << message;
  };
  refused(Launch(kernel, kRows + 1, 64, kRows, a_),
          "blockIdx.x of the launch is 4, of the kernel 3");
  refused(Launch(kernel, kRows, 128, kRows, a_), "blocks of 128 threads, the code is for 64");
  refused(Launch(kernel, kRows, 32, kRows, a_),
          "threadIdx.x of the launch is 32, of the kernel 64");
  refused(Launch(kernel, kRows + 1, 64, kRows + 1, a_),
          "1024 bytes are not in memory of the device");
  refused(Launch(kernel, kRows, 64, kRows, &kernel), "are not in memory of the device");
  EXPECT_EQ(hip_.ModuleUnload(module_), hip::kSuccess);
}

TEST_F(FakeHip, RefusesWrongCopiesAndHandles) {
  char host[8] = {};
  EXPECT_NE(hip_.MemcpyAsync(a_, host, kBytes + 1, hip::kHostToDevice, nullptr), hip::kSuccess);
  EXPECT_NE(hip_.MemcpyAsync(host, a_, 8, hip::kHostToDevice, nullptr), hip::kSuccess);
  EXPECT_NE(hip_.MemcpyAsync(a_, b_, 8, hip::kDeviceToHost, nullptr), hip::kSuccess);
  EXPECT_NE(hip_.Free(host), hip::kSuccess);
  EXPECT_NE(hip_.StreamDestroy(reinterpret_cast<hip::Stream>(host)), hip::kSuccess);
  EXPECT_NE(hip_.SetDevice(7), hip::kSuccess);
  hip::Event event = nullptr;
  ASSERT_EQ(hip_.EventCreate(&event), hip::kSuccess);
  float time = 0;
  EXPECT_EQ(hip_.EventElapsedTime(&time, event, event), hip::kInvalidHandle);
  EXPECT_EQ(hip_.EventDestroy(event), hip::kSuccess);
  EXPECT_NE(hip_.EventDestroy(event), hip::kSuccess);
}

TEST_F(FakeHip, RefusesCodeOfOthers) {
  hip::Module module = nullptr;
  EXPECT_EQ(hip_.ModuleLoadData(&module, Compile("rocm -arch=gfx1100 -embed_tir=1").data()),
            hip::kNoBinaryForGpu);
  EXPECT_NE(hip_.ModuleLoadData(&module, Compile("rocm").data()), hip::kSuccess);
}

}  // namespace
}  // namespace tern::backend::rocm
