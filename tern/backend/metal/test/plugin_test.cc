// SPDX-License-Identifier: Apache-2.0
//
// The plugin from outside, through the runtime, on two devices of the stand-in.
#include <thread>

#include "tern/backend/metal/test/standin_fixture.h"
#include "tern/runtime/device.h"
#include "tern/runtime/device_module.h"
#include "tern/runtime/stream.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_environment.h"

// For the thread sanitizer, which does not see the lock of the stand-in, but what it does to memory
// by the C library.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libobjc.A.dylib\n"; }

namespace tern::runtime {
namespace {

constexpr int32_t kMetal = 8;

constexpr const char* kSource = R"(// MSL 3.0
#include <metal_stdlib>
using namespace metal;
struct numbers { int n; float scale; };
kernel void vector_add(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                       device float* c [[buffer(2)]], constant numbers& x [[buffer(3)]],
                       uint i [[thread_position_in_grid]]) {
  if (int(i) < x.n) c[i] = (a[i] + b[i]) * x.scale;
}
)";

DeviceArtifact VectorAdd() {
  DeviceArtifact artifact{.kind = "metal", .fmt = "metal"};
  artifact.fmap["vector_add"] = {{DataType::Handle(), DataType::Handle(), DataType::Handle(),
                                  DataType::Int(32), DataType::Float(32)},
                                 {"blockIdx.x", "threadIdx.x"},
                                 0};
  artifact.payload["vector_add"] = kSource;
  return artifact;
}

class MetalTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { metal::OpenStandin(); }
  static int Live(const char* name) {
    return metal::FindInStandin<int (*)(const char*)>("tern_standin_live")(name);
  }
  static Tensor OnDevice(int64_t size, double first, int32_t device = 0) {
    Tensor host = Tensor::Empty({size}, DataType::Float(32));
    for (int64_t i = 0; i < size; ++i) SetElement(host, i, first + static_cast<double>(i));
    return host.CopyTo({kMetal, device});
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

TEST_F(MetalTest, DescribesItsDevices) {
  EXPECT_EQ(GetDeviceKind("metal").Count(), 2);
  ffi::Map properties = GetDeviceKind("metal").Describe(1);
  EXPECT_EQ(properties->Find("name")->As<std::string>(), "Tern stand-in");
  EXPECT_EQ(properties->Find("driver")->As<std::string>(), "Metal 3");
  EXPECT_EQ(properties->Find("max_threads")->As<int64_t>(), 1024);
  EXPECT_EQ(properties->Find("max_shared_memory")->As<int64_t>(), 32768);
}

TEST_F(MetalTest, RunsAKernelSavesAndLoadsIt) {
  ffi::Module module = CreateDeviceModule(VectorAdd());
  ExpectAdds(module);
  ExpectAdds(LoadDeviceModule("metal", module->SaveToBytes()));
}

TEST_F(MetalTest, TakesLibraries) {
  DeviceArtifact artifact = VectorAdd();
  artifact.fmt = "metallib";
  artifact.payload["vector_add"] = std::string("MTLB") + kSource;
  ExpectAdds(CreateDeviceModule(artifact));
  artifact.payload["vector_add"] = "something else";
  std::string error = ErrorOf([&] { ExpectAdds(CreateDeviceModule(artifact)); });
  EXPECT_NE(error.find("metal:0 does not take the metallib code: Invalid library file"),
            std::string::npos)
      << error;
}

TEST_F(MetalTest, OneProgramForAllKernels) {
  DeviceArtifact artifact = VectorAdd();
  artifact.payload = {{"", kSource}};
  ExpectAdds(CreateDeviceModule(artifact));
}

TEST_F(MetalTest, AModuleRunsOnEachDevice) {
  ffi::Module module = CreateDeviceModule(VectorAdd());
  for (int32_t device : {0, 1, 0}) ExpectAdds(module, device);
  EXPECT_NE(ErrorOf([&] { OnDevice(1, 0, 2); }).find("no such device: metal:2; there are 2"),
            std::string::npos);
}

TEST_F(MetalTest, NothingIsLeftBehind) {
  ExpectAdds(CreateDeviceModule(VectorAdd()));
  for (const char* name : {"MTLBuffer", "MTLLibrary", "MTLFunction", "MTLComputePipelineState",
                           "MTLCommandBuffer", "MTLComputeCommandEncoder", "MTLCompileOptions",
                           "MTLEvent", "NSString", "NSError", "OS_dispatch_data"})
    EXPECT_EQ(Live(name), 0) << name;
  int queues = Live("MTLCommandQueue");
  {
    Stream stream({kMetal, 0});
  }
  EXPECT_EQ(Live("MTLCommandQueue"), queues);
}

// Memory lives as long as work that uses it.
TEST_F(MetalTest, FreedWhileInUse) {
  ffi::Function add = CreateDeviceModule(VectorAdd())->GetFunction("vector_add");
  Tensor c = OnDevice(8, 0);
  {
    Tensor a = OnDevice(8, 0), b = OnDevice(8, 1);
    add(0, a->data(), b->data(), c->data(), 8, 1.0, 1, 8);
  }
  Tensor host = c.CopyTo({kTernDeviceCpu, 0});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(GetElement(host, i), 2 * i + 1);
}

TEST_F(MetalTest, ThreadsShareAModule) {
  ffi::Module module = CreateDeviceModule(VectorAdd());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) ExpectAdds(module, i % 2);
    });
  for (std::thread& thread : threads) thread.join();
}

// More than a queue has place for, before anybody waits.
TEST_F(MetalTest, ManyLaunches) {
  ffi::Function add = CreateDeviceModule(VectorAdd())->GetFunction("vector_add");
  Tensor a = OnDevice(8, 0), b = OnDevice(8, 1);
  for (int i = 0; i < 200; ++i) add(0, a->data(), b->data(), a->data(), 8, 1.0, 1, 8);
  Tensor host = a.CopyTo({kTernDeviceCpu, 0});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(GetElement(host, i), i + 200 * (i + 1));
}

TEST_F(MetalTest, StreamsAndEvents) {
  EXPECT_GT(GetDeviceKind("metal").Memory(0).total_bytes, 0u);
  const TernDevice device{kMetal, 0};
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

TEST_F(MetalTest, CompilersLogIsInTheError) {
  DeviceArtifact artifact = VectorAdd();
  artifact.payload["vector_add"] =
      "kernel void vector_add(device float* a [[buffer(0)]]) { a[0] = nonsense; }";
  std::string error = ErrorOf([&] { ExpectAdds(CreateDeviceModule(artifact)); });
  EXPECT_NE(error.find("Metal does not compile the program for metal:0:\n"), std::string::npos);
  EXPECT_NE(error.find("nonsense"), std::string::npos) << error;
}

// What goes wrong on the device is told where it is waited for, once.
TEST_F(MetalTest, FailedKernelsAreTold) {
  ffi::Function add = CreateDeviceModule(VectorAdd())->GetFunction("vector_add");
  Tensor a = OnDevice(8, 0);
  add(0, a->data(), a->data(), a->data(), 64, 1.0, 1, 64);
  std::string error = ErrorOf([&] { a.CopyTo({kTernDeviceCpu, 0}); });
  EXPECT_NE(error.find("a command buffer failed: kernel vector_add, block (0, 0, 0), thread (8, 0, "
                       "0): reads 4 bytes from byte 32 of 32"),
            std::string::npos)
      << error;
  EXPECT_EQ(GetElement(a.CopyTo({kTernDeviceCpu, 0}), 3), 6);
}

TEST_F(MetalTest, LimitsAndMistakesAreNamed) {
  Tensor a = OnDevice(1, 0);
  ffi::Function add = CreateDeviceModule(VectorAdd())->GetFunction("vector_add");
  EXPECT_EQ(ErrorOf([&] { add(0, a->data(), a->data(), a->data(), 1, 1.0, 1, 2048); }),
            "kernel vector_add: grid (1, 1, 1), block (2048, 1, 1): the block has 2048 threads; "
            "metal:0 allows 1024 for this kernel (maxTotalThreadsPerThreadgroup)");
  DeviceArtifact artifact = VectorAdd();
  artifact.fmap["other"] = {};
  artifact.payload = {{"", kSource}};
  EXPECT_EQ(ErrorOf([&] { CreateDeviceModule(artifact)->GetFunction("other")(0); }),
            "metal:0: the program has no kernel other");
  artifact.fmt = "cl";
  EXPECT_EQ(ErrorOf([&] { CreateDeviceModule(artifact)->GetFunction("other")(0); }),
            "the metal runtime does not take programs in format cl: metal and metallib are legal");
}

}  // namespace
}  // namespace tern::runtime
