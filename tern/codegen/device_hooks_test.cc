// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/device_hooks.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/target/target.h"

namespace tern::codegen {
namespace {

// A global function for the life of this object.
class ScopedGlobal {
 public:
  ScopedGlobal(std::string name, ffi::Function function) : name_(std::move(name)) {
    ffi::RegisterGlobal(name_, std::move(function));
  }
  ~ScopedGlobal() { ffi::RemoveGlobal(name_); }
  ScopedGlobal(const ScopedGlobal&) = delete;

 private:
  std::string name_;
};

TEST(DeviceHooks, WithoutHooksNothingChanges) {
  EXPECT_EQ(PostProcess("hooktest", "code"), "code");
  EXPECT_EQ(CompileByHook("hooktest", "code"), std::nullopt);
}

// A hook gets the code alone, and asks for the target.
TEST(DeviceHooks, HooksSeeTheTarget) {
  Initialize();
  ScopedGlobal postproc("tern.callback.hooktest.postproc",
                        ffi::Function::FromTyped("postproc", [](std::string code) {
                          auto target = ffi::GetGlobal("target.Current")().As<target::Target>();
                          return code + " for " + target->str();
                        }));
  ScopedGlobal compile("tern.callback.hooktest.compile",
                       ffi::Function::FromTyped("compile", [](std::string code) {
                         return ffi::Bytes{"compiled " + code};
                       }));
  target::TargetScope scope(target::Target::Parse("c"));
  EXPECT_EQ(PostProcess("hooktest", "code"), "code for c");
  EXPECT_EQ(CompileByHook("hooktest", "code"), "compiled code");
}

TEST(DeviceHooks, KindsWithoutTheirOwnShareOne) {
  auto returns = [](const char* text) {
    return ffi::Function::FromTyped("hook", [=](ffi::Bytes code) { return text + code.data; });
  };
  ScopedGlobal all("tern.callback.postproc", returns("general "));
  EXPECT_EQ(PostProcess("hooktest", std::string("a\0b", 3), CodeForm::kBinary),
            std::string("general a\0b", 11));
  ScopedGlobal own("tern.callback.hooktest.postproc", returns("own "));
  EXPECT_EQ(PostProcess("hooktest", "code", CodeForm::kBinary), "own code");
}

TEST(DeviceHooks, OutsideOfCompilationThereIsNoTarget) {
  Initialize();
  EXPECT_EQ(ffi::GetGlobal("target.Current")().TryAs<target::Target>(), std::nullopt);
}

TEST(DeviceHooks, WhatIsNoCodeIsRefused) {
  ScopedGlobal compile("tern.callback.hooktest.compile",
                       ffi::Function::FromTyped("compile", [](std::string) { return int64_t{1}; }));
  std::string error = runtime::ErrorOf([] { CompileByHook("hooktest", "code"); });
  EXPECT_EQ(error.find("tern.callback.hooktest.compile: expected a text or bytes, got "), 0u)
      << error;
}

}  // namespace
}  // namespace tern::codegen
