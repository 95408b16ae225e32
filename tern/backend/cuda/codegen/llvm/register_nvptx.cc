// SPDX-License-Identifier: Apache-2.0
//
// RegisterNvptx of a build with LLVM.
#include "tern/backend/cuda/codegen/gpu_kind.h"
#include "tern/backend/cuda/codegen/llvm/codegen_nvptx.h"
#include "tern/backend/cuda/codegen/llvm/nvptx_math.h"
#include "tern/backend/cuda/codegen/nvptx_kind.h"
#include "tern/codegen/device_hooks.h"
#include "tern/codegen/llvm/llvm_intrinsics.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/tir/intrinsic_rules.h"

namespace tern::backend::cuda {
namespace {

using codegen::LLVMTarget;

// The version of PTX is the first that has the architecture, so that old drivers take it.
LLVMTarget MachineOf(const target::Target& target) {
  return {"nvptx64-nvidia-cuda", target->GetString("arch"), ""};
}

ffi::Module Build(const ir::IRModule& module, const target::Target& target) {
  LLVMTarget machine = MachineOf(target);
  llvm::LLVMContext context;
  CodeGenNvptx gen(context, machine);
  for (const auto& [name, function] : module->functions) gen.AddKernel(tir::AsPrimFunc(function));
  std::unique_ptr<llvm::Module> code = gen.Finish();
  machine.Optimize(code.get(), LLVMTarget::Loops::kOfThreads);
  std::string ir;
  llvm::raw_string_ostream(ir) << *code;
  std::string ptx =
      codegen::PostProcess(kNvptx, machine.Emit(code.get(), LLVMTarget::Output::kAssembly));
  auto compiled = codegen::CompileByHook(kNvptx, ptx);
  return runtime::CreateDeviceModule({.kind = "cuda",
                                      .fmt = compiled ? CompiledFormat(*compiled) : "ptx",
                                      .fmap = gen.kernels(),
                                      .payload = {{"", compiled.value_or(ptx)}},
                                      .source = {{"ll", ir}, {"ptx", ptx}}});
}

}  // namespace

void RegisterNvptx() {
  codegen::RegisterLLVMIntrinsics();
  target::TargetKind kind = NvptxKind();
  kind.intrinsic_namespaces = {codegen::kLLVMNamespace};
  target::RegisterTargetKind(std::move(kind));
  // What there are exact instructions for; there is no library of functions.
  tir::KeepIntrinsics(kNvptx, {"sqrt", "floor", "ceil", "trunc", "round", "fma", "copysign"},
                      tir::IsWideFloat);
  tir::KeepIntrinsics(kNvptx, {"abs", "popcount", "clz", "ctz"},
                      [](DataType dtype) { return dtype.is_integer() || tir::IsWideFloat(dtype); });
  KeepTensorCores(kNvptx);
  RegisterNvptxMath();
  ffi::RegisterGlobal("target.build.nvptx", ffi::Function::FromTyped("target.build.nvptx", Build));
}

}  // namespace tern::backend::cuda
