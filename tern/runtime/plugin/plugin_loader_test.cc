// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/plugin/plugin_loader.h"

#include <gtest/gtest.h>

#include "tern/ffi/error.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

void NoFile(const std::string&, const std::string& path) {
  TERN_THROW(RuntimeError) << path << " is not meant to be loaded";
}

// What is linked in needs no search, and is initialised once.
TEST(PluginLoader, LinkedInIsThereWithoutAFile) {
  int calls = 0;
  PluginLoader loader(PluginPart::kRuntime, "runtime", NoFile, {{"inside", [&] { ++calls; }}});
  ScopedVariable off("TERN_BACKEND_AUTOLOAD", "0");
  EXPECT_FALSE(loader.IsLoaded("inside"));
  EXPECT_TRUE(loader.TryLoad("inside"));
  loader.Load("inside");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(loader.LoadAll(), std::vector<std::string>{"inside"});
}

TEST(PluginLoader, LinkedInThatFailsIsWarnedAboutOnce) {
  PluginLoader loader(PluginPart::kRuntime, "runtime", NoFile,
                      {{"inside", [] { TERN_THROW(RuntimeError) << "no luck"; }}});
  testing::internal::CaptureStderr();
  EXPECT_FALSE(loader.TryLoad("inside"));
  EXPECT_FALSE(loader.TryLoad("inside"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tern: warning: inside (linked in): no luck\n");
  EXPECT_EQ(loader.WhyAbsent("inside"),
            "the inside runtime is not loaded: inside (linked in): no luck");
  EXPECT_EQ(ErrorOf([&] { loader.Load("inside"); }), "inside (linked in): no luck");
}

TEST(PluginLoader, AnInitialisationThatAsksForItselfIsToldNotYet) {
  PluginLoader* self = nullptr;
  bool was_there = true;
  std::string error;
  PluginLoader loader(PluginPart::kRuntime, "runtime", NoFile,
                      {{"inside", [&] {
                          was_there = self->TryLoad("inside");
                          error = ErrorOf([&] { self->Load("inside"); });
                        }}});
  self = &loader;
  EXPECT_TRUE(loader.TryLoad("inside"));
  EXPECT_FALSE(was_there);
  EXPECT_EQ(error, "the initialisation of inside asks for itself");
}

}  // namespace
}  // namespace tern::runtime
