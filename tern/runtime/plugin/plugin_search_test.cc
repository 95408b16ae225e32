// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/plugin/plugin_search.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/device.h"
#include "tern/runtime/plugin/plugin.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

namespace fs = std::filesystem;

TEST(PluginSearch, PathEndsBesideTheRuntime) {
  ScopedVariable path("TERN_BACKEND_PATH", "/one::/two:/one");
  std::vector<std::string> directories = PluginSearchPath();
  ASSERT_EQ(directories.size(), 3u);
  EXPECT_EQ(directories[0], "/one");
  EXPECT_EQ(directories[1], "/two");
  EXPECT_TRUE(fs::exists(directories[2] + "/" TERN_RUNTIME_FILE)) << directories[2];
}

TEST(PluginSearch, ManifestsLieInTheDataDirectories) {
  ScopedVariable home("HOME", "/home/someone"), user("XDG_DATA_HOME", ""),
      system("XDG_DATA_DIRS", "");
  EXPECT_EQ(ManifestPath(), (std::vector<std::string>{"/home/someone/.local/share/tern/backends",
                                                      "/usr/local/share/tern/backends",
                                                      "/usr/share/tern/backends"}));
  ScopedVariable other_user("XDG_DATA_HOME", "/data"), other_system("XDG_DATA_DIRS", "/a:no:/data");
  EXPECT_EQ(ManifestPath(), (std::vector<std::string>{"/data/tern/backends", "/a/tern/backends"}));
}

// A user's data directory, and no other.
class ManifestTest : public testing::Test {
 protected:
  ManifestTest() { fs::create_directories(Manifests()); }
  std::string Manifests() const { return data_.File("tern/backends"); }
  std::string Write(const std::string& name, const std::string& text) const {
    WriteFile(Manifests() + "/" + name, text);
    return Manifests() + "/" + name;
  }
  // What is said of a manifest of this text.
  std::string Mistake(const std::string& text) const {
    return ErrorOf([&] { ReadPluginManifest(Write("wrong.json", text)); });
  }

  TempDirectory data_;
  ScopedVariable user_{"XDG_DATA_HOME", data_.path()}, system_{"XDG_DATA_DIRS", "/nowhere"};
};

TEST_F(ManifestTest, NamesLibrariesFromItsDirectory) {
  std::string file = Write("any name.json", R"({"version": 1, "name": "far", "future": [],
    "runtime": "../lib/run.so", "codegen": "/opt/far/generate.so"})");
  PluginManifest manifest = ReadPluginManifest(file);
  EXPECT_EQ(manifest.name, "far");
  EXPECT_EQ(manifest.runtime, data_.File("tern/lib/run.so"));
  EXPECT_EQ(manifest.codegen, "/opt/far/generate.so");
  EXPECT_TRUE(PluginNames(PluginPart::kRuntime).contains("far"));
  EXPECT_TRUE(PluginNames(PluginPart::kCodegen).contains("far"));
}

TEST_F(ManifestTest, ALibraryThatWasRemovedIsNamed) {
  std::string file = Write("gone.json", R"({"version": 1, "name": "gone", "runtime": "run.so"})");
  EXPECT_EQ(FindPlugins(PluginPart::kRuntime, "gone"), std::vector<std::string>{});
  testing::internal::CaptureStderr();
  EXPECT_EQ(FindDeviceKind("gone"), nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(WhyPluginAbsent("gone"), "the gone runtime is not loaded: " + Manifests() +
                                         "/run.so, which " + file + " names, does not exist");
}

TEST_F(ManifestTest, WhatIsNamedIsLoaded) {
  fs::copy(std::string(TERN_TEST_PLUGINS) + "/libtern_runtime_no_entry.so",
           data_.File("tern/useless.so"));
  Write("useless.json", R"({"version": 1, "name": "useless_far", "runtime": "../useless.so"})");
  EXPECT_EQ(ErrorOf([] { LoadPlugin("useless_far"); }),
            data_.File("tern/useless.so") + ": not a Tern plugin: it has no function tern_plugin");
}

TEST_F(ManifestTest, MistakesAreSaid) {
  EXPECT_EQ(Mistake("[]"), "a manifest is an object");
  EXPECT_EQ(Mistake("{}"), "the manifest has no \"version\"; 1 is expected");
  EXPECT_EQ(Mistake(R"({"version": 2})"), "a manifest of version 2; this runtime reads version 1");
  EXPECT_EQ(Mistake(R"({"version": 1, "name": "../x"})"),
            "\"name\" is not a backend's name: letters a-z, digits and _ are");
  EXPECT_EQ(Mistake(R"({"version": 1, "name": "x"})"),
            "the manifest names no library: \"runtime\" or \"codegen\" is expected");
  EXPECT_EQ(Mistake(R"({"version": 1, "name": "x", "runtime": 7})"), "\"runtime\" is not a text");
}

TEST_F(ManifestTest, OneThatCannotBeReadIsWarnedAboutOnceAndHidesNoOther) {
  std::string broken = Write("a.json", "{");
  Write("b.json", R"({"version": 1, "name": "whole", "runtime": "b.json"})");
  testing::internal::CaptureStderr();
  EXPECT_EQ(FindPlugins(PluginPart::kRuntime, "whole").size(), 1u);
  EXPECT_EQ(FindPlugins(PluginPart::kRuntime, "whole").size(), 1u);
  std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(warning.starts_with("tern: warning: " + broken + ": ")) << warning;
  EXPECT_EQ(warning.find("warning", 20), std::string::npos) << warning;
}

// A manifest that leads to a device has no end.
TEST(PluginSearch, AManifestIsAFile) {
  TempDirectory directory;
  std::string path = directory.File("endless.json");
  std::filesystem::create_symlink("/dev/zero", path);
  EXPECT_EQ(ErrorOf([&] { ReadPluginManifest(path); }),
            path + ": cannot be read: it is a device, and a file is expected");
}

}  // namespace
}  // namespace tern::runtime
