// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/module.h"

#include <gtest/gtest.h>

#include "tern/ffi/registry.h"

namespace tern::ffi {
namespace {

// A module with one function, which gives the module's name.
class NamedModule : public ModuleObj {
 public:
  NamedModule(std::string name, std::string function)
      : name_(std::move(name)), function_(std::move(function)) {}
  std::string kind() const override { return "named"; }
  uint32_t properties() const override { return kRunnable; }
  Function GetFunction(std::string_view name) override {
    ++lookups;
    if (name != function_) return {};
    return Function::FromTyped(
        "f", [self = Module(Ref<ModuleObj>(this)), name = name_] { return name; });
  }
  std::vector<std::string> FunctionNames() const override { return {function_}; }
  std::vector<std::string> SourceFormats() const override { return {"ll", "asm"}; }

  int lookups = 0;

 private:
  std::string name_, function_;
};

Ref<NamedModule> Named(std::string name, std::string function) {
  return Make<NamedModule>(std::move(name), std::move(function));
}
Module AsModule(const Ref<NamedModule>& module) { return Module(module); }

TEST(Module, FindsFunctionsDepthFirst) {
  auto root = Named("root", "main"), a = Named("a", "f"), b = Named("b", "g"), c = Named("c", "g");
  a->Import(AsModule(b));
  root->Import(AsModule(a));
  root->Import(AsModule(c));
  EXPECT_EQ(root->FindFunction("main")().As<std::string>(), "root");
  EXPECT_EQ(root->FindFunction("g")().As<std::string>(), "b");
  EXPECT_FALSE(root->FindFunction("h"));
}

TEST(Module, RefusesImportCycles) {
  auto a = Named("a", "f"), b = Named("b", "g"), c = Named("c", "h");
  a->Import(AsModule(b));
  b->Import(AsModule(c));
  EXPECT_THROW(a->Import(AsModule(a)), Error);
  EXPECT_THROW(c->Import(AsModule(a)), Error);
  EXPECT_TRUE(c->imports().empty());
  a->Import(AsModule(c));  // shared, but no cycle
  EXPECT_EQ(a->imports().size(), 2u);
}

TEST(Module, FunctionKeepsItAlive) {
  Function f;
  {
    auto a = Named("a", "f");
    f = a->GetFunction("f");
  }
  EXPECT_EQ(f().As<std::string>(), "a");
}

TEST(Module, CalleesComeFromImportsThenTheRegistry) {
  auto root = Named("root", "main"), a = Named("a", "f");
  root->Import(AsModule(a));
  EXPECT_EQ(root->FindCallee("f")().As<std::string>(), "a");
  int lookups = a->lookups;
  EXPECT_EQ(root->FindCallee("f")().As<std::string>(), "a");
  EXPECT_EQ(a->lookups, lookups) << "the second lookup should be remembered";

  EXPECT_FALSE(root->FindCallee("test.module.callee"));
  RegisterGlobal("test.module.callee", Function::FromTyped("callee", [] { return 7; }));
  EXPECT_EQ(root->FindCallee("test.module.callee")().As<int>(), 7);
  RemoveGlobal("test.module.callee");
  EXPECT_FALSE(root->FindCallee("test.module.callee"));
  EXPECT_FALSE(root->FindCallee("main")) << "the module's own functions are not callees";
}

TEST(Module, DefaultsSayWhatThereIs) {
  auto a = Named("a", "f");
  try {
    a->InspectSource("ptx");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "a module of kind named has no source in format ptx; it has ll, asm");
  }
  try {
    a->SaveToBytes();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a module of kind named cannot be saved to bytes");
  }
}

TEST(Module, StandsInAValue) {
  Module module = AsModule(Named("a", "f"));
  Any any(module);
  EXPECT_EQ(any.type_index(), kTernModule);
  EXPECT_EQ(any.As<Module>().get(), module.get());
}

}  // namespace
}  // namespace tern::ffi
