// SPDX-License-Identifier: Apache-2.0
//
// Copies of boxes and barrier objects on the stand-in: a kernel with roles that is right, and what
// is wrong with it when a wait or an arrival is left out.
#include "tern/backend/cuda/test/standin_fixture.h"

namespace tern::backend::cuda {
namespace {

constexpr const char* kArch = "--gpu-architecture=sm_90";
constexpr unsigned kThreads = 64;

// Warp 1 copies 8 x 8 numbers twice, of which 7 rows are there; warp 0 adds them up.
constexpr const char* kSource = R"(
struct __align__(64) Map { unsigned long long words[16]; };
static __device__ unsigned At(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ void Wait(unsigned long long* b, int parity) {
  unsigned done;
  do {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(At(b)), "r"(parity) : "memory");
  } while (!done);
}
extern "C" __global__ void k(float* a, const __grid_constant__ Map map) {
  __shared__ __align__(1024) float s[64];
  __shared__ unsigned long long full, empty;
  int t = threadIdx.x;
  if (t < 56) a[t] = t + 1;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(At(&full)), "r"(1) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(At(&empty)), "r"(1) : "memory");
  }
  __syncthreads();
  if (t < 32) {
    float sum = 0;
    for (int i = 0; i < 2; ++i) {
      Wait(&full, i & 1);
      for (int j = 0; j < 64; ++j) sum += s[j];
      __syncwarp();
      if (t == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(At(&empty)) : "memory");
    }
    if (t == 0) a[0] = sum;
  } else if (t == 32) {
    for (int i = 0; i < 2; ++i) {
      Wait(&empty, 1 - (i & 1));
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(At(&full)), "r"(256) : "memory");
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                   : : "r"(At(s)), "l"((unsigned long long)&map), "r"(0), "r"(0), "r"(At(&full)) : "memory");
    }
  }
}
)";
std::string SourceOf(const Change& change) {
  std::string source = kSource, line = change.line;
  return source.replace(source.find(line), line.size(), change.instead);
}

// 7 rows of 8 numbers, in boxes of 8.
cu::Result MakeMapOf(cu::DevicePointer memory, cu::TensorMap* map, uint64_t stride) {
  uint64_t shape[] = {8, 7}, strides[] = {stride};
  uint32_t box[] = {8, 8}, steps[] = {1, 1};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the driver's
  return StandinDriver().TensorMapEncodeTiled(map, cu::kMap32, 2, reinterpret_cast<void*>(memory),
                                              shape, strides, box, steps, 0, cu::kNoSwizzle,
                                              cu::kPromote128, 0);
}

cu::Result MakeMap(cu::DevicePointer memory, cu::TensorMap* map) {
  return MakeMapOf(memory, map, 32);
}

// What is outside of the tensor is zero.
TEST(BulkCopyTest, CopiesWithRoles) {
  std::string error;
  EXPECT_EQ(RunKernel(kSource, kArch, kThreads, &error, MakeMap), 2 * 56 * 57 / 2.f) << error;
}

TEST_F(StandinTest, TensorMapsHaveRules) {
  cu::TensorMap map;
  cu::DevicePointer memory = 0;
  ASSERT_EQ(driver().MemAlloc(&memory, 256), 0);
  EXPECT_EQ(MakeMap(memory, &map), 0);
  EXPECT_NE(TextOf(MakeMap(memory + 4, &map)).find("no multiple of 16"), std::string::npos);
  EXPECT_NE(TextOf(MakeMapOf(memory, &map, 36)).find("no multiple of 16"), std::string::npos);
  EXPECT_EQ(driver().MemFree(memory), 0);
}

class WrongRolesDeathTest : public testing::TestWithParam<Change> {};

TEST_P(WrongRolesDeathTest, IsRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunKernelAlone(SourceOf(GetParam()), kArch, kThreads, MakeMap),
              testing::ExitedWithCode(1), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, WrongRolesDeathTest,
    testing::Values(Change{"NoWaitForFull", "Wait(&full, i & 1);", "if (i) Wait(&full, 0);",
                           "more arrivals than the phase|a copy that is under way"},
                    Change{"NoWaitForEmpty", "Wait(&empty, 1 - (i & 1));", "",
                           "more arrivals than the phase|a copy that is under way"},
                    Change{"NoArrival", "if (t == 0) asm volatile(\"mbarrier.arrive.shared",
                           "if (t == 64) asm volatile(\"mbarrier.arrive.shared",
                           "1 of 1 arrivals are missing, and 0 bytes"},
                    Change{"TooManyBytes", "\"r\"(256)", "\"r\"(512)",
                           "0 of 1 arrivals are missing, and 256 bytes"},
                    Change{"NoInit", "if (t == 0) {", "if (t == 64) {", "was not initialized"},
                    Change{"NotAligned", "\"r\"(At(s))", "\"r\"(At(s) + 16)",
                           "no multiple of 128"}),
    NameOf);

}  // namespace
}  // namespace tern::backend::cuda
