// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/llvm/llvm_module.h"

#include <gtest/gtest.h>

#include <thread>

#include "tern/codegen/linkable_module.h"
#include "tern/codegen/llvm/llvm_target.h"
#include "tern/codegen/packed_test_function.h"
#include "tern/compile.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/tensor.h"

namespace tern::backend::cpu {
namespace {

using codegen::PackedTestFunction;

// x[0] = x[0] * 2, of every type there is.
ffi::Module BuildDoubling(const std::string& target) {
  Initialize();
  std::vector<tir::PrimFunc> functions;
  for (const char* name : {"int8", "uint64", "float16", "bfloat16", "float32", "float64"}) {
    PackedTestFunction packed(std::string("double_") + name);
    ir::Buffer x = packed.Tensor("x", *DataType::Parse(name));
    ir::Expr element = ir::BufferLoadNode::Make(x, {0});
    tir::Stmt check = tir::AssertNode::Make(element == element, "ValueError",
                                            {ir::StringImmNode::Make("x is not a number")});
    tir::Stmt store = tir::BufferStoreNode::Make(x, {0}, element * ir::MakeConst(x->dtype, 2));
    functions.push_back(packed.Make(tir::SeqNode::Make({check, store})));
  }
  return codegen::BuildForTest(functions, target::Target::Parse(target));
}

const codegen::LinkableModule& Linkable(const ffi::Module& module) {
  return dynamic_cast<const codegen::LinkableModule&>(*module);
}

std::string Failure(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

bool OnX86() { return runtime::HostTriple() == "x86_64-linux-gnu"; }
std::string OtherTriple() { return OnX86() ? "aarch64-linux-gnu" : "x86_64-linux-gnu"; }

TEST(LLVMModule, SaysWhatItIs) {
  ffi::Module module = BuildDoubling("llvm");
  EXPECT_EQ(module->kind(), "llvm");
  EXPECT_EQ(module->properties(), ffi::ModuleObj::kRunnable | ffi::ModuleObj::kLinkable);
  EXPECT_EQ(module->FunctionNames().size(), 6u);
  EXPECT_EQ(Linkable(module).triple(), runtime::HostTriple());
  EXPECT_FALSE(module->GetFunction("nonexistent"));
}

TEST(LLVMModule, FunctionsOutliveTheModule) {
  ffi::Function function = BuildDoubling("llvm")->GetFunction("double_float32");
  runtime::Tensor x = runtime::Tensor::Empty({1}, DataType::Float(32));
  *x.as<float>() = 21;
  function(x);
  EXPECT_EQ(*x.as<float>(), 42);
}

TEST(LLVMModule, ManyThreadsGetFunctions) {
  ffi::Module module = BuildDoubling("llvm");
  std::vector<int> results(8);
  std::vector<std::thread> threads;
  for (int& result : results)
    threads.emplace_back([&] {
      runtime::Tensor x = runtime::Tensor::Empty({1}, DataType::Int(8));
      *x.as<int8_t>() = 5;
      module->GetFunction("double_int8")(x);
      result = *x.as<int8_t>();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, std::vector<int>(8, 10));
}

TEST(LLVMModule, ShowsItsCode) {
  ffi::Module module = BuildDoubling("llvm");
  EXPECT_NE(module->InspectSource("").find("@__tern_double_float32("), std::string::npos);
  EXPECT_EQ(module->InspectSource(""), module->InspectSource("ll"));
  EXPECT_NE(module->InspectSource("asm").find("__tern_double_float32:"), std::string::npos);
  std::string failure = Failure([&] { module->InspectSource("ptx"); });
  EXPECT_NE(failure.find("asm"), std::string::npos) << failure;
}

TEST(LLVMModule, LinksForEveryArchitecture) {
  const std::pair<const char*, int> machines[] = {
      {"x86_64-linux-gnu", 62}, {"aarch64-linux-gnu", 183}, {"riscv64-linux-gnu", 243}};
  for (const auto& [triple, number] : machines) {
    ffi::Module module = BuildDoubling(std::string("llvm -mtriple=") + triple);
    std::string bytes = Linkable(module).LinkSharedObject("");
    ASSERT_GT(bytes.size(), 64u);
    EXPECT_EQ(bytes.substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_EQ(static_cast<uint8_t>(bytes[18]) + 256 * static_cast<uint8_t>(bytes[19]), number)
        << triple;
    EXPECT_EQ(bytes,
              Linkable(BuildDoubling(std::string("llvm -mtriple=") + triple)).LinkSharedObject(""));
  }
}

TEST(LLVMModule, ForeignCodeDoesNotRunHere) {
  ffi::Module module = BuildDoubling("llvm -mtriple=" + OtherTriple());
  EXPECT_EQ(module->properties(), ffi::ModuleObj::kLinkable);
  EXPECT_EQ(Failure([&] { module->GetFunction("double_int8"); }),
            "compiled for " + OtherTriple() + "; this machine is " + runtime::HostTriple());
}

TEST(LLVMModule, CodeForACpuThatThisOneIsNotDoesNotRun) {
  Initialize();
  std::string target = OnX86() ? "llvm -mattr=+xop" : "llvm -mattr=+sve2";
  if (codegen::LLVMTarget(target::Target::Parse(target)).FeaturesMissingHere().empty())
    GTEST_SKIP() << "SKIPPED: this CPU has the feature";
  ffi::Module module = BuildDoubling(target);
  std::string failure = Failure([&] { module->GetFunction("double_int8"); });
  EXPECT_NE(failure.find("this machine's CPU lacks "), std::string::npos) << failure;
}

TEST(LLVMModule, TheSectionIsThereUnchanged) {
  ffi::Module module = BuildDoubling("llvm");
  std::string section(1000, '\0');
  for (size_t i = 0; i < section.size(); ++i) section[i] = static_cast<char>(i * 7);
  std::string bytes = Linkable(module).LinkSharedObject(section);
  size_t at = bytes.find(section);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(at % 64, 0u);
  EXPECT_NE(bytes.find(runtime::kContainerSection), std::string::npos);
  EXPECT_EQ(bytes, Linkable(module).LinkSharedObject(section));
}

}  // namespace
}  // namespace tern::backend::cpu
