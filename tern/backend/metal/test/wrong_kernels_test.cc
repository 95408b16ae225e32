// SPDX-License-Identifier: Apache-2.0
//
// The kernels that the stand-in must refuse: when they are compiled, or when they run.
#include <ostream>

#include "tern/backend/metal/test/standin_fixture.h"

namespace tern::backend::metal {
namespace {

constexpr const char* kHead = "#include <metal_stdlib>\nusing namespace metal;\n";

struct Wrong {
  const char* name;
  const char* body;
  const char* message;
};

void PrintTo(const Wrong& kernel, std::ostream* out) { *out << kernel.name; }
std::string NameOf(const testing::TestParamInfo<Wrong>& info) { return info.param.name; }

// Of a kernel k(device float* a), a of 256 bytes, with 64 threads: what the command buffer says.
std::string RunBody(const std::string& body) {
  std::string log;
  Ref pipeline = NewPipeline(std::string(kHead) +
                                 "kernel void k(device float* a [[buffer(0)]], uint t "
                                 "[[thread_position_in_threadgroup]]) {\n" +
                                 body + "\n}\n",
                             "k", &log);
  if (!pipeline) return "not compiled: " + log;
  Pool pool;
  Ref buffer = NewBuffer(256), queue = Ref::Take(Send<Id>(DeviceAt(0), "newCommandQueue"));
  Id commands = Send<Id>(queue.get(), "commandBuffer");
  Id encoder = Send<Id>(commands, "computeCommandEncoder");
  Send<void>(encoder, "setComputePipelineState:", pipeline.get());
  Send<void>(encoder, "setBuffer:offset:atIndex:", buffer.get(), UInt{0}, UInt{0});
  Send<void>(encoder, "dispatchThreadgroups:threadsPerThreadgroup:", Size{1, 1, 1}, Size{64, 1, 1});
  Send<void>(encoder, "endEncoding");
  Send<void>(commands, "commit");
  Send<void>(commands, "waitUntilCompleted");
  return Send<UInt>(commands, "status") == 5 ? MessageOf(Send<Id>(commands, "error")) : "";
}

class RunWrongMetal : public testing::TestWithParam<Wrong> {
 protected:
  static void SetUpTestSuite() { OpenStandin(); }
};

TEST_P(RunWrongMetal, IsRefused) {
  EXPECT_NE(RunBody(GetParam().body).find(GetParam().message), std::string::npos)
      << RunBody(GetParam().body);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, RunWrongMetal,
    testing::Values(
        Wrong{"WritesBehind", "a[t + 1] = 0;",
              "thread (63, 0, 0): writes 4 bytes from byte 256 of 256 that are bound"},
        Wrong{"ReadsBefore", "a[t] = a[(int)t - 1];", "reads 4 bytes where no buffer"},
        Wrong{"PackedVectorBehind",
              "float4 v = float4(*(device const packed_float4*)(a + t)); a[t] = v.x + v.w;",
              "of 256 that are bound"},
        Wrong{"MisalignedVector", "float4 v = *(device float4*)(a + 1); a[t] = v.x;",
              "which is no multiple of 16"},
        Wrong{"BarrierNotForAll",
              "if (t < 32) threadgroup_barrier(mem_flags::mem_threadgroup); a[t] = 1;",
              "thread (0, 0, 0) waits at threadgroup_barrier, and thread (32, 0, 0) ended"},
        Wrong{"BarrierOfOtherMemory",
              "threadgroup float s[64]; s[t] = t; threadgroup_barrier(mem_flags::mem_device); "
              "a[t] = s[63 - t];",
              "does not order the memory of the threadgroup"},
        Wrong{"RaceReadAfterWrite", "threadgroup float s[64]; s[t] = t; a[t] = s[63 - t];",
              "race: "},
        Wrong{"RaceWriteAfterRead",
              "threadgroup float s[64]; s[t] = t; "
              "threadgroup_barrier(mem_flags::mem_threadgroup); float v = s[63 - t]; s[t] = v; "
              "a[t] = v;",
              "race: "},
        Wrong{"ThreadgroupMemoryBehind",
              "threadgroup float s[64]; s[t + 1] = t; "
              "threadgroup_barrier(mem_flags::mem_threadgroup); a[t] = s[t];",
              "behind the block's shared memory"},
        Wrong{"ShuffleNotForAll",
              "float v = t; if (t < 20) v = simd_shuffle(v, ushort(3)); a[t] = v;", "simd_shuffle"},
        Wrong{"ShuffleOfNoLane", "a[t] = simd_shuffle(float(t), ushort(40));",
              "a lane that the SIMD-group has not"},
        Wrong{"TileBehind", "simdgroup_float8x8 m; simdgroup_load(m, a, 9); simdgroup_store(m, a);",
              "of 256 that are bound"},
        Wrong{"TilesOfLanes", "simdgroup_float8x8 m; simdgroup_load(m, a + t);",
              "the lanes of a SIMD-group give different tiles"},
        Wrong{"MatrixNotForAll",
              "simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8, 8>(1.0f); "
              "if (t < 20) simdgroup_multiply_accumulate(m, m, m, m); simdgroup_store(m, a);",
              "simdgroup_multiply_accumulate"}),
    NameOf);

// 8 x 8 ones, multiplied by themselves twice, and moved in both directions.
TEST(RunRightMetal, SimdgroupsMultiply) {
  OpenStandin();
  EXPECT_EQ(
      RunBody("simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8, 8>(1.0f), n; "
              "threadgroup float s[128]; simdgroup_multiply_accumulate(m, m, m, m); "
              "threadgroup float* own = s + t / 32 * 64; simdgroup_store(m, own, 8); "
              "threadgroup_barrier(mem_flags::mem_threadgroup); own[t % 32] = t % 32; "
              "threadgroup_barrier(mem_flags::mem_threadgroup); "
              "simdgroup_load(n, own, 8, ulong2(0), true); "
              "threadgroup_barrier(mem_flags::mem_threadgroup); simdgroup_store(n, own); "
              "threadgroup_barrier(mem_flags::mem_threadgroup); "
              "if (s[1] != 8 || s[8] != 1 || s[9] != 9 || s[7] != 9 || s[127] != 9) a[64] = 0; "
              "a[t] = s[t];"),
      "");
}

TEST(RunRightMetal, ThreadsWaitAndExchange) {
  OpenStandin();
  EXPECT_EQ(RunBody("threadgroup float s[64]; s[t] = simd_shuffle_xor(float(t), ushort(1)); "
                    "threadgroup_barrier(mem_flags::mem_threadgroup); a[t] = s[63 - t];"),
            "");
}

class CompileWrongMetal : public testing::TestWithParam<Wrong> {
 protected:
  static void SetUpTestSuite() { OpenStandin(); }
};

TEST_P(CompileWrongMetal, IsRefused) {
  std::string log;
  EXPECT_FALSE(NewPipeline(std::string(kHead) + GetParam().body, "k", &log));
  EXPECT_NE(log.find(GetParam().message), std::string::npos) << log;
}

INSTANTIATE_TEST_SUITE_P(
    Sources, CompileWrongMetal,
    testing::Values(
        Wrong{"UnknownName", "kernel void k(device float* a [[buffer(0)]]) { a[0] = nonsense; }",
              "program_source:3:"},
        Wrong{
            "OtherAddressSpace",
            "kernel void k(device float* a [[buffer(0)]]) { threadgroup float* s = a; s[0] = 0; }",
            "cannot initialize"},
        Wrong{"AddressSpaceCast",
              "kernel void k(device float* a [[buffer(0)]]) { *(threadgroup float*)a = 0; }",
              "address space"},
        Wrong{"PointerWithoutSpace",
              "kernel void k(device float* a [[buffer(0)]]) { float x = 0; float* p = &x; a[0] = "
              "*p; }",
              "pointer type must have explicit address space qualifier"},
        Wrong{"WritesConstant",
              "struct A { int n; };\nkernel void k(constant A& a [[buffer(0)]]) { a.n = 1; }",
              "error"},
        Wrong{"WritesConst", "kernel void k(device const float* a [[buffer(0)]]) { a[0] = 1; }",
              "error"},
        Wrong{"ThreadgroupInAFunction",
              "static void f() { threadgroup float s[4]; s[0] = 1; }\n"
              "kernel void k(device float* a [[buffer(0)]]) { f(); }",
              "error"},
        Wrong{"Double",
              "kernel void k(device float* a [[buffer(0)]]) { double x = a[0]; a[1] = x; }",
              "error"},
        Wrong{"ParameterWithoutAttribute", "kernel void k(device float* a) { a[0] = 0; }",
              "it has no attribute"},
        Wrong{"UnknownAttribute",
              "kernel void k(device float* a [[buffer(0)]], uint t [[thread_id]]) { a[t] = 0; }",
              "unknown attribute 'thread_id'"},
        Wrong{"NumberByValue",
              "kernel void k(device float* a [[buffer(0)]], int n [[buffer(1)]]) { a[n] = 0; }",
              "'buffer' attribute only applies to"},
        Wrong{
            "OnePlaceTwice",
            "kernel void k(device float* a [[buffer(0)]], device float* b [[buffer(0)]]) { a[0] = "
            "b[0]; }",
            "cannot reserve 'buffer' resource location at index 0"},
        Wrong{"PlaceBeyond", "kernel void k(device float* a [[buffer(31)]]) { a[0] = 0; }",
              "out of bounds"},
        Wrong{
            "WideShuffle",
            "kernel void k(device long* a [[buffer(0)]]) { a[0] = simd_shuffle(a[1], ushort(0)); }",
            "numbers of 2 and 4 bytes"},
        Wrong{
            "VectorOfTooFew",
            "kernel void k(device float* a [[buffer(0)]]) { float4 v = float4(1.0f, 2.0f); a[0] = "
            "v.x; }",
            "as many numbers as it has lanes"},
        Wrong{"TooMuchThreadgroupMemory",
              "kernel void k(device float* a [[buffer(0)]], uint t "
              "[[thread_position_in_threadgroup]]) {"
              " threadgroup float s[9000]; s[t] = a[t];"
              " threadgroup_barrier(mem_flags::mem_threadgroup); a[t] = s[8999 - t]; }",
              "exceeds the maximum threadgroup memory"},
        Wrong{"NoSuchKernel", "kernel void other(device float* a [[buffer(0)]]) { a[0] = 0; }",
              "no such kernel"}),
    NameOf);

// A type of version 3.1.
TEST(CompileWrongMetalVersion, OldLanguagesLackTypes) {
  OpenStandin();
  Pool pool;
  Ref options = Ref::Take(Send<Id>(objc.get_class("MTLCompileOptions"), "new"));
  Id error = nullptr;
  auto compile = [&](UInt version) {
    Send<void>(options.get(), "setLanguageVersion:", version);
    return Ref::Take(Send<Id>(DeviceAt(0), "newLibraryWithSource:options:error:",
                              Text(std::string(kHead) + "kernel void k(device bfloat* a "
                                                        "[[buffer(0)]]) { a[0] = a[1]; }"),
                              options.get(), &error));
  };
  EXPECT_TRUE(compile((3 << 16) + 1));
  EXPECT_FALSE(compile(3 << 16));
  EXPECT_NE(MessageOf(error).find("bfloat"), std::string::npos);
}

}  // namespace
}  // namespace tern::backend::metal
