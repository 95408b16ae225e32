// SPDX-License-Identifier: Apache-2.0
//
// The plugin from outside, through the runtime, on two devices of the stand-in driver.
#include <cmath>
#include <filesystem>

#include "tern/backend/cuda/test/standin_fixture.h"
#include "tern/runtime/host/workspace.h"
#include "tern/runtime/test_data/device_plugin_test.h"

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

struct Cuda {
  static constexpr const char* kKind = "cuda";
  static void Open() {
    setenv("TERN_CACHE", "0", 0);
    backend::cuda::OpenStandin("libcuda.so.1");
    backend::cuda::OpenStandin("libnvrtc.so.13");
  }
  static std::string WhyNot() { return ""; }
  static DeviceArtifact VectorAdd() {
    DeviceArtifact artifact{.kind = kKind, .fmt = "cuda"};
    artifact.fmap["vector_add"] = VectorAddInfo();
    artifact.payload[""] = kSource;
    return artifact;
  }
};
using CudaTest = DevicePluginTest<Cuda>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, DevicePluginTest, Cuda);

TEST_F(CudaTest, DescribesItsDevices) {
  EXPECT_EQ(GetDeviceKind("cuda").Count(), 2);
  ffi::Map properties = GetDeviceKind("cuda").Describe(1);
  EXPECT_EQ(properties->Find("name")->As<std::string>(), "Tern stand-in");
  EXPECT_EQ(properties->Find("arch")->As<std::string>(), "sm_90");
  EXPECT_EQ(properties->Find("max_threads")->As<int64_t>(), 1024);
}

TEST_F(CudaTest, CopiesOfPageLockedMemoryGoOnByThemselves) {
  Tensor from = Tensor::EmptyPageLocked({4}, DataType::Float(32), DeviceAt(0));
  Tensor to = Tensor::EmptyPageLocked({4}, DataType::Float(32), DeviceAt(0));
  Tensor device = Tensor::Empty({4}, DataType::Float(32), DeviceAt(0));
  for (int64_t i = 0; i < 4; ++i) SetElement(from, i, static_cast<double>(i));
  CopyAsync(from, device);
  CopyAsync(device, to);
  // The stand-in does nothing before it is waited for.
  EXPECT_TRUE(std::isnan(GetElement(to, 3)));
  GetDeviceKind("cuda").Synchronize(0);
  EXPECT_EQ(GetElement(to, 3), 3);

  Tensor other = Tensor::Empty({4}, DataType::Float(32), DeviceAt(1));
  EXPECT_EQ(ErrorOf([&] { CopyAsync(device, other); }),
            "a copy from cuda:0 to cuda:1 goes through the host; copy there first");
  Tensor longer = Tensor::Empty({5}, DataType::Float(32));
  EXPECT_EQ(ErrorOf([&] { CopyAsync(device, longer); }),
            "a float32 tensor of shape (4) cannot be copied to a float32 tensor of shape (5)");
}

// The stand-in's next call of a function fails.
void FailNext(const std::string& function) {
  backend::cuda::FindIn<void (*)(const char*)>("libcuda.so.1",
                                               "tern_standin_fail")(function.c_str());
}

// Whichever call of the driver fails: an error that names it, nothing is left, and the next try
// works.
TEST_F(CudaTest, GraphsSayWhichCallFailed) {
  const TernDevice device = DeviceAt(0);
  ffi::Module module = CreateDeviceModule(Cuda::VectorAdd());
  LoadKernels(module, device);
  ffi::Function add = module->GetFunction("vector_add");
  Tensor a = OnDevice(8, 0), b = OnDevice(8, 1);
  Stream stream(device);
  auto leaks = backend::cuda::FindIn<int (*)()>("libcuda.so.1", "tern_standin_graphs");
  auto record = [&] { Add(add, a, b, a, 8, 1.0); };
  auto use = [&] {
    Capture capture(stream);
    record();
    WorkspaceFrame call;
    TERN_CHECK(AllocWorkspace(device, 16, 16)) << "no temporary memory";
    Graph graph(capture);
    Capture other(stream);
    record();
    graph.Update(other);
    StreamScope scope(stream);
    graph.Launch();
    graph.Destroy();
  };
  for (std::string function :
       {"cuCtxGetCurrent", "cuStreamBeginCapture", "cuLaunchKernel", "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags", "cuGraphExecUpdate", "cuGraphLaunch", "cuGraphDestroy",
        "cuGraphExecDestroy"}) {
    SCOPED_TRACE(function);
    FailNext(function);
    std::string error = ErrorOf(use);
    if (function == "cuCtxGetCurrent")
      EXPECT_EQ(error, "no error");  // it is made current then
    else
      EXPECT_NE(error.find(function + " failed: CUDA_ERROR_UNKNOWN (999: " + function),
                std::string::npos)
          << error;
    EXPECT_EQ(leaks(), 0);
    EXPECT_EQ(CurrentStream(device), nullptr);
    EXPECT_EQ(ErrorOf(use), "no error");
    EXPECT_EQ(leaks(), 0);
  }
  FailNext("cuThreadExchangeStreamCaptureMode");
  EXPECT_EQ(ErrorOf(use), "no temporary memory");
  EXPECT_EQ(ErrorOf(use), "no error");
  EXPECT_EQ(leaks(), 0);
}

// What cannot be recorded is an error, where it is called and when the recording ends.
TEST_F(CudaTest, WhatWaitsIsNotRecorded) {
  Stream stream(DeviceAt(0));
  Tensor a = OnDevice(8, 0);
  testing::internal::CaptureStderr();  // the stand-in prints what no program should do
  Capture capture(stream);
  EXPECT_NE(ErrorOf([&] { stream.Synchronize(); }).find("cuStreamSynchronize failed"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] {
              Graph{capture};
            }).find("cuStreamEndCapture failed: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"),
            std::string::npos);
  // A program is loaded ahead.
  ffi::Module module = CreateDeviceModule(Cuda::VectorAdd());
  {
    Capture first(stream);
    EXPECT_NE(ErrorOf([&] {
                Add(module->GetFunction("vector_add"), a, a, a, 8, 1.0);
              }).find("cuModuleLoadData failed"),
              std::string::npos);
  }
  testing::internal::GetCapturedStderr();
  LoadKernels(module, DeviceAt(0));
  Capture again(stream);
  Add(module->GetFunction("vector_add"), a, a, a, 8, 1.0);
  Graph graph(again);
  graph.Launch();
  EXPECT_EQ(ValuesOf(a)[3], 6);
}

TEST_F(CudaTest, LoadingSaysWhichCallFailed) {
  ffi::Module module = CreateDeviceModule(Cuda::VectorAdd());
  for (std::string function : {"cuModuleLoadData", "cuFuncLoad", "cuFuncGetAttribute"}) {
    FailNext(function);
    std::string error = ErrorOf([&] { LoadKernels(module, DeviceAt(0)); });
    EXPECT_EQ(error.find(function + " failed: CUDA_ERROR_UNKNOWN"), 0u) << error;
  }
  ExpectAdds(module);
}

// What a launch asks for beyond sizes and arguments.
TEST_F(CudaTest, FlagsOfLaunches) {
  Tensor a = OnDevice(8, 0), b = OnDevice(8, 1);  // loads the plugin
  const KernelLoader& loader = *FindKernelLoader("cuda");
  void* program = loader.Load(0, "cuda", Cuda::VectorAdd().payload);
  void* kernel = loader.GetKernel(program, "vector_add");
  void *from = a->data(), *to = b->data();
  int n = 8;
  float scale = 2;
  const void* args[] = {&from, &from, &to, &n, &scale};
  const uint64_t sizes[] = {8, 8, 8, 4, 4};
  const uint8_t kinds[] = {kTernArgMemory, kTernArgMemory, kTernArgMemory, kTernArgNumber,
                           kTernArgNumber};
  TernLaunch launch{.grid = {1, 1, 1},
                    .block = {8, 1, 1},
                    .num_args = 5,
                    .args = args,
                    .arg_sizes = sizes,
                    .arg_is_memory = kinds,
                    .size = sizeof(TernLaunch),
                    .version = TERN_PLUGIN_API_VERSION,
                    .arg_kinds = kinds,
                    .cluster = {1, 1, 1},
                    .flags = kTernLaunchOverlap};
  loader.Launch(kernel, launch);
  EXPECT_EQ(ValuesOf(b)[3], 12);
  FailNext("cuLaunchKernelEx");
  EXPECT_EQ(ErrorOf([&] { loader.Launch(kernel, launch); }),
            "cuLaunchKernelEx failed: CUDA_ERROR_UNKNOWN (999: cuLaunchKernelEx: told to fail)");
  const uint64_t shape[] = {2, 4}, strides[] = {36, 4};
  const uint32_t box[] = {2, 4};
  TernTensorMap map{.memory = from,
                    .offset = 0,
                    .dtype = DataType::Float(32).raw(),
                    .ndim = 2,
                    .swizzle = 0,
                    .shape = shape,
                    .strides = strides,
                    .box = box};
  const uint8_t map_kinds[] = {kTernArgTensorMap, kTernArgMemory, kTernArgMemory, kTernArgNumber,
                               kTernArgNumber};
  args[0] = &map;
  launch.arg_kinds = map_kinds;
  launch.flags = kTernLaunchOverlap | kTernLaunchTensorMaps;
  EXPECT_EQ(ErrorOf([&] { loader.Launch(kernel, launch); }),
            "cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE (1: cuTensorMapEncodeTiled: a "
            "stride is no multiple of 16 bytes)");
  loader.Unload(program);
}

TEST_F(CudaTest, ClustersAreLaunched) {
  DeviceArtifact artifact = Cuda::VectorAdd();
  artifact.fmap["vector_add"].launch_tags.emplace_back("clusterIdx.x");
  ffi::Function add = CreateDeviceModule(artifact)->GetFunction("vector_add");
  Tensor a = OnDevice(8, 0), b = OnDevice(8, 1);
  add(0, a->data(), b->data(), a->data(), 8, 1.0, 4, 2, 2);
  EXPECT_EQ(ValuesOf(a)[7], 15);
  EXPECT_EQ(
      ErrorOf([&] { add(0, a->data(), b->data(), a->data(), 8, 1.0, 4, 2, 3); }),
      "kernel vector_add: grid (4, 1, 1), block (2, 1, 1), cluster (3, 1, 1): grid axis x has "
      "4 blocks, which are no whole clusters of 3");
}

// What is in the cache is not compiled; what is damaged there is.
TEST_F(CudaTest, ProgramsAreCompiledOnce) {
  TempDirectory cache;
  ScopedVariable on("TERN_CACHE", "1"), place("TERN_CACHE_DIR", cache.path());
  auto compiled = backend::cuda::FindIn<int (*)()>("libnvrtc.so.13", "tern_standin_compiled");
  auto count = [&] {
    int before = compiled();
    ExpectAdds(CreateDeviceModule(Cuda::VectorAdd()));
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

// A program for each kernel: one is compiled when it is needed, or all at once, and they are kept
// on disk one by one.
TEST_F(CudaTest, ManyProgramsAreCompiledTogether) {
  TempDirectory cache;
  ScopedVariable on("TERN_CACHE", "1"), place("TERN_CACHE_DIR", cache.path());
  auto compiled = backend::cuda::FindIn<int (*)()>("libnvrtc.so.13", "tern_standin_compiled");
  DeviceArtifact artifact = Cuda::VectorAdd();
  artifact.payload = {{"vector_add", kSource}};
  for (const char* name : {"b", "c", "d"}) {
    artifact.fmap[name] = VectorAddInfo();
    std::string source = kSource;
    artifact.payload[name] = source.replace(source.find("vector_add"), 10, name);
  }
  int before = compiled();
  ExpectAdds(CreateDeviceModule(artifact));
  EXPECT_EQ(compiled() - before, 1);
  TernDevice device = DeviceAt(0);
  LoadKernels(CreateDeviceModule(artifact), device);
  EXPECT_EQ(compiled() - before, 4);
  ExpectAdds(CreateDeviceModule(artifact));
  LoadKernels(CreateDeviceModule(artifact), device);
  EXPECT_EQ(compiled() - before, 4);
  artifact.payload["c"] += "// changed";
  LoadKernels(CreateDeviceModule(artifact), device);
  EXPECT_EQ(compiled() - before, 5);
  artifact.payload["d"] = "nonsense";
  ExpectAdds(CreateDeviceModule(artifact));
  std::string error = ErrorOf([&] { LoadKernels(CreateDeviceModule(artifact), device); });
  EXPECT_EQ(error.find("NVRTC does not compile the program for sm_90a:\n"), 0u) << error;
}

TEST_F(CudaTest, CompilersLogIsInTheError) {
  DeviceArtifact artifact = Cuda::VectorAdd();
  artifact.payload[""] = "extern \"C\" __global__ void vector_add(float* a) { a[0] = nonsense; }";
  std::string error = LaunchError(artifact, 1, 1);
  EXPECT_EQ(error.find("NVRTC does not compile the program for sm_90a:\n"), 0u) << error;
  EXPECT_NE(error.find("nonsense"), std::string::npos) << error;
}

TEST_F(CudaTest, LimitsAreNamed) {
  EXPECT_EQ(LaunchError(Cuda::VectorAdd(), 1, 1 << 20),
            "kernel vector_add: grid (1, 1, 1), block (1048576, 1, 1): block axis x has 1048576 "
            "threads; cuda:0 allows 1024");
  EXPECT_EQ(LaunchError(Cuda::VectorAdd(), int64_t{1} << 31, 1),
            "kernel vector_add: grid (2147483648, 1, 1), block (1, 1, 1): grid axis x has "
            "2147483648 blocks; cuda:0 allows 2147483647");
}

TEST_F(CudaTest, WrongArgumentsAndFormatsAreRefused) {
  Tensor a = OnDevice(1, 0);
  DeviceArtifact artifact = Cuda::VectorAdd();
  artifact.fmap["vector_add"].args.pop_back();
  EXPECT_EQ(ErrorOf([&] {
              CreateDeviceModule(artifact)->GetFunction("vector_add")(0, a->data(), a->data(),
                                                                      a->data(), 1, 1, 1);
            }),
            "kernel vector_add: grid (1, 1, 1), block (1, 1, 1): the kernel takes 5 arguments, 4 "
            "are given");
  artifact = Cuda::VectorAdd();
  artifact.fmap["vector_add"].args.back() = DataType::Float(64);
  EXPECT_EQ(ErrorOf([&] {
              CreateDeviceModule(artifact)->GetFunction("vector_add")(0, a->data(), a->data(),
                                                                      a->data(), 1, 1.0, 1, 1);
            }),
            "kernel vector_add: grid (1, 1, 1), block (1, 1, 1): argument 4 of the kernel has 4 "
            "bytes, 8 are given");
  artifact = Cuda::VectorAdd();
  artifact.fmap["other"] = {};
  EXPECT_EQ(ErrorOf([&] { CreateDeviceModule(artifact)->GetFunction("other")(0); }),
            "cuda:0: the program has no kernel other");
  artifact.fmt = "cl";
  EXPECT_EQ(ErrorOf([&] { CreateDeviceModule(artifact)->GetFunction("other")(0); }),
            "the cuda runtime does not take programs in format cl: cuda, ptx, cubin and "
            "cublaslt are legal");
  artifact.fmt = "cubin";
  EXPECT_NE(ErrorOf([&] {
              CreateDeviceModule(artifact)->GetFunction("other")(0);
            }).find("the cubin code is damaged: it is no ELF file"),
            std::string::npos);
}

}  // namespace
}  // namespace tern::runtime
