// SPDX-License-Identifier: Apache-2.0
//
// The plugin from outside, through the runtime, on whatever OpenCL device there is.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tern/backend/opencl/runtime/opencl_abi.h"
#include "tern/runtime/kernel/program_cache.h"
#include "tern/runtime/test_data/device_plugin_test.h"

namespace tern::backend::opencl::cl {
namespace {

// The driver's first device, without the plugin.
struct FirstDevice {
  Functions functions;
  Device id = nullptr;

  FirstDevice() {
    void* library = dlopen("libOpenCL.so.1", RTLD_NOW);
#define TERN_OPENCL_FIND(name, result, ...) \
  functions.name = reinterpret_cast<result (*)(__VA_ARGS__)>(dlsym(library, "cl" #name));
    TERN_OPENCL_FUNCTIONS(TERN_OPENCL_FIND)
#undef TERN_OPENCL_FIND
    Platform platform = nullptr;
    functions.GetPlatformIDs(1, &platform, nullptr);
    functions.GetDeviceIDs(platform, kDeviceTypeAll, 1, &id, nullptr);
  }

  std::string Text(UInt property) const {
    size_t size = 0;
    functions.GetDeviceInfo(id, property, 0, nullptr, &size);
    std::string text(size, '\0');
    functions.GetDeviceInfo(id, property, size, text.data(), nullptr);
    return text.substr(0, text.find('\0'));
  }

  bool IsCpu() const {
    Bits type = 0;
    functions.GetDeviceInfo(id, kDeviceType, sizeof type, &type, nullptr);
    return (type & kDeviceTypeCpu) != 0;
  }

  // What the driver makes of a program: the way of those who ship binaries.
  std::string MakeBinary(const char* source) const {
    Int code = 0;
    Context context = functions.CreateContext(nullptr, 1, &id, nullptr, nullptr, &code);
    Program program = functions.CreateProgramWithSource(context, 1, &source, nullptr, &code);
    EXPECT_EQ(functions.BuildProgram(program, 1, &id, "", nullptr, nullptr), kSuccess);
    size_t size = 0;
    functions.GetProgramInfo(program, kProgramBinarySizes, sizeof size, &size, nullptr);
    std::string binary(size, '\0');
    char* bytes = binary.data();
    functions.GetProgramInfo(program, kProgramBinaries, sizeof bytes, &bytes, nullptr);
    functions.ReleaseProgram(program);
    return binary;
  }

  // Of a program, in the cache of programs.
  std::string KeyOf(const char* source) const {
    std::string device = Text(kDeviceName), vendor = Text(kDeviceVendor),
                version = Text(kDeviceVersion), driver = Text(kDriverVersion);
    return runtime::ProgramCache::KeyOf(
        "opencl", {{"source", source},
                   {"options", IsCpu() ? "-cl-std=CL1.2 -DTERN_CPU" : "-cl-std=CL1.2"},
                   {"device", device},
                   {"vendor", vendor},
                   {"version", version},
                   {"driver", driver}});
  }
};

}  // namespace
}  // namespace tern::backend::opencl::cl

namespace tern::runtime {
namespace {

using backend::opencl::cl::FirstDevice;

constexpr const char* kSource = R"(
__kernel void vector_add(__global const float* a, __global const float* b, __global float* c, int n, float scale) {
  int i = get_global_id(0);
  if (i < n) c[i] = (a[i] + b[i]) * scale;
}
)";

// A process of its own, where the driver's loader finds no driver: the plugin loads, and has no
// devices.
TEST(OpenClDeathTest, WithoutADriverThereAreNoDevices) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
        LoadPlugin("opencl");
        std::fputs(ErrorOf([] { GetDeviceKind("opencl").Alloc(0, 1, 1); }).c_str(), stderr);
        std::exit(GetDeviceKind("opencl").Count());
      },
      testing::ExitedWithCode(0), "no such device: opencl:0; libOpenCL.so.1 ");
}

struct OpenCl {
  static constexpr const char* kKind = "opencl";
  // The driver reads the place of its compilation cache once: it is this process's own, so that no
  // run sees another's.
  static void Open() {
    static TempDirectory cache;
    setenv("POCL_CACHE_DIR", cache.path().c_str(), 1);
    setenv("TERN_CACHE", "0", 1);
  }
  static std::string WhyNot() {
    return GetDeviceKind(kKind).Count() == 0 ? "no OpenCL device" : "";
  }
  static DeviceArtifact VectorAdd() {
    DeviceArtifact artifact{.kind = kKind, .fmt = "cl"};
    artifact.fmap["vector_add"] = VectorAddInfo();
    artifact.payload[""] = kSource;
    return artifact;
  }
};
using OpenClTest = DevicePluginTest<OpenCl>;
INSTANTIATE_TYPED_TEST_SUITE_P(OpenCl, DevicePluginTest, OpenCl);

TEST_F(OpenClTest, TakesTheBinariesOfItsDriver) {
  if (GetDeviceKind("opencl").Count() > 1) GTEST_SKIP() << "SKIPPED: several OpenCL devices";
  DeviceArtifact artifact = OpenCl::VectorAdd();
  artifact.fmt = "clbin";
  artifact.payload[""] = FirstDevice().MakeBinary(kSource);
  ffi::Module module = CreateDeviceModule(artifact);
  ExpectAdds(module);
  ExpectAdds(LoadDeviceModule("opencl", module->SaveToBytes()));
}

// What is in the cache is not compiled; what is damaged there is. Programs of processors are not
// put there: their drivers would compile all kernels once more for that.
TEST_F(OpenClTest, CachesPrograms) {
  if (GetDeviceKind("opencl").Count() > 1) GTEST_SKIP() << "SKIPPED: several OpenCL devices";
  TempDirectory directory;
  ScopedVariable on("TERN_CACHE", "1"), place("TERN_CACHE_DIR", directory.path());
  ProgramCache cache(directory.path(), 1 << 30);
  FirstDevice device;
  std::string key = device.KeyOf(kSource);
  ExpectAdds(CreateDeviceModule(OpenCl::VectorAdd()));
  EXPECT_EQ(cache.Find(key).has_value(), !device.IsCpu());

  // Another program in its place is what runs.
  std::string other = kSource;
  other.replace(other.find("* scale"), 7, "* 0.0f ");
  cache.Store(key, device.MakeBinary(other.c_str()));
  Tensor a = OnDevice(1, 3), c = OnDevice(1, 7);
  VectorAdd()(0, a->data(), a->data(), c->data(), 1, 1.0, 1, 1);
  EXPECT_EQ(GetElement(c.CopyTo({kTernDeviceCpu, 0}), 0), 0);

  cache.Store(key, "no program");
  ExpectAdds(CreateDeviceModule(OpenCl::VectorAdd()));
  std::filesystem::directory_iterator files(directory.path());
  std::filesystem::resize_file(files->path(), 10);
  ExpectAdds(CreateDeviceModule(OpenCl::VectorAdd()));
}

TEST_F(OpenClTest, BuildLogIsInTheError) {
  DeviceArtifact artifact = OpenCl::VectorAdd();
  artifact.payload[""] = "__kernel void vector_add(__global float* a) { a[0] = nonsense; }";
  std::string error = LaunchError(artifact, 1, 1);
  EXPECT_NE(error.find("does not compile the program"), std::string::npos) << error;
  EXPECT_NE(error.find("nonsense"), std::string::npos) << error;
}

TEST_F(OpenClTest, TooLargeABlockNamesTheLimit) {
  std::string error = LaunchError(OpenCl::VectorAdd(), 1, 1 << 20);
  EXPECT_EQ(error.find("kernel vector_add: grid (1, 1, 1), block (1048576, 1, 1): "), 0u) << error;
  EXPECT_NE(error.find(" (CL_"), std::string::npos) << error;
}

TEST_F(OpenClTest, WrongArgumentsAndFormatsAreRefused) {
  Tensor a = OnDevice(1, 0);
  DeviceArtifact artifact = OpenCl::VectorAdd();
  artifact.fmap["vector_add"].args.pop_back();
  EXPECT_EQ(ErrorOf([&] {
              CreateDeviceModule(artifact)->GetFunction("vector_add")(0, a->data(), a->data(),
                                                                      a->data(), 1, 1, 1);
            }),
            "kernel vector_add: grid (1, 1, 1), block (1, 1, 1): the kernel takes 5 arguments, 4 "
            "are given");
  artifact = OpenCl::VectorAdd();
  artifact.fmap["other"] = {};
  EXPECT_EQ(ErrorOf([&] { CreateDeviceModule(artifact)->GetFunction("other")(0); }),
            "opencl:0: the program has no kernel other");
  artifact.fmt = "ptx";
  EXPECT_EQ(ErrorOf([&] { CreateDeviceModule(artifact)->GetFunction("other")(0); }),
            "the opencl runtime does not take programs in format ptx: cl, clbin, xclbin, awsxclbin "
            "and aocx are legal");
  for (const char* format : {"clbin", "xclbin", "awsxclbin", "aocx"}) {
    artifact.fmt = format;
    std::string error = ErrorOf([&] { CreateDeviceModule(artifact)->GetFunction("other")(0); });
    EXPECT_NE(error.find("does not take the " + std::string(format) + " binary"), std::string::npos)
        << error;
  }
}

}  // namespace
}  // namespace tern::runtime
