// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/plugin/plugin.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <thread>

#include "tern/ffi/registry.h"
#include "tern/runtime/artifact/elf_file.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/device.h"
#include "tern/runtime/graph.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/runtime/plugin/plugin_search.h"
#include "tern/runtime/stream.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/runtime/test_plugins/lying_plugin.h"

namespace tern::runtime {
namespace {

using test::Lie;

std::string PluginFileName(const std::string& name) {
  return PluginFileName(PluginPart::kRuntime, name);
}

class PluginTest : public testing::Test {
 protected:
  static std::string File(const std::string& name) {
    return std::string(TERN_TEST_PLUGINS) + "/" + PluginFileName(name);
  }
  ScopedVariable path_{"TERN_BACKEND_PATH", TERN_TEST_PLUGINS};
};

TEST_F(PluginTest, LoadsOnceFromManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { EXPECT_TRUE(TryLoadPlugin("toy")); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(IsPluginLoaded("toy"));
  EXPECT_TRUE(ffi::FindGlobal("toy.counter"));
  EXPECT_TRUE(ffi::FindGlobal("ffi.Module.create.toy"));
  EXPECT_TRUE(ffi::FindGlobal("ffi.Module.load_from_bytes.toy"));
}

TEST_F(PluginTest, AbsentIsSilentByNeedAndAnErrorOnRequest) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(TryLoadPlugin("absent"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  std::string where = PluginNotFound(PluginPart::kRuntime, "absent");
  EXPECT_EQ(ErrorOf([] { LoadPlugin("absent"); }), where);
  EXPECT_EQ(WhyPluginAbsent("absent"), "the absent runtime is not loaded: " + where);
}

TEST_F(PluginTest, NamesAreNoPaths) {
  EXPECT_FALSE(TryLoadPlugin("../toy"));
  EXPECT_EQ(ErrorOf([] { LoadPlugin("../toy"); }),
            "\"../toy\" is not a backend's name: letters a-z, digits and _ are");
}

// One warning by need, an error on request, and nothing registered: for every way to be broken.
struct BrokenPlugin {
  const char *name, *reason;
  friend void PrintTo(const BrokenPlugin& plugin, std::ostream* out) { *out << plugin.name; }
};
class BrokenPluginTest : public PluginTest, public testing::WithParamInterface<BrokenPlugin> {};

TEST_P(BrokenPluginTest, IsRefused) {
  auto [name, reason] = GetParam();
  std::vector<std::string> before = ffi::GlobalNames();
  testing::internal::CaptureStderr();
  EXPECT_FALSE(TryLoadPlugin(name));
  EXPECT_FALSE(TryLoadPlugin(name)) << "the second time is silent";
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tern: warning: " + File(name) + ": " + reason + "\n");
  EXPECT_EQ(ErrorOf([&, name = name] { LoadPlugin(name); }), File(name) + ": " + reason);
  EXPECT_EQ(WhyPluginAbsent(name),
            "the " + std::string(name) + " runtime is not loaded: " + File(name) + ": " + reason);
  EXPECT_FALSE(IsPluginLoaded(name));
  EXPECT_EQ(ffi::GlobalNames(), before);
  EXPECT_EQ(FindDeviceKind("broken"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenPluginTest,
    testing::Values(
        BrokenPlugin{"fails_late", "this plugin always fails"},
        BrokenPlugin{
            "newer_version",
            "device kind broken: made for version 7 of the plugin API; this runtime offers "
            "version 6"},
        BrokenPlugin{"null_member", "device kind broken: copy is null"},
        BrokenPlugin{"taken_name", "device kind cpu is already registered"},
        BrokenPlugin{"small_table",
                     "device kind broken: the table has 72 bytes; a multiple of 8 from 80 on is "
                     "expected"},
        BrokenPlugin{"odd_table",
                     "device kind broken: the table has 84 bytes; a multiple of 8 from 80 on is "
                     "expected"},
        BrokenPlugin{"throws", "tern_plugin threw: the licence has expired"},
        BrokenPlugin{"throws_number", "tern_plugin threw what is no std::exception"},
        // Looking for each among all the others would take minutes.
        BrokenPlugin{"many_kinds", "more than 64 device kinds are registered"},
        BrokenPlugin{"many_functions", "function broken.f7 is registered twice"},
        BrokenPlugin{"silent_failure",
                     "bug in Tern or a plugin: a call failed without saying why; please report it"},
        BrokenPlugin{"no_entry", "not a Tern plugin: it has no function tern_plugin"},
        BrokenPlugin{"text", "not an ELF file"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(PluginTest, ForeignMachineIsNamed) {
  TempDirectory directory;
  std::string bytes = ReadFile(File("toy"));
  bool is_x86 = HostElfMachine() == 62;
  bytes[18] = static_cast<char>(is_x86 ? 183 : 62);
  WriteFile(directory.File(PluginFileName("foreign")), bytes);
  ScopedVariable path("TERN_BACKEND_PATH", directory.path());
  EXPECT_EQ(ErrorOf([] { LoadPlugin("foreign"); }),
            directory.File(PluginFileName("foreign")) + ": built for " +
                (is_x86 ? "aarch64" : "x86_64") + ", this machine is " +
                ElfMachineName(HostElfMachine()));
}

// What is cut off anywhere is refused, and does not end the process when it is mapped.
TEST_F(PluginTest, TruncatedIsRefused) {
  TempDirectory directory;
  std::string bytes = ReadFile(File("toy")), path = directory.File(PluginFileName("cut"));
  ScopedVariable search("TERN_BACKEND_PATH", directory.path());
  for (size_t part = 0; part < 16; ++part) {
    WriteFile(path, bytes.substr(0, bytes.size() * part / 16));
    std::string error = ErrorOf([] { LoadPlugin("cut"); });
    EXPECT_EQ(error.find(path + ": " + (part == 0 ? "not an ELF file" : "the file is truncated: ")),
              0u)
        << error;
  }
}

TEST_F(PluginTest, WhatIsNoFileIsRefused) {
  TempDirectory directory;
  std::string path = directory.File(PluginFileName("pipe"));
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  ScopedVariable search("TERN_BACKEND_PATH", directory.path());
  EXPECT_EQ(ErrorOf([] { LoadPlugin("pipe"); }), path + ": not a file");
}

// A candidate that throws is warned about, and the next one is taken.
TEST_F(PluginTest, TheNextCandidateIsTaken) {
  TempDirectory throws, number;
  std::string first = throws.File(PluginFileName("candidate")),
              second = number.File(PluginFileName("candidate"));
  std::filesystem::copy(File("throws"), first);
  std::filesystem::copy(File("throws_number"), second);
  ScopedVariable path("TERN_BACKEND_PATH",
                      throws.path() + ":" + number.path() + ":" TERN_TEST_PLUGINS);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(TryLoadPlugin("candidate"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tern: warning: " + first + ": tern_plugin threw: the licence has expired\n" +
                "tern: warning: " + second + ": tern_plugin threw what is no std::exception\n");
  EXPECT_EQ(GetDeviceKind("candidate").Count(), 1);
}

// A device whose plugin lies or throws.
class LyingPluginTest : public PluginTest {
 protected:
  LyingPluginTest() { LoadPlugin("lying"); }
  ~LyingPluginTest() override { Tell(Lie::kNone); }
  static void Tell(Lie lie) { ffi::GetGlobal("lying.lie")(static_cast<int>(lie)); }
  static const DeviceKind& Kind() { return GetDeviceKind("lying"); }
};

TEST_F(LyingPluginTest, NoMachineHasThatManyDevices) {
  EXPECT_EQ(Kind().Count(), 1);
  Tell(Lie::kManyDevices);
  EXPECT_EQ(ErrorOf([] { Kind().Count(); }),
            "the lying runtime says that it has 2147483647 devices; 0 to 1024 can be");
  Tell(Lie::kFewDevices);
  EXPECT_EQ(ErrorOf([] { Kind().Describe(0); }),
            "the lying runtime says that it has -1 devices; 0 to 1024 can be");
}

TEST_F(LyingPluginTest, NoMemoryIsAnError) {
  Kind().Free(0, Kind().Alloc(0, 8, 8));
  Tell(Lie::kNullMemory);
  EXPECT_EQ(ErrorOf([] { Kind().Alloc(0, 8, 8); }),
            "the lying runtime gave no memory for 8 bytes, and no reason");
  EXPECT_EQ(Kind().Alloc(0, 0, 8), nullptr);
}

TEST_F(LyingPluginTest, PropertiesAreChecked) {
  EXPECT_EQ(Kind().Describe(0)->Find("size")->As<int>(), 1);
  auto error = [](Lie lie) {
    Tell(lie);
    std::string text = ErrorOf([] { Kind().Describe(0); }),
                context = "\n  while asking the lying runtime for describe of device 0";
    EXPECT_TRUE(text.ends_with(context)) << text;
    return text.substr(0, text.size() - std::min(text.size(), context.size()));
  };
  auto invalid = [](int type) {
    return "property size is neither a finite number nor a text: type " + std::to_string(type);
  };
  EXPECT_EQ(error(Lie::kUnknownType), invalid(9999));
  EXPECT_EQ(error(Lie::kNullObject), invalid(kTernStr));
  EXPECT_EQ(error(Lie::kNullText), invalid(kTernRawStr));
  EXPECT_EQ(error(Lie::kLongSmallText), invalid(kTernSmallStr));
  EXPECT_EQ(error(Lie::kNotANumber), invalid(kTernFloat));
  EXPECT_EQ(error(Lie::kNullName), "a property has no name");
  EXPECT_EQ(error(Lie::kNullValue), "property size has no value");
}

TEST_F(LyingPluginTest, WhatItThrowsIsAnError) {
  Tell(Lie::kThrows);
  EXPECT_EQ(ErrorOf([] { Kind().Alloc(0, 8, 8); }),
            "the lying runtime: alloc threw: no memory today");
  DeviceArtifact artifact{.kind = "lying", .fmt = "any"};
  artifact.fmap["f"] = {};
  testing::internal::CaptureStderr();
  EXPECT_EQ(
      ErrorOf([&] { CreateDeviceModule(artifact)->GetFunction("f")(0); }),
      "kernel f: grid (1, 1, 1), block (1, 1, 1): the lying runtime: launch threw: no launches "
      "today");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tern: warning: the lying runtime threw when it unloaded a program\n");
  Tell(Lie::kThrowsNumber);
  EXPECT_EQ(ErrorOf([] { Kind().Describe(0); }),
            "the lying runtime: describe threw what is no std::exception");
}

// Plugins that were built with the headers of before run in this runtime: load, allocate, copy,
// launch, and whatever else their version has.
class BoundaryTest : public PluginTest, public testing::WithParamInterface<int> {};

TEST_P(BoundaryTest, AnOlderPluginRuns) {
  const int version = GetParam();
  const std::string name = "boundary" + std::to_string(version);
  LoadPlugin(name);
  const DeviceKind& kind = GetDeviceKind(name);
  EXPECT_EQ(kind.Describe(0)->Find("version")->As<int>(), version);

  const TernDevice device = {kind.device_type(), 0};
  DeviceArtifact artifact{.kind = name, .fmt = "any"};
  artifact.fmap["fill"] = {{DataType::Handle(), DataType::Int(32), DataType::Float(32)},
                           {"blockIdx.x", "threadIdx.x"},
                           0};
  artifact.payload[""] = "code";
  Tensor host = Tensor::Empty({4}, DataType::Float(32));
  for (int i = 0; i < 4; ++i) SetElement(host, i, i);
  Tensor data = host.CopyTo(device);
  CreateDeviceModule(artifact)->GetFunction("fill")(0, data->data(), 3, 2.5, 2, 2);
  kind.Synchronize(0);
  Tensor back = data.CopyTo({kTernDeviceCpu, 0});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(GetElement(back, i), i < 3 ? 2.5 : 3) << i;

  EXPECT_EQ(kind.HasEvents(), version >= 2);
  if (version >= 2) {
    EXPECT_EQ(kind.Memory(0).free_bytes, 12345u);
    Event start(device), stop(device);
    EXPECT_EQ(Event::SecondsBetween(start, stop), 1.5);
  } else {
    EXPECT_EQ(ErrorOf([&] { kind.Memory(0); }),
              "the boundary1 runtime does not tell how much memory there is");
    EXPECT_EQ(ErrorOf([&] { Event{device}; }), "the boundary1 runtime has no events");
  }
  if (version >= 3)
    EXPECT_EQ(kind.Detect(0)->Find("version")->As<int>(), version);
  else
    EXPECT_EQ(ErrorOf([&] { kind.Detect(0); }),
              "the " + name + " runtime has no detector: give the target's attributes");
  kind.FreeHost(0, kind.AllocHost(0, 100));

  // Who has kernels made ready all at once says so; the others make each when it is asked for.
  EXPECT_EQ(ErrorOf([&] { LoadKernels(CreateDeviceModule(artifact), device); }),
            version >= 6 ? "this plugin prepares nothing" : "no error");

  // What an older plugin does not know of a launch is not left out without a word.
  artifact.fmap["fill"].launch_tags.emplace_back("clusterIdx.x");
  ffi::Function clusters = CreateDeviceModule(artifact)->GetFunction("fill");
  std::string refused = "kernel fill: grid (2, 1, 1), block (2, 1, 1), cluster (2, 1, 1): the " +
                        name + " runtime has no clusters of blocks";
  EXPECT_EQ(ErrorOf([&] { clusters(0, data->data(), 4, 7.5, 2, 2, 2); }),
            version >= 5 ? "no error" : refused);
  EXPECT_EQ(kind.HasGraphs(), version >= 5);
  if (version >= 5) return;
  int stream = 0;
  EXPECT_EQ(ErrorOf([&] { Capture(device, &stream); }),
            "graphs are not supported by the " + name +
                " runtime: what a stream is given cannot be recorded");
}

INSTANTIATE_TEST_SUITE_P(Versions, BoundaryTest, testing::Range(1, TERN_PLUGIN_API_VERSION + 1),
                         testing::PrintToStringParamName());

// The lines of a header without its comments.
std::vector<std::string> Declarations(const std::string& file) {
  std::istringstream text(ReadFile(std::string(TERN_TEST_SOURCES) + "/" + file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    line = line.substr(0, line.find("//"));
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

// What changes plugin_api.h changes its version too: otherwise two plugins of one version would
// mean different things by it.
TEST(Boundary, TodaysVersionIsPinned) {
  EXPECT_EQ(Declarations("plugin_api.h"),
            Declarations("test_plugins/boundary/plugin_api_" +
                         std::to_string(TERN_PLUGIN_API_VERSION) + ".h"));
}

// Every size from the first version's on; nothing behind a table is read.
TEST(Boundary, ATableIsReadAsFarAsItsSizeSays) {
  for (size_t size = TERN_DEVICE_API_MIN_SIZE; size <= sizeof(TernDeviceApi); size += 8) {
    // On the heap, so that sanitizers see a look behind it.
    std::unique_ptr<char[]> memory(new char[size]);
    std::memset(memory.get(), 1, size);
    auto* table = reinterpret_cast<TernDeviceApi*>(memory.get());
    table->size = static_cast<uint32_t>(size);
    TernDeviceApi whole = WholeTable(table);
    for (size_t at = TERN_DEVICE_API_MIN_SIZE; at < sizeof whole; at += 8) {
      uint64_t member = 0;
      std::memcpy(&member, reinterpret_cast<const char*>(&whole) + at, sizeof member);
      EXPECT_EQ(member, at < size ? 0x0101010101010101u : 0u) << size << " " << at;
    }
  }
  // A newer plugin's table is larger than ours.
  struct {
    TernDeviceApi known;
    void* more[4];
  } newer{};
  newer.known.size = sizeof newer;
  newer.known.device_type = 7;
  EXPECT_EQ(WholeTable(&newer.known).device_type, 7);
}

TEST_F(PluginTest, AutoloadCanBeTurnedOff) {
  // A copy under a name of its own, so that the order of the tests does not matter. It loads, and
  // is refused for what it registers.
  TempDirectory directory;
  std::filesystem::copy(File("fails_late"), directory.File(PluginFileName("manual")));
  ScopedVariable path("TERN_BACKEND_PATH", directory.path());
  {
    ScopedVariable wrong("TERN_BACKEND_AUTOLOAD", "never");
    EXPECT_EQ(ErrorOf([] { TryLoadPlugin("manual"); }),
              "TERN_BACKEND_AUTOLOAD is 'never'; expected 0, 1, true, false, on or off");
  }
  ScopedVariable off("TERN_BACKEND_AUTOLOAD", "Off");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(TryLoadPlugin("manual"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(WhyPluginAbsent("manual"),
            "the manual runtime is not loaded: TERN_BACKEND_AUTOLOAD turns the search off");
  EXPECT_EQ(ErrorOf([] { LoadPlugin("manual"); }),
            directory.File(PluginFileName("manual")) + ": this plugin always fails");
}

TEST_F(PluginTest, LoadAllFindsThoseThereAre) {
  LoadPlugin("toy");
  TempDirectory directory;
  std::filesystem::copy(File("no_entry"), directory.File(PluginFileName("useless")));
  WriteFile(directory.File("libtern_runtime_.so"), "not even a name");
  ScopedVariable path("TERN_BACKEND_PATH", directory.path());
  testing::internal::CaptureStderr();
  std::vector<std::string> names = LoadAllPlugins();
  EXPECT_NE(
      testing::internal::GetCapturedStderr().find("libtern_runtime_useless.so: not a Tern plugin"),
      std::string::npos);
  EXPECT_NE(std::find(names.begin(), names.end(), "toy"), names.end());
  EXPECT_EQ(std::find(names.begin(), names.end(), "useless"), names.end());
}

}  // namespace
}  // namespace tern::runtime
