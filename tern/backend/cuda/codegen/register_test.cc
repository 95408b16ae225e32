// SPDX-License-Identifier: Apache-2.0
//
// The target kind `cuda`, and what it makes.
#include <gtest/gtest.h>

#include "tern/backend/cuda/schedule/architecture.h"
#include "tern/compile.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/kernel/device_artifact.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/tir/text.h"

namespace tern::backend::cuda {
namespace {

ffi::Module Build(const std::string& target, const std::string& dtype = "float32") {
  Initialize();
  ir::IRModule module = tir::ParseModule(
      "test.tir", "func copy(A: " + dtype + "[n], B: " + dtype +
                      "[n]) {\n  for i in 0..n {\n    block copy(v: spatial(n) = i) {\n      B[v] "
                      "= A[v] + A[v]\n    }\n  }\n}\n");
  return Compile(module, target::Target::Parse(target))->imports().at(0);
}

TEST(CudaTarget, TagsHaveTheirArchitecture) {
  Initialize();
  for (const auto& [tag, text] : Tags()) {
    target::Target target = target::Target::Parse(tag);
    EXPECT_EQ(text.find("cuda -arch=" + target->GetString("arch") + " "), 0u) << text;
  }
  EXPECT_EQ(ArchitectureNumber(target::Target::Parse("nvidia/h200")), 90);
  EXPECT_EQ(ArchitectureNumber(target::Target::Parse("nvidia/b200")), 100);
  EXPECT_EQ(target::Target::Parse("cuda")->GetString("arch"), kBaselineArchitecture);
}

// Before sm_80 there is no instruction for bfloat16.
TEST(CudaTarget, BFloat16IsIntegersOnOldMachines) {
  EXPECT_NE(Build("cuda", "bfloat16")->InspectSource("cuda").find("cvt.rn.bf16.f32"),
            std::string::npos);
  EXPECT_EQ(Build("nvidia/t4", "bfloat16")->InspectSource("cuda").find("cvt.rn.bf16.f32"),
            std::string::npos);
}

// The machine that runs them compiles programs in parallel.
TEST(CudaTarget, ManyKernelsAreAProgramEach) {
  Initialize();
  auto programs = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += "func f" + std::to_string(i) + "(A: float32[n]) { for i in 0..n { A[i] = A[i] + " +
              std::to_string(i) + " } }\n";
    ffi::Module module =
        Compile(tir::ParseModule("test.tir", text), target::Target::Parse("cuda"))->imports().at(0);
    return runtime::LoadDeviceArtifact("cuda", module->SaveToBytes()).payload;
  };
  EXPECT_EQ(programs(3).count(""), 1u);
  auto many = programs(9);
  EXPECT_EQ(many.size(), 9u);
  for (const auto& [name, source] : many)
    EXPECT_NE(source.find(" " + name + "("), std::string::npos) << source;
}

TEST(CudaTarget, HooksStandInForNvrtc) {
  Initialize();
  const char *compile = "tern.callback.cuda.compile", *postproc = "tern.callback.cuda.postproc";
  ffi::RegisterGlobal(postproc, ffi::Function::FromTyped(postproc, [](std::string code) {
                        return "// changed\n" + code;
                      }));
  ffi::RegisterGlobal(compile, ffi::Function::FromTyped(compile, [](std::string code) {
                        auto target = ffi::GetGlobal("target.Current")().As<target::Target>();
                        return "made of " + code.substr(0, 10) + " for " +
                               target->GetString("arch");
                      }));
  ffi::Module ptx = Build("cuda -emit=ptx -arch=sm_89"), plain = Build("cuda");
  ffi::RemoveGlobal(compile);
  ffi::RemoveGlobal(postproc);
  EXPECT_EQ(ptx->InspectSource("ptx"), "made of // changed for sm_89");
  EXPECT_EQ(ptx->InspectSource("cuda").find("// changed\n// Written by Tern."), 0u);
  // Whatever the target says: what a hook makes is not compiled where it runs.
  EXPECT_EQ(plain->InspectSource("ptx").find("made of // changed for sm_"), 0u);
  EXPECT_EQ(plain->InspectSource("cuda").find("// changed\n"), 0u);
  EXPECT_EQ(Build("cuda")->InspectSource("").find("// Written by Tern."), 0u) << "without hooks";
}

}  // namespace
}  // namespace tern::backend::cuda
