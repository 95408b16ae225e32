// SPDX-License-Identifier: Apache-2.0
//
// The plugin from outside, through the runtime, on two devices of the stand-in driver.
#include <cmath>
#include <filesystem>
#include <thread>

#include "tern/backend/cuda/test/standin_fixture.h"
#include "tern/runtime/device.h"
#include "tern/runtime/device_module.h"
#include "tern/runtime/plugin.h"
#include "tern/runtime/stream.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_environment.h"

// For the thread sanitizer, which does not see the lock of the stand-in, but what it does to memory
// by the C library.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libcuda.so.1\n"; }

namespace tern::runtime {
namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = (a[i] + b[i]) * scale;
}
)";

DeviceArtifact VectorAdd() {
  DeviceArtifact artifact{.kind = "cuda", .fmt = "cuda"};
  artifact.fmap["vector_add"] = {{DataType::Handle(), DataType::Handle(), DataType::Handle(),
                                  DataType::Int(32), DataType::Float(32)},
                                 {"blockIdx.x", "threadIdx.x"},
                                 0};
  artifact.payload[""] = kSource;
  return artifact;
}

class CudaTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("TERN_CACHE", "0", 0);
    cuda::OpenStandin("libcuda.so.1");
    cuda::OpenStandin("libnvrtc.so.13");
  }
  static Tensor OnDevice(int64_t size, double first, int32_t device = 0) {
    Tensor host = Tensor::Empty({size}, DataType::Float(32));
    for (int64_t i = 0; i < size; ++i) SetElement(host, i, first + static_cast<double>(i));
    return host.CopyTo({2, device});
  }
  static void ExpectAdds(const ffi::Module& module, int32_t device = 0) {
    const int64_t n = 1000;
    Tensor a = OnDevice(n, 0, device), b = OnDevice(n, 5, device), c = OnDevice(n, -1, device);
    module->GetFunction("vector_add")(device, a->data(), b->data(), c->data(), n, 0.5,
                                      (n + 63) / 64, 64);
    Tensor host = c.CopyTo({kTernDeviceCpu, 0});
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(GetElement(host, i), (2.0 * static_cast<double>(i) + 5) / 2);
  }
};

TEST_F(CudaTest, DescribesItsDevices) {
  EXPECT_EQ(GetDeviceKind("cuda").Count(), 2);
  ffi::Map properties = GetDeviceKind("cuda").Describe(1);
  EXPECT_EQ(properties->Find("name")->As<std::string>(), "Tern stand-in");
  EXPECT_EQ(properties->Find("arch")->As<std::string>(), "sm_90");
  EXPECT_EQ(properties->Find("max_threads")->As<int64_t>(), 1024);
}

TEST_F(CudaTest, RunsAKernelSavesAndLoadsIt) {
  ffi::Module module = CreateDeviceModule(VectorAdd());
  ExpectAdds(module);
  ExpectAdds(LoadDeviceModule("cuda", module->SaveToBytes()));
}

TEST_F(CudaTest, AModuleRunsOnEachDevice) {
  ffi::Module module = CreateDeviceModule(VectorAdd());
  for (int32_t device : {0, 1, 0}) ExpectAdds(module, device);
  EXPECT_NE(ErrorOf([&] { OnDevice(1, 0, 2); }).find("no such device: cuda:2; there are 2"),
            std::string::npos);
}

TEST_F(CudaTest, CopiesBetweenDevices) {
  Tensor there = OnDevice(8, 3, 0).CopyTo({2, 1}), host = there.CopyTo({kTernDeviceCpu, 0});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(GetElement(host, i), 3 + i);
}

TEST_F(CudaTest, CopiesOfPageLockedMemoryGoOnByThemselves) {
  Tensor from = Tensor::EmptyPageLocked({4}, DataType::Float(32), {2, 0});
  Tensor to = Tensor::EmptyPageLocked({4}, DataType::Float(32), {2, 0});
  Tensor device = Tensor::Empty({4}, DataType::Float(32), {2, 0});
  for (int64_t i = 0; i < 4; ++i) SetElement(from, i, static_cast<double>(i));
  CopyAsync(from, device);
  CopyAsync(device, to);
  // The stand-in does nothing before it is waited for.
  EXPECT_TRUE(std::isnan(GetElement(to, 3)));
  GetDeviceKind("cuda").Synchronize(0);
  EXPECT_EQ(GetElement(to, 3), 3);

  Tensor other = Tensor::Empty({4}, DataType::Float(32), {2, 1});
  EXPECT_EQ(ErrorOf([&] { CopyAsync(device, other); }),
            "a copy from cuda:0 to cuda:1 goes through the host; copy there first");
  Tensor longer = Tensor::Empty({5}, DataType::Float(32));
  EXPECT_EQ(ErrorOf([&] { CopyAsync(device, longer); }),
            "a float32 tensor of shape (4) cannot be copied to a float32 tensor of shape (5)");
}

TEST_F(CudaTest, ThreadsShareAModule) {
  ffi::Module module = CreateDeviceModule(VectorAdd());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) ExpectAdds(module, i % 2);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CudaTest, StreamsAndEvents) {
  EXPECT_GT(GetDeviceKind("cuda").Memory(0).total_bytes, 0u);
  const TernDevice device{2, 0};
  ffi::Function add = CreateDeviceModule(VectorAdd())->GetFunction("vector_add");
  const int64_t n = 1000;
  Tensor a = OnDevice(n, 0), b = OnDevice(n, 5), c = OnDevice(n, -1);
  Stream first(device), second(device);
  Event start(device), done(device);
  {
    StreamScope scope(first);
    start.Record();
    add(0, a->data(), b->data(), c->data(), n, 0.5, (n + 63) / 64, 64);
    done.Record();
  }
  StreamScope scope(second);
  done.HoldCurrentStream();
  add(0, c->data(), c->data(), a->data(), n, 1.0, (n + 63) / 64, 64);
  second.Synchronize();
  Tensor host = a.CopyTo({kTernDeviceCpu, 0});
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(GetElement(host, i), 2.0 * static_cast<double>(i) + 5);
  EXPECT_GE(Event::SecondsBetween(start, done), 0);
  EXPECT_EQ(ErrorOf([&] { Event::SecondsBetween(start, Event(device)); }),
            "an event that was never recorded has no time");
}

// A launch neither allocates nor waits, so it can be captured.
TEST_F(CudaTest, LaunchesAreCaptured) {
  auto begin = cuda::FindIn<int (*)(void*, int)>("libcuda.so.1", "cuStreamBeginCapture_v2");
  auto end = cuda::FindIn<int (*)(void*, void**)>("libcuda.so.1", "cuStreamEndCapture");
  auto launch = cuda::FindIn<int (*)(void*, void*)>("libcuda.so.1", "cuGraphLaunch");
  auto destroy = cuda::FindIn<int (*)(void*)>("libcuda.so.1", "cuGraphDestroy");
  const cuda::cu::Functions& driver = cuda::StandinDriver();
  const TernDevice device{2, 0};
  ffi::Module module = CreateDeviceModule(VectorAdd());
  ExpectAdds(module);  // the program is made at the first use
  ffi::Function add = module->GetFunction("vector_add");
  Tensor a = OnDevice(8, 0), b = OnDevice(8, 1);
  Stream stream(device);
  cuda::cu::Context context = nullptr;
  ASSERT_EQ(driver.PrimaryContextRetain(&context, 0), 0);
  ASSERT_EQ(driver.ContextPush(context), 0);
  void* graph = nullptr;
  ASSERT_EQ(begin(stream.handle(), 0), 0);
  {
    StreamScope scope(stream);
    add(0, a->data(), b->data(), a->data(), 8, 1.0, 1, 8);
  }
  EXPECT_EQ(cuda::TextOf(end(stream.handle(), &graph)), "");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(launch(graph, stream.handle()), 0);
  stream.Synchronize();
  Tensor host = a.CopyTo({kTernDeviceCpu, 0});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(GetElement(host, i), i + 3 * (i + 1));
  EXPECT_EQ(destroy(graph), 0);
  EXPECT_EQ(driver.ContextPop(&context), 0);
}

// What is in the cache is not compiled; what is damaged there is.
TEST_F(CudaTest, ProgramsAreCompiledOnce) {
  TempDirectory cache;
  ScopedVariable on("TERN_CACHE", "1"), place("TERN_CACHE_DIR", cache.path());
  auto compiled = cuda::FindIn<int (*)()>("libnvrtc.so.13", "tern_standin_compiled");
  auto count = [&] {
    int before = compiled();
    ExpectAdds(CreateDeviceModule(VectorAdd()));
    return compiled() - before;
  };
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(count(), 0);
  auto file = std::filesystem::directory_iterator(cache.path())->path();
  std::filesystem::resize_file(file, 1000);
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(count(), 0);
  ScopedVariable off("TERN_CACHE", "0");
  EXPECT_EQ(count(), 1);
}

TEST_F(CudaTest, CompilersLogIsInTheError) {
  DeviceArtifact artifact = VectorAdd();
  artifact.payload[""] = "extern \"C\" __global__ void vector_add(float* a) { a[0] = nonsense; }";
  Tensor a = OnDevice(1, 0);
  std::string error = ErrorOf([&] {
    CreateDeviceModule(artifact)->GetFunction("vector_add")(0, a->data(), a->data(), a->data(), 1,
                                                            1.0, 1, 1);
  });
  EXPECT_EQ(error.find("NVRTC does not compile the program for sm_90a:\n"), 0u) << error;
  EXPECT_NE(error.find("nonsense"), std::string::npos) << error;
}

TEST_F(CudaTest, LimitsAreNamed) {
  Tensor a = OnDevice(1, 0);
  ffi::Function add = CreateDeviceModule(VectorAdd())->GetFunction("vector_add");
  auto launch = [&](int64_t blocks, int64_t threads) {
    return ErrorOf([&] { add(0, a->data(), a->data(), a->data(), 1, 1.0, blocks, threads); });
  };
  EXPECT_EQ(launch(1, 1 << 20),
            "kernel vector_add: grid (1, 1, 1), block (1048576, 1, 1): block axis x has 1048576 "
            "threads; cuda:0 allows 1024");
  EXPECT_EQ(launch(int64_t{1} << 31, 1),
            "kernel vector_add: grid (2147483648, 1, 1), block (1, 1, 1): grid axis x has "
            "2147483648 blocks; cuda:0 allows 2147483647");
}

TEST_F(CudaTest, WrongArgumentsAndFormatsAreRefused) {
  Tensor a = OnDevice(1, 0);
  DeviceArtifact artifact = VectorAdd();
  artifact.fmap["vector_add"].args.pop_back();
  EXPECT_EQ(ErrorOf([&] {
              CreateDeviceModule(artifact)->GetFunction("vector_add")(0, a->data(), a->data(),
                                                                      a->data(), 1, 1, 1);
            }),
            "kernel vector_add: grid (1, 1, 1), block (1, 1, 1): the kernel takes 5 arguments, 4 "
            "are given");
  artifact = VectorAdd();
  artifact.fmap["vector_add"].args.back() = DataType::Float(64);
  EXPECT_EQ(ErrorOf([&] {
              CreateDeviceModule(artifact)->GetFunction("vector_add")(0, a->data(), a->data(),
                                                                      a->data(), 1, 1.0, 1, 1);
            }),
            "kernel vector_add: grid (1, 1, 1), block (1, 1, 1): argument 4 of the kernel has 4 "
            "bytes, 8 are given");
  artifact = VectorAdd();
  artifact.fmap["other"] = {};
  EXPECT_EQ(ErrorOf([&] { CreateDeviceModule(artifact)->GetFunction("other")(0); }),
            "cuda:0: the program has no kernel other");
  artifact.fmt = "cl";
  EXPECT_EQ(ErrorOf([&] { CreateDeviceModule(artifact)->GetFunction("other")(0); }),
            "the cuda runtime does not take programs in format cl: cuda, ptx and cubin are legal");
  artifact.fmt = "cubin";
  EXPECT_NE(ErrorOf([&] {
              CreateDeviceModule(artifact)->GetFunction("other")(0);
            }).find("does not take the cubin code"),
            std::string::npos);
}

}  // namespace
}  // namespace tern::runtime
