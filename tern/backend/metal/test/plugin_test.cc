// SPDX-License-Identifier: Apache-2.0
//
// The plugin from outside, through the runtime, on two devices of the stand-in.
#include "tern/backend/metal/test/standin_fixture.h"
#include "tern/runtime/test_data/device_plugin_test.h"

// For the thread sanitizer, which does not see the lock of the stand-in, but what it does to memory
// by the C library.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libobjc.A.dylib\n"; }

namespace tern::runtime {
namespace {

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

int Live(const char* name) {
  return backend::metal::FindInStandin<int (*)(const char*)>("tern_standin_live")(name);
}

struct Metal {
  static constexpr const char* kKind = "metal";
  static void Open() { backend::metal::OpenStandin(); }
  static std::string WhyNot() { return ""; }
  static DeviceArtifact VectorAdd() {
    DeviceArtifact artifact{.kind = kKind, .fmt = "metal"};
    artifact.fmap["vector_add"] = VectorAddInfo();
    artifact.payload["vector_add"] = kSource;
    return artifact;
  }
};
using MetalTest = DevicePluginTest<Metal>;
INSTANTIATE_TYPED_TEST_SUITE_P(Metal, DevicePluginTest, Metal);

TEST_F(MetalTest, DescribesItsDevices) {
  EXPECT_EQ(GetDeviceKind("metal").Count(), 2);
  ffi::Map properties = GetDeviceKind("metal").Describe(1);
  EXPECT_EQ(properties->Find("name")->As<std::string>(), "Tern stand-in");
  EXPECT_EQ(properties->Find("driver")->As<std::string>(), "Metal 3");
  EXPECT_EQ(properties->Find("max_threads")->As<int64_t>(), 1024);
  EXPECT_EQ(properties->Find("max_shared_memory")->As<int64_t>(), 32768);
}

TEST_F(MetalTest, TakesLibraries) {
  DeviceArtifact artifact = Metal::VectorAdd();
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
  DeviceArtifact artifact = Metal::VectorAdd();
  artifact.payload = {{"", kSource}};
  ExpectAdds(CreateDeviceModule(artifact));
}

TEST_F(MetalTest, NothingIsLeftBehind) {
  ExpectAdds(CreateDeviceModule(Metal::VectorAdd()));
  for (const char* name : {"MTLBuffer", "MTLLibrary", "MTLFunction", "MTLComputePipelineState",
                           "MTLCommandBuffer", "MTLComputeCommandEncoder", "MTLCompileOptions",
                           "MTLEvent", "NSString", "NSError", "OS_dispatch_data"})
    EXPECT_EQ(Live(name), 0) << name;
  int queues = Live("MTLCommandQueue");
  {
    Stream stream(DeviceAt(0));
  }
  EXPECT_EQ(Live("MTLCommandQueue"), queues);
}

TEST_F(MetalTest, CompilersLogIsInTheError) {
  DeviceArtifact artifact = Metal::VectorAdd();
  artifact.payload["vector_add"] =
      "kernel void vector_add(device float* a [[buffer(0)]]) { a[0] = nonsense; }";
  std::string error = ErrorOf([&] { ExpectAdds(CreateDeviceModule(artifact)); });
  EXPECT_NE(error.find("Metal does not compile the program for metal:0:\n"), std::string::npos);
  EXPECT_NE(error.find("nonsense"), std::string::npos) << error;
}

// What goes wrong on the device is told where it is waited for, once.
TEST_F(MetalTest, FailedKernelsAreTold) {
  ffi::Function add = VectorAdd();
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
  ffi::Function add = VectorAdd();
  EXPECT_EQ(ErrorOf([&] { add(0, a->data(), a->data(), a->data(), 1, 1.0, 1, 2048); }),
            "kernel vector_add: grid (1, 1, 1), block (2048, 1, 1): the block has 2048 threads; "
            "metal:0 allows 1024 for this kernel (maxTotalThreadsPerThreadgroup)");
  DeviceArtifact artifact = Metal::VectorAdd();
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
