// SPDX-License-Identifier: Apache-2.0
//
// Multiplications of groups of warps on the stand-in: a kernel that is right, and what is wrong
// with it when a wait, a fence or a barrier is left out.
#include <cmath>

#include "tern/backend/cuda/test/standin_fixture.h"

namespace tern::backend::cuda {
namespace {

constexpr const char* kArch = "--gpu-architecture=sm_90a";
constexpr unsigned kThreads = 128;

constexpr const char* kFence = R"(asm volatile("fence.proxy.async.shared::cta;" ::: "memory");)";
constexpr const char* kBarrier = "__syncthreads();";
constexpr const char* kStart = R"(asm volatile("wgmma.fence.sync.aligned;" ::: "memory");)";
constexpr const char* kWait = R"(asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");)";
constexpr const char* kBeforeWait = "/* before */";
constexpr const char* kOperand = "(unsigned)__cvta_generic_to_shared(s[1])";

// 64 x 64 of ones by 64 x 64 of ones, 16 steps of them: sums of 16 + 1.
std::string Source() {
  std::string registers, sums;
  for (int i = 0; i < 32; ++i) {
    registers += (i ? ", %" : "%") + std::to_string(i);
    sums += (i ? ", \"+f\"(c[" : "\"+f\"(c[") + std::to_string(i) + "])";
  }
  return std::string("extern \"C\" __global__ void k(float* a) {\n") +
         "  __shared__ __align__(1024) unsigned short s[2][4096];\n"
         "  int t = threadIdx.x;\n"
         "  for (int i = 0; i < 64; ++i) s[i / 32][i % 32 * 128 + t] = 0x3c00;\n  " +
         kFence + "\n  " + kBarrier +
         "\n  float c[32];\n  for (int i = 0; i < 32; ++i) c[i] = 1;\n"
         "  unsigned long long tiles = 1ull << 62 | 64ull << 32 | 512ull << 16;\n"
         "  unsigned long long left = tiles | (unsigned)__cvta_generic_to_shared(s[0]) >> 4;\n"
         "  unsigned long long right = tiles | " +
         kOperand + " >> 4;\n  " + kStart +
         "\n  asm volatile(\"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" + registers +
         "}, %32, %33, 1, 1, 1, 0, 1;\" : " + sums +
         " : \"l\"(left), \"l\"(right));\n"
         "  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n  " +
         kBeforeWait + "\n  " + kWait +
         "\n  float sum = 0;\n  for (int i = 0; i < 32; ++i) sum += c[i];\n"
         "  if (t < 64) a[t] = sum;\n}\n";
}
std::string SourceOf(const Change& change) {
  std::string source = Source(), line = change.line;
  return source.replace(source.find(line), line.size(), change.instead);
}

TEST(WgmmaTest, Multiplies) {
  std::string error;
  EXPECT_EQ(RunKernel(Source(), kArch, kThreads, &error), 32 * 17.f) << error;
}

// What is read before the wait is no number.
TEST(WgmmaTest, SumsAreLate) {
  std::string error;
  EXPECT_TRUE(std::isnan(RunKernel(SourceOf({"", kWait, "", ""}), kArch, kThreads, &error)))
      << error;
}

TEST(WgmmaTest, OtherMachinesLackIt) {
  Compiled other = CompileCuda(Source(), {"--gpu-architecture=sm_90"});
  EXPECT_TRUE(other.code.empty());
  EXPECT_NE(other.log.find("is not supported on any .target but sm_90a"), std::string::npos)
      << other.log;
}

class WrongGroupDeathTest : public testing::TestWithParam<Change> {};

TEST_P(WrongGroupDeathTest, IsRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunKernelAlone(SourceOf(GetParam()), kArch, kThreads), testing::ExitedWithCode(1),
              GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, WrongGroupDeathTest,
    testing::Values(
        Change{"NoProxyFence", kFence, "", "with no fence between that and the last barrier"},
        Change{"NoBarrier", kBarrier, "", "race: "},
        Change{"NoFenceOfRegisters", kStart, "", "without a wgmma.fence"},
        Change{"OverwrittenOperand", kBeforeWait, "__syncthreads(); s[1][t] = 0;",
               "race: |an operand was written"},
        Change{"OverwrittenSum", kBeforeWait, "c[3] = 0;", "a sum was written while it was late"},
        Change{"OperandsOfOneThread", kOperand, "(unsigned)__cvta_generic_to_shared(s[t % 2])",
               "name different operands"},
        Change{"NoSwizzle", "1ull << 62", "0ull", "not that of a matrix with swizzled rows"}),
    NameOf);

}  // namespace
}  // namespace tern::backend::cuda
