// SPDX-License-Identifier: Apache-2.0
//
// RegisterKind of a build with LLVM.
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "tern/backend/rocm/codegen/llvm/codegen_amdgpu.h"
#include "tern/backend/rocm/codegen/rocm_kind.h"
#include "tern/backend/rocm/schedule/architecture.h"
#include "tern/backend/rocm/schedule/matrix_cores.h"
#include "tern/codegen/device_hooks.h"
#include "tern/codegen/llvm/linker.h"
#include "tern/codegen/llvm/llvm_intrinsics.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/machine_power.h"
#include "tern/tir/text.h"

namespace tern::backend::rocm {
namespace {

using codegen::LLVMTarget;

void AddSection(llvm::Module* module, const std::string& text) {
  constexpr unsigned kGlobal = 1;
  llvm::Constant* bytes =
      llvm::ConstantDataArray::getString(module->getContext(), text, /*AddNull=*/false);
  auto* variable = new llvm::GlobalVariable(*module, bytes->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::InternalLinkage, bytes, "tern.tir",
                                            nullptr, llvm::GlobalValue::NotThreadLocal, kGlobal);
  variable->setSection(kTirSection);
  llvm::appendToCompilerUsed(*module, {variable});
}

ffi::Module Build(const ir::IRModule& module, const target::Target& target) {
  LLVMTarget machine("amdgcn-amd-amdhsa", target->GetString("arch"), "");
  llvm::LLVMContext context;
  CodeGenAmdgpu gen(context, machine, target->GetString("arch"), target::WarpSize(target),
                    target->GetInt("max_threads"));
  for (const auto& [name, function] : module->functions) gen.AddKernel(tir::AsPrimFunc(function));
  std::unique_ptr<llvm::Module> code = gen.Finish();
  if (target->attrs.at("embed_tir").As<bool>()) AddSection(code.get(), tir::PrintModule(module));
  machine.Optimize(code.get(), LLVMTarget::Loops::kOfThreads);
  std::string ir;
  llvm::raw_string_ostream(ir) << *code;
  std::string changed = codegen::PostProcess(kRocm, ir);
  if (changed != ir) code = machine.Parse(ir = changed, context);
  std::optional<std::string> program = codegen::CompileByHook(kRocm, ir);
  if (!program)
    program = codegen::LinkDeviceObject({machine.Emit(code.get(), LLVMTarget::Output::kObject)},
                                        "elf64_amdgpu");
  return runtime::CreateDeviceModule(
      {.kind = kRocm,
       .fmt = "hsaco",
       .fmap = gen.kernels(),
       .payload = {{"", *program}},
       .source = {{"ll", ir}, {"asm", machine.EmitText(ir, LLVMTarget::Output::kAssembly)}}});
}

// exp and erf of float32 are made of powers of two, which the machine has; the interpreter too, so
// that it can run what comes of them.
void RegisterMath() {
  auto is_float32 = [](DataType dtype) { return dtype == DataType::Float(32); };
  tir::KeepIntrinsics(kRocm, {"exp2"}, is_float32);
  using namespace tir::math;
  MachinePower machine = {.power = [](const Expr& x) { return Call("exp2", {x}); },
                          .saturated_fma =
                              [](const Expr& x, const Expr& scale, const Expr& offset) {
                                return Min(Max(Call("fma", {x, scale, offset}), Const(x, 0)),
                                           Const(x, 1));
                              }};
  for (auto [name, function] : {std::pair("exp", &ExpByPower), std::pair("erf", &ErfByPower)})
    tir::RegisterLoweringRule(name, kRocm, [=, function = function](const ir::CallNode* call) {
      const Expr& x = call->args[0];
      return is_float32(x.dtype()) ? function(x, machine) : Expr();
    });
}

}  // namespace

void RegisterKind(target::TargetKind kind) {
  codegen::RegisterLLVMIntrinsics();
  kind.intrinsic_namespaces = {codegen::kLLVMNamespace};
  target::RegisterTargetKind(std::move(kind));
  // What there are exact instructions for; there is no library of functions.
  tir::KeepIntrinsics(kRocm, {"sqrt", "floor", "ceil", "trunc", "round", "fma", "copysign"},
                      tir::IsWideFloat);
  tir::KeepIntrinsics(kRocm, {"abs", "popcount", "clz", "ctz"},
                      [](DataType dtype) { return dtype.is_integer() || tir::IsWideFloat(dtype); });
  RegisterMath();
  tir::KeepIntrinsics(kRocm, {tir::intrinsic::kWarpMatrixMultiplyTile}, [](DataType sums) {
    target::Target target = target::CurrentTarget();
    return MatrixCoresOf(target->GetString("arch")) != MatrixCores::kNone &&
           sums.lanes() * target::WarpSize(target) == 256;
  });
  RegisterMatrixCores();
  ffi::RegisterGlobal("target.build.rocm", ffi::Function::FromTyped("target.build.rocm", Build));
}

}  // namespace tern::backend::rocm
