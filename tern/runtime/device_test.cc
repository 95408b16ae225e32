// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/device.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tern/runtime/host/cpu_device.h"
#include "tern/runtime/plugin/plugin.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

TEST(Device, TheHostIsOne) {
  const DeviceKind& cpu = GetDeviceKind("cpu");
  EXPECT_EQ(cpu.device_type(), kTernDeviceCpu);
  EXPECT_EQ(cpu.Count(), 1);
  EXPECT_TRUE(cpu.Describe(0)->Find("name"));
  EXPECT_EQ(&GetDeviceKind(kTernDeviceCpu), &cpu);
  EXPECT_EQ(DeviceName({kTernDeviceCpu, 0}), "cpu:0");
}

TEST(Device, HostMemoryIsAligned) {
  const DeviceKind& cpu = GetDeviceKind("cpu");
  for (uint64_t alignment : {1, 64, 4096}) {
    void* memory = cpu.Alloc(0, 10, alignment);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0u);
    cpu.Free(0, memory);
  }
  // A large one may be in huge pages.
  void* large = cpu.Alloc(0, uint64_t{8} << 20, 64);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % (uint64_t{2} << 20), 0u);
  cpu.Free(0, large);
  EXPECT_NE(ErrorOf([&] { cpu.Alloc(0, uint64_t{1} << 62, 64); }).find("cannot allocate"),
            std::string::npos);
}

TEST(Device, WrongNumberSaysHowManyThereAre) {
  EXPECT_EQ(ErrorOf([] { GetDeviceKind("cpu").Describe(3); }),
            "no such device: cpu:3; there is one cpu device: cpu:0");
}

TEST(Device, OnlyTheDevicesThereAreCanBeUsed) {
  const DeviceKind& cpu = GetDeviceKind("cpu");
  std::string error = "no such device: cpu:7; there is one cpu device: cpu:0";
  EXPECT_EQ(ErrorOf([&] { cpu.Alloc(7, 8, 8); }), error);
  EXPECT_EQ(ErrorOf([&] { cpu.AllocHost(7, 8); }), error);
  EXPECT_EQ(ErrorOf([&] { cpu.Memory(7); }), error);
  EXPECT_EQ(ErrorOf([&] { cpu.CreateStream(7); }), error);
  EXPECT_EQ(ErrorOf([&] { cpu.CreateEvent(7); }), error);
  EXPECT_EQ(ErrorOf([&] { cpu.Alloc(-1, 8, 8); }),
            "no such device: cpu:-1; there is one cpu device: cpu:0");
}

// A device that is used before the process is forked, after it, or both.
TEST(Device, OfAParentCannotBeUsed) {
  static TernDeviceApi api = *CpuDeviceApi();
  static int32_t count;
  count = 0;
  api.device_count = [](int32_t* number) {
    *number = count;
    return 0;
  };
  api.device_type = 61;
  RegisterDeviceKind("forked", &api, std::make_shared<DriverProcess>());
  const DeviceKind& kind = GetDeviceKind("forked");
  auto use = [&] { return ErrorOf([&] { kind.Free(0, kind.Alloc(0, 8, 8)); }); };

  EXPECT_EQ(kind.Count(), 0);  // there is nothing that a child could not use
  EXPECT_EQ(InForkedChild(use), "no error") << "the parent has not used it";
  count = 1;
  void* memory = kind.Alloc(0, 8, 8);
  EXPECT_EQ(InForkedChild(use), ForkedDeviceError("forked"));
  EXPECT_EQ(InForkedChild([&] { return InForkedChild(use); }), ForkedDeviceError("forked"));
  EXPECT_EQ(InForkedChild([&] { return ErrorOf([&] { kind.Free(0, memory); }); }),
            ForkedDeviceError("forked"));
  EXPECT_EQ(use(), "no error") << "the parent goes on";
  kind.Free(0, memory);
}

TEST(Device, TheHostIsThereInAForkedChild) {
  const DeviceKind& cpu = GetDeviceKind("cpu");
  void* memory = cpu.Alloc(0, 8, 8);
  EXPECT_EQ(InForkedChild([&] {
              return ErrorOf([&] {
                cpu.Free(0, memory);
                cpu.Free(0, cpu.Alloc(0, 8, 8));
              });
            }),
            "no error");
  cpu.Free(0, memory);
}

TEST(Device, KindsComeWithTheirPlugin) {
  ScopedVariable path("TERN_BACKEND_PATH", TERN_TEST_PLUGINS);
  const DeviceKind& toy = GetDeviceKind("toy");
  EXPECT_EQ(toy.device_type(), 99);
  EXPECT_EQ(toy.Count(), 2);
  EXPECT_EQ(toy.Describe(1)->Find("max_threads")->As<int>(), 64);
  EXPECT_EQ(toy.Describe(1)->Find("name")->As<std::string>(), "toy device");
  EXPECT_EQ(DeviceName({99, 1}), "toy:1");
  EXPECT_EQ(ErrorOf([&] { toy.Describe(2); }), "no such device: toy:2; there are 2 toy devices");
  EXPECT_EQ(ErrorOf([&] { toy.Alloc(5, 1, 1); }), "no such device: toy:5; there are 2 toy devices");
}

TEST(Device, KindsAreFoundByTheirType) {
  TempDirectory directory;
  std::string file = "libtern_runtime_toy.so";
  std::filesystem::copy(std::string(TERN_TEST_PLUGINS) + "/" + file, directory.File(file));
  ScopedVariable path("TERN_BACKEND_PATH", directory.path());
  EXPECT_EQ(GetDeviceKind(99).name(), "toy");
}

TEST(Device, AbsentKindNamesTheFile) {
  EXPECT_EQ(FindDeviceKind("nosuch"), nullptr);
  std::string error = ErrorOf([] { GetDeviceKind("nosuch"); });
  EXPECT_EQ(error, WhyPluginAbsent("nosuch"));
  EXPECT_EQ(
      error.find("the nosuch runtime is not loaded: libtern_runtime_nosuch.so was not found in /"),
      0u);
  EXPECT_EQ(ErrorOf([] {
              GetDeviceKind(77);
            }).find("no loaded runtime has device type 77; loaded are cpu (1)"),
            0u);
  EXPECT_EQ(DeviceName({77, 2}), "device 77:2");
}

}  // namespace
}  // namespace tern::runtime
