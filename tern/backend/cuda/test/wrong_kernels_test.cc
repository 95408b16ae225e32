// SPDX-License-Identifier: Apache-2.0
//
// The kernels that the stand-in must refuse: when they are compiled, or when they run. A failed
// kernel ends its context, so each runs in a process of its own.
#include "tern/backend/cuda/test/standin_fixture.h"

namespace tern::backend::cuda {
namespace {

constexpr const char* kArch = "--gpu-architecture=sm_90";
constexpr unsigned kThreads = 64;

struct WrongKernel {
  const char* name;
  const char* body;  // of a kernel k(float* a), a of 256 bytes, with kThreads threads
  const char* message;
};

void PrintTo(const WrongKernel& kernel, std::ostream* out) { *out << kernel.name; }
std::string NameOf(const testing::TestParamInfo<WrongKernel>& info) { return info.param.name; }

std::string SourceOf(const WrongKernel& kernel) {
  return std::string("extern \"C\" __global__ void k(float* a) {\n  int t = threadIdx.x;\n") +
         kernel.body + "\n}\n";
}

class RunWrongDeathTest : public testing::TestWithParam<WrongKernel> {};

TEST_P(RunWrongDeathTest, IsRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunKernelAlone(SourceOf(GetParam()), kArch, kThreads), testing::ExitedWithCode(1),
              GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, RunWrongDeathTest,
    testing::Values(
        WrongKernel{"WritesBehind", "a[t + 1] = 0;",
                    "ILLEGAL_ADDRESS.*thread \\(63, 0, 0\\): writes 4 bytes from byte 256 of an "
                    "allocation of 256"},
        WrongKernel{"ReadsBefore", "a[t] = a[t - 1];", "ILLEGAL_ADDRESS.*reads 4 bytes where"},
        WrongKernel{"NullPointer", "float* p = 0; p[t] = a[t];", "ILLEGAL_ADDRESS"},
        WrongKernel{"Misaligned", "a[t] = *(float*)((char*)a + 2);", "MISALIGNED_ADDRESS"},
        WrongKernel{"MisalignedVector", "float4 v = *(float4*)(a + 1); a[t] = v.x;",
                    "MISALIGNED_ADDRESS"},
        WrongKernel{"BarrierNotForAll", "if (t < 32) __syncthreads(); a[t] = 1;",
                    "thread \\(0, 0, 0\\) waits at __syncthreads, and thread \\(32, 0, 0\\) ended"},
        WrongKernel{"RaceReadAfterWrite", "__shared__ float s[64]; s[t] = t; a[t] = s[63 - t];",
                    "race: "},
        WrongKernel{"RaceWriteAfterRead",
                    "__shared__ float s[64]; s[t] = t; __syncthreads(); float v = s[63 - t]; "
                    "s[t] = v; a[t] = v;",
                    "race: "},
        WrongKernel{"RaceWriteWrite",
                    "__shared__ float s[64]; s[t / 2] = t; __syncthreads(); a[t] = s[t / 2];",
                    "race: "},
        WrongKernel{"RaceInAWarp", "__shared__ float s[64]; s[t] = t; a[t] = s[t ^ 1];", "race: "},
        WrongKernel{"RaceBetweenWarps",
                    "__shared__ float s[64]; s[t] = t; __syncwarp(); a[t] = s[63 - t];", "race: "},
        WrongKernel{"RaceByHalves",
                    "__shared__ unsigned short s[64]; s[t] = t; __syncthreads(); s[t ^ 1] = s[t]; "
                    "a[t] = 0;",
                    "race: "},
        WrongKernel{"BehindShared",
                    "__shared__ float s[16]; s[t] = 1; __syncthreads(); a[t] = s[t];",
                    "thread \\(16, 0, 0\\): writes 4 bytes behind the block's shared memory"},
        WrongKernel{
            "WritesAConstant",
            "static const float c[4] = {1, 2, 3, 4}; ((float*)c)[t % 4] = 0; a[t] = c[t % 4];",
            "ILLEGAL_ADDRESS"},
        WrongKernel{"ShuffleWithoutLanes",
                    "float v = t; if (t < 16) v = __shfl_xor_sync(0xffffffffu, v, 1); a[t] = v;",
                    "__shfl_xor_sync"},
        WrongKernel{"ShuffleMaskWithoutItself", "a[t] = __shfl_sync(1u, (float)t, 0);",
                    "the mask does not name the lane itself"},
        WrongKernel{
            "ShuffleOfAnother",
            "float v = t % 2 ? __shfl_sync(0xffffffffu, 1.0f, 0) : __shfl_up_sync(0xffffffffu, "
            "1.0f, 1); a[t] = v;",
            "__shfl_up_sync|__shfl_sync"},
        WrongKernel{"CopyTooMuch",
                    "__shared__ __align__(16) float s[64]; unsigned p = "
                    "__cvta_generic_to_shared(s + t * 4); asm volatile(\"cp.async.cg.shared.global "
                    "[%0], [%1], 16;\" :: \"r\"(p), \"l\"(a + t * 4));",
                    "ILLEGAL_ADDRESS"},
        WrongKernel{"RowNotAligned",
                    "__shared__ __align__(16) unsigned short s[1024]; unsigned r, p = "
                    "__cvta_generic_to_shared(s + t); asm volatile(\"ldmatrix.sync.aligned.m8n8.x1."
                    "shared.b16 {%0}, [%1];\" : \"=r\"(r) : \"r\"(p)); a[t] = r;",
                    "multiple of 16"}),
    NameOf);

class CompileWrongTest : public testing::TestWithParam<WrongKernel> {};

TEST_P(CompileWrongTest, IsRefused) {
  Compiled compiled = CompileCuda(SourceOf(GetParam()));
  EXPECT_TRUE(compiled.code.empty());
  EXPECT_NE(compiled.log.find(GetParam().message), std::string::npos) << compiled.log;
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, CompileWrongTest,
    testing::Values(
        WrongKernel{"UnknownName", "a[t] = nonsense;", "nonsense"},
        WrongKernel{"Header", "\n#include <math.h>\n",
                    "test.cu(4): error: cannot open source file"},
        WrongKernel{"UnknownInstruction", "asm(\"frob.b32 %0;\" : \"=f\"(a[t]));",
                    "Not a name of any known instruction: 'frob.b32'"},
        WrongKernel{"OperandOfAnotherSize",
                    "unsigned x; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(a[t]) : \"h\"(x));",
                    "does not match the type/size implied by its constraint"},
        WrongKernel{"OperandThatIsNotThere", "asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(a[t]));",
                    "asm operand %1 is not given"},
        WrongKernel{"TooFewOperands", "asm(\"cvt.f32.f16 %0;\" : \"=f\"(a[t]));", "error"},
        WrongKernel{"IndexIsConstant", "threadIdx.x = 0;", "error"},
        WrongKernel{"TooMuchShared",
                    "__shared__ float s[20000]; s[t] = 0; __syncthreads(); a[t] = s[63 - t];",
                    "uses too much shared data"}),
    NameOf);

TEST(CompileWrongTest, OldMachinesLackInstructions) {
  std::string source = SourceOf({"", "asm volatile(\"cp.async.commit_group;\" ::);", ""});
  EXPECT_FALSE(CompileCuda(source, {"--gpu-architecture=sm_80"}).code.empty());
  Compiled old = CompileCuda(source, {"--gpu-architecture=sm_75"});
  EXPECT_TRUE(old.code.empty());
  EXPECT_NE(old.log.find("Feature 'cp.async.commit_group' requires .target sm_80 or higher"),
            std::string::npos)
      << old.log;
}

TEST(CompileWrongTest, OptionsAreChecked) {
  Compiled compiled = CompileCuda("", {"--gpu-architecture=gfx90a"});
  EXPECT_TRUE(compiled.code.empty());
  EXPECT_NE(compiled.log.find("--gpu-architecture=gfx90a"), std::string::npos);
}

}  // namespace
}  // namespace tern::backend::cuda
