// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/kernel/device_module.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tern/ffi/registry.h"
#include "tern/runtime/device.h"
#include "tern/runtime/plugin/plugin.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_artifact.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

class DeviceModuleTest : public testing::Test {
 protected:
  DeviceModuleTest() { LoadPlugin("toy"); }
  static int64_t Counter(int which) { return ffi::GetGlobal("toy.counter")(which).As<int64_t>(); }
  static Tensor OnToy(int64_t size, int id = 0) {
    return Tensor::Empty({size}, DataType::Float(32), {99, id});
  }

  ScopedVariable path_{"TERN_BACKEND_PATH", TERN_TEST_PLUGINS};
};

constexpr int kLoads = 0, kLivePrograms = 1;

TEST_F(DeviceModuleTest, RunsKernels) {
  ffi::Module module = CreateDeviceModule(ToyArtifact());
  EXPECT_EQ(module->kind(), "toy");
  EXPECT_EQ(module->properties(), ffi::ModuleObj::kRunnable | ffi::ModuleObj::kSerializable);
  EXPECT_EQ(module->FunctionNames(), (std::vector<std::string>{"broken", "fill"}));
  Tensor data = OnToy(4);
  module->GetFunction("fill")(0, data->data(), 4, 2.5, 2, 2);
  Tensor host = data.CopyTo({kTernDeviceCpu, 0});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(GetElement(host, i), 2.5);
  EXPECT_FALSE(module->GetFunction("nosuch"));
}

TEST_F(DeviceModuleTest, IsRealisedAtTheFirstCallOncePerDevice) {
  int64_t loads = Counter(kLoads), live = Counter(kLivePrograms);
  {
    ffi::Module module = CreateDeviceModule(ToyArtifact());
    ffi::Function fill = module->GetFunction("fill");
    EXPECT_EQ(Counter(kLoads), loads);
    Tensor zero = OnToy(1, 0), one = OnToy(1, 1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int k = 0; k < 50; ++k) fill(0, zero->data(), 1, 1.0, 1, 1);
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(Counter(kLoads), loads + 1);
    fill(1, one->data(), 1, 1.0, 1, 1);
    EXPECT_EQ(Counter(kLoads), loads + 2);
    module = {};
    fill(0, zero->data(), 1, 1.0, 1, 1);  // the function keeps the module
    EXPECT_EQ(Counter(kLivePrograms), live + 2);
  }
  EXPECT_EQ(Counter(kLivePrograms), live);
}

TEST_F(DeviceModuleTest, AFailedRealisationIsTriedAgain) {
  ffi::Function fill = CreateDeviceModule(ToyArtifact())->GetFunction("fill");
  Tensor data = OnToy(1);
  {
    ScopedVariable fail("TERN_TOY_FAIL_LOAD", "1");
    EXPECT_EQ(ErrorOf([&] { fill(0, data->data(), 1, 1.0, 1, 1); }), "the toy driver is on strike");
  }
  fill(0, data->data(), 1, 1.0, 1, 1);
}

// The file is there, and loads: what lacks is said, not that it was not found.
TEST_F(DeviceModuleTest, APluginMayHaveNoKernels) {
  DeviceArtifact artifact = ToyArtifact();
  artifact.kind = "empty";
  EXPECT_EQ(ErrorOf([&] {
              LoadDeviceModule("empty", SaveDeviceArtifact(artifact))->GetFunction("fill");
            }),
            "the empty runtime is loaded, but brings nothing of that kind");
  EXPECT_EQ(ErrorOf([] { GetDeviceKind("empty"); }),
            "the empty runtime is loaded, but brings nothing of that kind");
}

TEST_F(DeviceModuleTest, TheCacheIsTurnedOnOrOffByAWord) {
  ffi::Function fill = CreateDeviceModule(ToyArtifact())->GetFunction("fill");
  Tensor data = OnToy(1);
  ScopedVariable wrong("TERN_CACHE", "maybe");
  EXPECT_EQ(ErrorOf([&] { fill(0, data->data(), 1, 1.0, 1, 1); }),
            "TERN_CACHE is 'maybe'; expected 0, 1, true, false, on or off");
}

TEST_F(DeviceModuleTest, ChecksItsArguments) {
  ffi::Function fill = CreateDeviceModule(ToyArtifact())->GetFunction("fill");
  Tensor data = OnToy(1);
  void* p = data->data();
  EXPECT_EQ(ErrorOf([&] { fill(0, p, 1); }),
            "kernel fill: expected 6 values (the device id, 3 arguments, 2 launch extents), got 3");
  EXPECT_EQ(ErrorOf([&] { fill(0, 5, 1, 1.0, 1, 1); }),
            "kernel fill: argument 0: expected a buffer, got int 5");
  EXPECT_EQ(ErrorOf([&] { fill(0, p, int64_t{1} << 31, 1.0, 1, 1); }),
            "kernel fill: argument 1: expected int32, got int 2147483648");
  EXPECT_EQ(ErrorOf([&] { fill(0, p, 1, "x", 1, 1); }),
            "kernel fill: argument 2: expected float32, got string \"x\"");
  EXPECT_EQ(ErrorOf([&] { fill(0, p, 1, 1.0, -1, 1); }),
            "kernel fill: extent of blockIdx.x: expected a size of 32 bits, got int -1");
  EXPECT_EQ(ErrorOf([&] { fill("x", p, 1, 1.0, 1, 1); }),
            "kernel fill: device id: expected a number of a device, got string \"x\"");
  EXPECT_EQ(ErrorOf([&] { fill(7, p, 1, 1.0, 1, 1); }), "no such device: toy:7; there are 2");
}

// A value whose bytes are those of the argument is passed as it is, others are converted.
TEST_F(DeviceModuleTest, ConvertsArguments) {
  ffi::Function fill = CreateDeviceModule(ToyArtifact())->GetFunction("fill");
  Tensor data = OnToy(1);
  void* p = data->data();
  auto filled = [&] { return GetElement(data.CopyTo({kTernDeviceCpu, 0}), 0); };
  fill(0, p, 1, 2.5, 1, 1);
  EXPECT_EQ(filled(), 2.5);
  fill(false, p, true, 3, true, 1);  // bool is an integer, an integer is a float
  EXPECT_EQ(filled(), 3);
}

TEST_F(DeviceModuleTest, LaunchErrorsNameKernelAndSizes) {
  ffi::Function broken = CreateDeviceModule(ToyArtifact())->GetFunction("broken");
  EXPECT_EQ(ErrorOf([&] { broken(0, 8, 3); }),
            "kernel broken: grid (1, 3, 1), block (8, 1, 1), 24 bytes of dynamic shared memory: "
            "out of toys");
  broken(0, 8, 0);  // nothing to do, so nothing is launched
}

TEST_F(DeviceModuleTest, ALaunchGivesDynamicSharedMemory) {
  DeviceArtifact artifact = ToyArtifact();
  artifact.fmap["broken"].launch_tags.push_back(kDynamicSharedTag);
  ffi::Function broken = CreateDeviceModule(artifact)->GetFunction("broken");
  EXPECT_EQ(ErrorOf([&] { broken(0, 8, 3, 64); }),
            "kernel broken: grid (1, 3, 1), block (8, 1, 1), 88 bytes of dynamic shared memory: "
            "out of toys");
  EXPECT_EQ(ErrorOf([&] { broken(0, 8, 3, -1); }),
            "kernel broken: extent of shared.dynamic: expected a size of 32 bits, got int -1");
}

// Many threads want a program for the first time while its driver fails now and then: each call
// either runs or says what was wrong, and afterwards all run. The thread sanitizer watches.
TEST_F(DeviceModuleTest, RealisationByManyThreadsSurvivesFailures) {
  constexpr int kRounds = 20, kThreads = 8;
  for (int round = 0; round < kRounds; ++round) {
    int64_t loads = Counter(kLoads);
    ffi::Module module = CreateDeviceModule(ToyArtifact());
    std::atomic<int> ran = 0, failed = 0;
    std::vector<std::thread> threads;
    ffi::GetGlobal("toy.fail_loads")(int64_t{round % 5});
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        Tensor data = OnToy(1, i % 2);
        ffi::Function fill = module->GetFunction("fill");
        for (int k = 0; k < 10; ++k) {
          std::string error = ErrorOf([&] { fill(i % 2, data->data(), 1, 1.0, 1, 1); });
          EXPECT_TRUE(error == "no error" || error == "the toy driver is on strike") << error;
          (error == "no error" ? ran : failed)++;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failed, round % 5);
    EXPECT_EQ(ran, kThreads * 10 - round % 5);
    EXPECT_EQ(Counter(kLoads), loads + failed + 2) << "once per device that works";
  }
}

TEST_F(DeviceModuleTest, ForcedFallbackSavesTheSameBytes) {
  ffi::Module real = CreateDeviceModule(ToyArtifact());
  {
    ScopedVariable wrong("TERN_FORCE_FALLBACK", "yes");
    EXPECT_EQ(ErrorOf([] { CreateDeviceModule(ToyArtifact()); }),
              "TERN_FORCE_FALLBACK is 'yes'; expected 0, 1, true, false, on or off");
  }
  ScopedVariable force("TERN_FORCE_FALLBACK", "true");
  ffi::Module fallback = CreateDeviceModule(ToyArtifact());
  EXPECT_EQ(fallback->SaveToBytes(), real->SaveToBytes());
  EXPECT_EQ(fallback->kind(), "toy");
  EXPECT_EQ(fallback->properties(), ffi::ModuleObj::kSerializable);
  EXPECT_EQ(fallback->InspectSource(""), real->InspectSource(""));
  EXPECT_EQ(ErrorOf([&] { fallback->GetFunction("fill"); }),
            "the toy runtime is not loaded: TERN_FORCE_FALLBACK forced the fallback");
  EXPECT_FALSE(fallback->GetFunction("nosuch"));
  EXPECT_TRUE(LoadDeviceModule("toy", fallback->SaveToBytes())->GetFunction("fill"))
      << "loading never yields a fallback";
}

TEST_F(DeviceModuleTest, AbsentPluginSavesTheSameBytes) {
  DeviceArtifact artifact = ToyArtifact();
  artifact.kind = "absent";
  ffi::Module module = CreateDeviceModule(artifact);
  EXPECT_EQ(module->SaveToBytes(), CreateDeviceModule(ToyArtifact())->SaveToBytes());
  EXPECT_EQ(ErrorOf([&] { module->GetFunction("fill"); }), WhyPluginAbsent("absent"));
  ffi::Module loaded = LoadDeviceModule("absent", module->SaveToBytes());
  EXPECT_EQ(loaded->kind(), "absent");
  EXPECT_EQ(ErrorOf([&] { loaded->GetFunction("fill"); }), WhyPluginAbsent("absent"));
}

// Where arguments are bound as browsers do it, a browser is where it runs.
TEST_F(DeviceModuleTest, AbsentPluginOfKernelsForBrowsers) {
  DeviceArtifact artifact = ToyArtifact();
  artifact.kind = "absent";
  artifact.fmap["fill"].bindings = KernelBindings{};
  EXPECT_EQ(ErrorOf([&] { CreateDeviceModule(artifact)->GetFunction("fill"); }),
            WhyPluginAbsent("absent") + "; its kernels run in a browser, by the runtime in web/");
}

TEST_F(DeviceModuleTest, SavesAndLoads) {
  ffi::Module module = LoadDeviceModule("toy", CreateDeviceModule(ToyArtifact())->SaveToBytes());
  Tensor data = OnToy(1);
  module->GetFunction("fill")(0, data->data(), 1, 4.0, 1, 1);
  EXPECT_EQ(GetElement(data.CopyTo({kTernDeviceCpu, 0}), 0), 4.0);
  EXPECT_THROW(LoadDeviceModule("toy", "junk"), Error);
}

TEST_F(DeviceModuleTest, ShowsItsSources) {
  DeviceArtifact artifact = ToyArtifact();
  artifact.source["ll"] = "; text";
  ffi::Module module = CreateDeviceModule(artifact);
  EXPECT_EQ(module->InspectSource(""), artifact.payload[""]);
  EXPECT_EQ(module->InspectSource("toy"), artifact.payload[""]);
  EXPECT_EQ(module->InspectSource("ll"), "; text");
  EXPECT_EQ(ErrorOf([&] { module->InspectSource("ptx"); }),
            "a module of kind toy has no source in format ptx; it has toy, ll");
  artifact.payload = {{"a", "one\n"}, {"b", "two\n"}};
  EXPECT_EQ(CreateDeviceModule(artifact)->InspectSource(""), "one\ntwo\n");
  artifact.payload = {{"", std::string("\0binary", 7)}};
  EXPECT_EQ(CreateDeviceModule(artifact)->InspectSource(""), "; text")
      << "binary payloads are not what a person wants to read";
}

TEST_F(DeviceModuleTest, BinariesAreShownByTheirDisassembler) {
  DeviceArtifact artifact = ToyArtifact();
  artifact.fmt = "toybin";
  artifact.payload = {{"a", std::string("\0x", 2)}, {"b", std::string("\0yz", 3)}};
  ffi::Module module = CreateDeviceModule(artifact);
  EXPECT_EQ(module->InspectSource("toybin"), std::string("\0x\0yz", 5));
  ffi::RegisterGlobal("disassemble.toybin",
                      ffi::Function::FromTyped("disassemble.toybin", [](ffi::Bytes bytes) {
                        return std::to_string(bytes.data.size()) + " bytes\n";
                      }));
  EXPECT_EQ(module->InspectSource("toybin"), "2 bytes\n3 bytes\n");
  EXPECT_EQ(module->InspectSource(""), "2 bytes\n3 bytes\n");
  ffi::RemoveGlobal("disassemble.toybin");
}

TEST_F(DeviceModuleTest, CreateGoesThroughTheRegistry) {
  ffi::Any seen;
  ffi::RegisterGlobal("ffi.Module.create.elsewhere",
                      ffi::Function::FromTyped(
                          "create", [&](ffi::Any payload, std::string fmt, ffi::Map, ffi::Map) {
                            seen = payload;
                            EXPECT_EQ(fmt, "toy");
                            return CreateDeviceModule(ToyArtifact());
                          }));
  DeviceArtifact artifact = ToyArtifact();
  artifact.kind = "elsewhere";
  EXPECT_EQ(CreateDeviceModule(artifact)->kind(), "toy");
  EXPECT_EQ(seen.As<ffi::Bytes>().data, artifact.payload[""]);
  ffi::RemoveGlobal("ffi.Module.create.elsewhere");
}

}  // namespace
}  // namespace tern::runtime
