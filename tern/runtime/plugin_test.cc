// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/plugin.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "tern/ffi/registry.h"
#include "tern/runtime/device.h"
#include "tern/runtime/elf_file.h"
#include "tern/runtime/file_bytes.h"
#include "tern/runtime/plugin_search.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

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
            "device kind broken: made for version 5 of the plugin API; this runtime offers "
            "version 4"},
        BrokenPlugin{"null_member", "device kind broken: copy is null"},
        BrokenPlugin{"taken_name", "device kind cpu is already registered"},
        BrokenPlugin{"small_table",
                     "device kind broken: the table has 72 bytes; at least 160 expected"},
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

TEST_F(PluginTest, AutoloadCanBeTurnedOff) {
  // A copy under a name of its own, so that the order of the tests does not matter. It loads, and
  // is refused for what it registers.
  TempDirectory directory;
  std::filesystem::copy(File("fails_late"), directory.File(PluginFileName("manual")));
  ScopedVariable path("TERN_BACKEND_PATH", directory.path());
  ScopedVariable off("TERN_BACKEND_AUTOLOAD", "0");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(TryLoadPlugin("manual"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(WhyPluginAbsent("manual"),
            "the manual runtime is not loaded: TERN_BACKEND_AUTOLOAD=0 turns the search off");
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
