// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/llvm_target.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/runtime/artifact/artifact.h"

namespace tern::codegen {
namespace {

LLVMTarget Make(const std::string& text) {
  Initialize();
  return LLVMTarget(target::Target::Parse(text));
}

// What making the target fails with, or "".
std::string Failure(const std::string& text) {
  try {
    Make(text);
  } catch (const Error& error) {
    return error.kind() + ": " + error.message();
  }
  return "";
}

TEST(LLVMTarget, DefaultIsTheBaselineOfThisMachine) {
  LLVMTarget target = Make("llvm");
  EXPECT_EQ(target.triple(), runtime::HostTriple());
  EXPECT_TRUE(target.IsHost());
  EXPECT_EQ(target.cpu(), target.arch().baseline_cpu);
  EXPECT_TRUE(target.FeaturesMissingHere().empty());
}

TEST(LLVMTarget, TripleLosesItsVendor) {
  EXPECT_EQ(Make("llvm -mtriple=x86_64-pc-linux-gnu").triple(), "x86_64-linux-gnu");
  EXPECT_EQ(Make("llvm -mtriple=aarch64-unknown-linux-gnu").triple(), "aarch64-linux-gnu");
  EXPECT_EQ(Make("llvm -mtriple=riscv64-linux-musl").triple(), "riscv64-linux-musl");
}

TEST(LLVMTarget, TripleOfWebAssemblyIsTheUsualOne) {
  EXPECT_EQ(Make("llvm -mtriple=wasm32-unknown-unknown").triple(), "wasm32-unknown-unknown");
  EXPECT_EQ(Make("llvm -mtriple=wasm32").triple(), "wasm32-unknown-unknown");
}

TEST(LLVMTarget, BaselineHasWhatTheSystemAsksFor) {
  EXPECT_TRUE(Make("llvm -mtriple=riscv64-linux-gnu").HasFeature("d"));
  EXPECT_FALSE(Make("llvm -mtriple=x86_64-linux-gnu").HasFeature("avx"));
  EXPECT_TRUE(Make("llvm -mtriple=x86_64-linux-gnu -mattr=+avx2").HasFeature("avx"));
  EXPECT_TRUE(Make("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell").HasFeature("f16c"));
  EXPECT_FALSE(
      Make("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -mattr=-f16c").HasFeature("f16c"));
}

TEST(LLVMTarget, NativeRunsHere) {
  LLVMTarget target = Make("llvm -mcpu=native");
  EXPECT_NE(target.cpu(), "native");
  EXPECT_TRUE(target.FeaturesMissingHere().empty());
}

// A huge block is generated without optimisation; what comes after it is not.
TEST(LLVMTarget, HugeBlocksLeaveTheMachineAsItWas) {
  LLVMTarget target = Make("llvm");
  std::string body = "  %v0 = load i32, ptr %p\n", huge;
  for (int i = 1; i <= 10001; ++i)
    huge += "  %v" + std::to_string(i) + " = mul i32 %v" + std::to_string(i - 1) + ", %v0\n";
  auto function = [&](const std::string& rest, const std::string& result) {
    return "define i32 @f(ptr %p) {\n" + body + rest + "  ret i32 " + result + "\n}\n";
  };
  const std::string small = function("  %v1 = mul i32 %v0, 24\n  %v2 = add i32 %v1, %v0\n", "%v2");
  auto assembly = [&](const std::string& text) {
    return target.EmitText(text, LLVMTarget::Output::kAssembly);
  };
  const std::string before = assembly(small);
  assembly(function(huge, "%v10001"));
  EXPECT_EQ(assembly(small), before);
}

TEST(LLVMTarget, WrongTripleListsLegalOnes) {
  std::string failure = Failure("llvm -mtriple=toaster");
  EXPECT_NE(failure.find("ValueError: -mtriple=toaster"), std::string::npos) << failure;
  EXPECT_NE(failure.find("aarch64-linux-gnu, riscv64-linux-gnu, wasm32-unknown-unknown, "
                         "x86_64-linux-gnu"),
            std::string::npos)
      << failure;
  EXPECT_NE(Failure("llvm -mtriple=nvptx64-nvidia-cuda"), "");
}

TEST(LLVMTarget, WrongCpuNamesNearOnes) {
  std::string failure = Failure("llvm -mtriple=x86_64-linux-gnu -mcpu=haswel");
  EXPECT_NE(failure.find("ValueError: -mcpu=haswel: no CPU of x86_64-linux-gnu"), std::string::npos)
      << failure;
  EXPECT_NE(failure.find("haswell"), std::string::npos) << failure;
}

TEST(LLVMTarget, WrongFeatureNamesNearOnes) {
  std::string failure = Failure("llvm -mtriple=x86_64-linux-gnu -mattr=+axv2");
  EXPECT_NE(failure.find("no feature 'axv2' of x86_64-linux-gnu"), std::string::npos) << failure;
  EXPECT_NE(failure.find("avx2"), std::string::npos) << failure;
  EXPECT_NE(Failure("llvm -mtriple=x86_64-linux-gnu -mattr=avx2").find("has no sign"),
            std::string::npos);
}

TEST(LLVMTarget, NativeOfAnotherMachineIsRefused) {
  std::string other =
      runtime::HostTriple() == "x86_64-linux-gnu" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
  std::string failure = Failure("llvm -mcpu=native -mtriple=" + other);
  EXPECT_NE(failure.find("the target is " + other), std::string::npos) << failure;
}

TEST(LLVMTarget, TextWithAMistakeIsRefused) {
  try {
    Make("llvm").EmitText("define i32 @f( {", LLVMTarget::Output::kAssembly);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("line 1 of the LLVM IR"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace tern::codegen
