// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/plugin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tern/codegen/backend_registrar.h"
#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/plugin/plugin_search.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/tir/text.h"

namespace tern::codegen {
namespace {

using runtime::ErrorOf;

class CodegenPluginTest : public testing::Test {
 protected:
  CodegenPluginTest() { Initialize(); }
  static std::string File(const std::string& name) {
    return std::string(TERN_TEST_CODEGENS) + "/" +
           runtime::PluginFileName(runtime::PluginPart::kCodegen, name);
  }
  runtime::ScopedVariable path_{"TERN_BACKEND_PATH", TERN_TEST_CODEGENS};
};

constexpr const char* kHalf = R"(func f(A: float32[8], B: float32[8]) {
  for i in 0..8 {
    B[i] = pebble.half(A[i])
  }
}
)";

TEST_F(CodegenPluginTest, KindsTagsAndIntrinsicsAreFoundByNeed) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] { EXPECT_EQ(target::Target::Parse("pebble")->kind->name, "pebble"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(IsCodegenLoaded("pebble"));
  EXPECT_EQ(target::Target::Parse("pebble/small")->kind->name, "pebble");
  ir::IRModule module = tir::ParseModule("half.tir", kHalf);
  EXPECT_EQ(tir::PrintModule(module), kHalf);
  EXPECT_EQ(ir::GetPass("pebble.nothing").name, "pebble.nothing");
  ffi::Module compiled = Compile(module, target::Target::Parse("pebble"));
  ASSERT_EQ(compiled->imports().size(), 1u);
  EXPECT_EQ(compiled->imports()[0]->kind(), "pebble");
}

// Rules that choose schedules are for its own kinds.
TEST_F(CodegenPluginTest, ScheduleRulesAreForItsKinds) {
  auto rules_for = [](const char* target) {
    std::vector<std::string> names;
    auto info = schedule::TargetInfo::Of(target::Target::Parse(target));
    for (const schedule::Rule* rule : schedule::RulesFor(schedule::BlockKind::kMatmul, info))
      names.push_back(rule->name);
    return std::count(names.begin(), names.end(), "pebble.one_block");
  };
  EXPECT_EQ(rules_for("pebble"), 1);
  EXPECT_EQ(rules_for("c"), 0);
}

// By its rule for all kinds, and by its reference in the interpreter.
TEST_F(CodegenPluginTest, IntrinsicsRunOnOtherTargets) {
  ir::IRModule module = tir::ParseModule("half.tir", kHalf);
  for (const target::Target& target :
       {target::Target::DefaultHost(), target::Target::Parse("interp")}) {
    runtime::Tensor a = runtime::Tensor::Empty({8}, DataType::Float(32)),
                    b = runtime::Tensor::Empty({8}, DataType::Float(32));
    for (int i = 0; i < 8; ++i) a.as<float>()[i] = static_cast<float>(i);
    codegen::LoadLinkable(Compile(module, target))->GetFunction("f")(a, b);
    EXPECT_EQ(b.as<float>()[7], 3.5f) << target->str();
  }
}

struct Broken {
  const char *name, *reason;
  friend void PrintTo(const Broken& plugin, std::ostream* out) { *out << plugin.name; }
};
class BrokenCodegenTest : public CodegenPluginTest, public testing::WithParamInterface<Broken> {};

// Why it is refused, and that nothing of it stays.
TEST_P(BrokenCodegenTest, LeavesNothingBehind) {
  LoadCodegen("pebble");
  auto everything = [] {
    std::vector<std::string> names = ffi::GlobalNames();
    for (const auto& more : {ir::IntrinsicNames(), ir::PassNames()})
      names.insert(names.end(), more.begin(), more.end());
    for (const target::TargetKind* kind : target::TargetKinds()) names.push_back(kind->name);
    for (const schedule::Rule* rule : schedule::AllRules()) names.push_back(rule->name);
    return names;
  };
  std::vector<std::string> before = everything();
  auto [name, reason] = GetParam();
  std::string error = ErrorOf([&, name = name] { LoadCodegen(name); });
  EXPECT_EQ(error.substr(0, (File(name) + ": " + reason).size()), File(name) + ": " + reason);
  EXPECT_EQ(everything(), before);
  EXPECT_FALSE(IsCodegenLoaded(name));
  EXPECT_FALSE(tir::HasLoweringRule(std::string(name) + ".half", ""));
  EXPECT_NE(ErrorOf([&, name = name] { target::Target::Parse(name); }).find("unknown target"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenCodegenTest,
    testing::Values(Broken{"fails_late",
                           "tern_codegen_plugin threw: this code generator always fails"},
                    Broken{"taken_tag", "target pebble/small is already registered"},
                    Broken{"foreign_name",
                           "intrinsic half: those of backend foreign_name are named "
                           "foreign_name.<anything>"},
                    Broken{"foreign_rule",
                           "a lowering rule of exp: backend foreign_rule has added no target kind "
                           "llvm"},
                    Broken{"other_tern",
                           "built with another Tern (headers 0, compiler 0; this one is headers "},
                    Broken{"no_limits",
                           "target kind no_limits: a device has the attribute max_threads, an "
                           "integer with a default"},
                    Broken{"default_host",
                           "target kind default_host: only a kind of the tree can be the default "
                           "host"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(CodegenPluginTest, AbsentIsAnErrorOnRequest) {
  EXPECT_EQ(ErrorOf([] {
              LoadCodegen("absent");
            }).find("libtern_codegen_absent.so was not found in " TERN_TEST_CODEGENS),
            0u);
}

}  // namespace
}  // namespace tern::codegen
