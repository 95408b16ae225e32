// SPDX-License-Identifier: Apache-2.0
//
// The stand-in driver: what right kernels compute, and which calls it refuses.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

#include "tern/backend/cuda/test/standin_fixture.h"
#include "tern/runtime/test_standin/thread_state.h"

namespace tern::backend::cuda {
namespace {

class RunTest : public StandinTest {
 protected:
  // The values that kernel k(float* a), with `threads` threads, leaves in `values`.
  std::vector<float> Run(const std::string& body, std::vector<float> values, unsigned threads,
                         unsigned dynamic_shared = 0) {
    cu::Module module = nullptr;
    cu::Function function =
        Load("extern \"C\" __global__ void k(float* a) {\n int t = threadIdx.x;\n" + body + "\n}",
             "k", &module);
    if (!function) return {};
    cu::DevicePointer memory = 0;
    size_t bytes = values.size() * sizeof(float);
    driver().MemAlloc(&memory, bytes);
    driver().MemcpyHtoD(memory, values.data(), bytes, nullptr);
    void* args[] = {&memory};
    EXPECT_EQ(TextOf(driver().LaunchKernel(function, 1, 1, 1, threads, 1, 1, dynamic_shared,
                                           nullptr, args, nullptr)),
              "");
    driver().MemcpyDtoH(values.data(), memory, bytes, nullptr);
    EXPECT_EQ(TextOf(driver().StreamSynchronize(nullptr)), "");
    driver().MemFree(memory);
    driver().ModuleUnload(module);
    return values;
  }
};

TEST_F(RunTest, SharedMemoryAndBarriers) {
  std::vector<float> values =
      Run("__shared__ float s[64]; for (int i = 0; i < 3; ++i) { s[t] = a[t]; __syncthreads(); "
          "a[t] = s[(t + 1) % 64]; __syncthreads(); }",
          std::vector<float>(64, 0), 64);
  EXPECT_EQ(values, std::vector<float>(64, 0));
  std::vector<float> numbers(64), shifted(64);
  for (int i = 0; i < 64; ++i) numbers[i] = i, shifted[i] = (i + 1) % 64;
  EXPECT_EQ(
      Run("extern __shared__ float s[]; s[t] = a[t]; __syncthreads(); a[t] = s[(t + 1) % 64];",
          numbers, 64, 256),
      shifted);
}

TEST_F(RunTest, WarpOperations) {
  std::vector<float> zeros(32), values;
  auto expect = [&](const char* body, auto value) {
    values = Run(body, zeros, 32);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(values[i], value(i)) << body << " " << i;
  };
  expect("a[t] = __shfl_sync(0xffffffffu, t, 5);", [](int) { return 5; });
  expect("a[t] = __shfl_sync(0xffffffffu, t, 5, 8);", [](int i) { return i / 8 * 8 + 5; });
  expect("a[t] = __shfl_up_sync(0xffffffffu, t, 2);", [](int i) { return i < 2 ? i : i - 2; });
  expect("a[t] = __shfl_down_sync(0xffffffffu, (double)t, 3, 16);",
         [](int i) { return i % 16 > 12 ? i : i + 3; });
  expect("a[t] = __shfl_xor_sync(0xffffffffu, t, 16);", [](int i) { return i ^ 16; });
  expect("a[t] = __ballot_sync(0xffffffffu, t < 4);", [](int) { return 15; });
  expect("a[t] = __any_sync(0xffffffffu, t == 9) + 2 * __all_sync(0xffffffffu, t < 9);",
         [](int) { return 1; });
  expect("if (t >= 16) a[t] = __shfl_xor_sync(0xffff0000u, t, 1);",
         [](int i) { return i < 16 ? 0 : i ^ 1; });
  expect("__shared__ float s[32]; s[t] = t; __syncwarp(); a[t] = s[31 - t];",
         [](int i) { return 31 - i; });
  // The last warp of a block may be smaller.
  values = Run("a[t] = __ballot_sync(0xffffffffu, t != 2) + 100 * __all_sync(0xffffffffu, 1);",
               std::vector<float>(6), 6);
  EXPECT_EQ(values, std::vector<float>(6, 59 + 100));
}

TEST_F(RunTest, HalvesAreConvertedAsHardwareDoes) {
  const char* body =
      "unsigned short h; asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(a[t])); float v;\n"
      "asm volatile(\"cvt.f32.f16 %0, %1;\" : \"=f\"(v) : \"h\"(h)); a[t] = v;";
  std::vector<float> in = {1.0f,     -2.5f,      65504.0f, 65519.0f, 65520.0f,    0x1p-24f,
                           0x1p-25f, 0x1.8p-25f, 2049.0f,  2051.0f,  0x1.ffep-15f};
  std::vector<float> out = {1.0f, -2.5f,    65504.0f, 65504.0f, INFINITY, 0x1p-24f,
                            0.0f, 0x1p-24f, 2048.0f,  2052.0f,  0x1p-14f};
  EXPECT_EQ(Run(body, in, 11), out);
}

// A 16 x 16, B 16 x 8 (stored as its transpose), both of small integers, by way of shared memory.
TEST_F(RunTest, MatrixInstructions) {
  const char* body = R"(
    __shared__ __align__(16) unsigned short s[24 * 16];
    for (int i = t; i < 24 * 16; i += 32) {
      unsigned short h;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(a[i]));
      s[i] = h;
    }
    __syncthreads();
    unsigned a0, a1, a2, a3, b0, b1;
    unsigned pa = __cvta_generic_to_shared(s + (t % 16) * 16 + t / 16 * 8);
    unsigned pb = __cvta_generic_to_shared(s + 256 + (t % 8) * 16 + t / 8 % 2 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(pa) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(pb));
    float d[4] = {1, 1, 1, 1};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    for (int i = 0; i < 4; ++i) a[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = d[i];
  )";
  std::vector<float> in(24 * 16);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
  std::vector<float> out = Run(body, in, 32);
  ASSERT_EQ(out.size(), in.size());
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      float sum = 1;
      for (int k = 0; k < 16; ++k) sum += in[i * 16 + k] * in[256 + j * 16 + k];
      EXPECT_EQ(out[i * 8 + j], sum) << i << " " << j;
    }
}

TEST_F(RunTest, TransposedMatrices) {
  const char* body = R"(
    __shared__ __align__(16) unsigned short s[64];
    s[t] = t; s[t + 32] = t + 32;
    __syncwarp();
    unsigned r, p = __cvta_generic_to_shared(s + t % 8 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(p));
    a[t] = r & 0xffff; a[t + 32] = r >> 16;
  )";
  std::vector<float> out = Run(body, std::vector<float>(64), 32);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(out[i], i % 4 * 2 * 8 + i / 4);
    EXPECT_EQ(out[i + 32], (i % 4 * 2 + 1) * 8 + i / 4);
  }
}

// What was not waited for is not there.
TEST_F(RunTest, AsynchronousCopies) {
  auto body = [](const char* wait) {
    return std::string("__shared__ __align__(16) float s[64]; unsigned p = ") +
           "__cvta_generic_to_shared(s + t * 4); asm volatile(\"cp.async.ca.shared.global [%0], "
           "[%1], "
           "16;\\n\" :: \"r\"(p), \"l\"(a + t * 4)); asm volatile(\"cp.async.commit_group;\\n\" "
           "::); " +
           wait + " __syncthreads(); for (int i = 0; i < 4; ++i) a[t * 4 + i] = s[63 - t * 4 - i];";
  };
  std::vector<float> in(64);
  for (int i = 0; i < 64; ++i) in[i] = i;
  std::vector<float> out = Run(body("asm volatile(\"cp.async.wait_group 0;\\n\" ::);"), in, 16);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], 63 - i);
  out = Run(body("asm volatile(\"cp.async.wait_group 1;\\n\" ::);"), in, 16);
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(std::isnan(out[i]));
}

// ---- Calls that are refused. None of them harms the context.

class CallTest : public StandinTest {
 protected:
  static void ExpectRefused(cu::Result result, const std::string& text) {
    EXPECT_NE(TextOf(result).find(text), std::string::npos) << TextOf(result);
  }
  void SetUp() override {
    StandinTest::SetUp();
    function_ = Load(
        "extern \"C\" __global__ void __launch_bounds__(64) k(float* a, int n) { "
        "extern __shared__ float s[]; if (threadIdx.x == 0) s[0] = 0; if (threadIdx.x < n) "
        "a[threadIdx.x] = 1; }"
        "__global__ void hidden() {}",
        "k", &module_);
    driver().MemAlloc(&memory_, 256);
  }
  void TearDown() override {
    driver().MemFree(memory_);
    driver().ModuleUnload(module_);
    StandinTest::TearDown();
  }
  cu::Result Launch(unsigned grid, unsigned block, unsigned shared, cu::Stream stream = nullptr) {
    int n = 8;
    void* args[] = {&memory_, &n};
    return driver().LaunchKernel(function_, grid, 1, 1, block, 1, 1, shared, stream, args, nullptr);
  }
  cu::Module module_ = nullptr;
  cu::Function function_ = nullptr;
  cu::DevicePointer memory_ = 0;
};

TEST_F(CallTest, Launches) {
  ExpectRefused(Launch(0, 64, 0), "CUDA_ERROR_INVALID_VALUE: cuLaunchKernel: grid (0, 1, 1)");
  ExpectRefused(Launch(1, 2048, 0), "block (2048, 1, 1)");
  ExpectRefused(Launch(1, 65, 0), "65 threads in a block, __launch_bounds__(64)");
  ExpectRefused(Launch(1, 64, 50000), "50000 bytes of shared memory, 49152 were asked for");
  EXPECT_EQ(driver().FuncSetAttribute(function_, cu::kFunctionMaxDynamicSharedSize, 50000), 0);
  EXPECT_EQ(Launch(1, 1, 50000), 0);
  ExpectRefused(driver().FuncSetAttribute(function_, cu::kFunctionMaxDynamicSharedSize, 1 << 20),
                "bytes of dynamic shared memory");
  ExpectRefused(driver().LaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
                "no arguments");
  void* nothing[] = {&memory_, nullptr};
  ExpectRefused(driver().LaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, nullptr, nothing, nullptr),
                "argument 1 is null");
  ExpectRefused(driver().ModuleGetFunction(&function_, module_, "hidden"), "no kernel hidden");
}

TEST_F(CallTest, Memory) {
  cu::DevicePointer other = 0;
  float value[100] = {};
  ExpectRefused(driver().MemAlloc(&other, 0), "an empty allocation");
  ExpectRefused(driver().MemAlloc(&other, size_t{1} << 40), "OUT_OF_MEMORY");
  ExpectRefused(driver().MemFree(memory_ + 4), "not that of an allocation");
  ExpectRefused(driver().MemcpyHtoD(memory_, value, 400, nullptr),
                "the target has 400 bytes from byte 0 of an allocation of 256");
  ExpectRefused(driver().MemcpyDtoH(value, memory_ + 200, 57, nullptr), "the source has 57 bytes");
  ExpectRefused(driver().MemcpyDtoH(nullptr, memory_, 4, nullptr), "the target is null");
  ExpectRefused(driver().MemcpyHtoD(reinterpret_cast<uint64_t>(value), value, 4, nullptr),
                "the target has");
  EXPECT_EQ(driver().MemAlloc(&other, 4), 0);
  EXPECT_EQ(driver().MemFree(other), 0);
  ExpectRefused(driver().MemFree(other), "was freed");
}

TEST_F(CallTest, Handles) {
  cu::Stream stream = nullptr;
  EXPECT_EQ(driver().StreamCreate(&stream, cu::kStreamNonBlocking), 0);
  EXPECT_EQ(driver().StreamDestroy(stream), 0);
  ExpectRefused(driver().StreamDestroy(stream), "was destroyed");
  ExpectRefused(Launch(1, 1, 0, stream), "was destroyed");
  ExpectRefused(driver().StreamSynchronize(stream), "INVALID_HANDLE");
  ExpectRefused(driver().StreamDestroy(nullptr), "the default stream");
  cu::Event event = nullptr, other = nullptr;
  EXPECT_EQ(driver().EventCreate(&event, 0), 0);
  EXPECT_EQ(driver().EventCreate(&other, 0), 0);
  float time = 0;
  ExpectRefused(driver().EventElapsedTime(&time, event, other), "was not recorded");
  EXPECT_EQ(driver().EventRecord(event, nullptr), 0);
  ExpectRefused(driver().EventElapsedTime(&time, event, event), "was not waited for");
  EXPECT_EQ(driver().EventDestroy(event), 0);
  EXPECT_EQ(driver().EventDestroy(other), 0);
  ExpectRefused(driver().EventRecord(event, nullptr), "the event is not one");
  cu::Module module = module_;
  ExpectRefused(driver().ModuleLoadData(&module, "nonsense"), "INVALID_IMAGE");
}

TEST_F(CallTest, Contexts) {
  cu::Context popped = nullptr, second = nullptr;
  EXPECT_EQ(driver().ContextPop(&popped), 0);
  ExpectRefused(driver().ContextPop(&popped), "no context is current");
  ExpectRefused(Launch(1, 1, 0), "INVALID_CONTEXT");
  ExpectRefused(driver().PrimaryContextRetain(&second, 2), "there is no device 2");
  EXPECT_EQ(driver().PrimaryContextRetain(&second, 1), 0);
  EXPECT_EQ(driver().ContextPush(second), 0);
  ExpectRefused(Launch(1, 1, 0), "of another device");
  float value = 0;
  ExpectRefused(driver().MemcpyHtoD(memory_, &value, 4, nullptr), "memory of device 0");
  EXPECT_EQ(driver().ContextPop(&popped), 0);
  EXPECT_EQ(driver().ContextPush(context_), 0);
}

// Work is done when somebody waits for it.
TEST_F(CallTest, NothingIsThereBeforeItWasWaitedFor) {
  float value = 7;
  EXPECT_EQ(Launch(1, 8, 4), 0);
  EXPECT_EQ(driver().MemcpyDtoH(&value, memory_, 4, nullptr), 0);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(driver().StreamSynchronize(nullptr), 0);
  EXPECT_EQ(value, 1);
}

// A caller's thread_local variables may call the driver while their thread ends.
TEST(ThreadStateTest, OutlivesTheCallersVariables) {
  static bool gone = false, was_there = false;
  struct OfDriver {
    ~OfDriver() { gone = true; }
  };
  struct OfCaller {
    ~OfCaller() { was_there = !gone; }
  };
  std::thread([] {
    thread_local OfCaller first;
    [[maybe_unused]] const OfCaller& used = first;
    tern::standin::ThreadState<OfDriver>();
  }).join();
  EXPECT_TRUE(was_there);
  EXPECT_TRUE(gone);
}

TEST(ExitDeathTest, LeaksAreReported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("TERN_STANDIN_STRICT", "1", 1);
        const cu::Functions& driver = StandinDriver();
        cu::Context context = nullptr;
        cu::DevicePointer memory = 0;
        cu::Stream stream = nullptr;
        driver.Init(0);
        driver.PrimaryContextRetain(&context, 0);
        driver.ContextPush(context);
        driver.MemAlloc(&memory, 1000);
        driver.StreamCreate(&stream, 0);
        std::exit(0);
      },
      testing::ExitedWithCode(97), "an allocation of 1000 bytes of device 0\n  1 streams");
}

}  // namespace
}  // namespace tern::backend::cuda
