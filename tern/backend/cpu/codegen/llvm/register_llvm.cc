// SPDX-License-Identifier: Apache-2.0
//
// RegisterLLVM of a build with LLVM.
#include "tern/backend/cpu/codegen/llvm/llvm_module.h"
#include "tern/backend/cpu/codegen/llvm_kind.h"
#include "tern/backend/cpu/schedule/tensor_intrinsics.h"
#include "tern/codegen/llvm/llvm_intrinsics.h"
#include "tern/codegen/llvm/llvm_target.h"
#include "tern/ffi/registry.h"
#include "tern/tir/intrinsic_rules.h"

namespace tern::backend::cpu {

namespace {

// Without the instruction LLVM would call a function of the C library, which generated code has
// not.
void KeepWithFeature(const char* intrinsic, const char* codegen::HostArch::* feature) {
  tir::KeepIntrinsics("llvm", {intrinsic}, [feature](DataType dtype) {
    if (!tir::IsWideFloat(dtype)) return false;
    codegen::LLVMTarget target(target::CurrentTarget());
    return target.HasFeature(target.arch().*feature);
  });
}

}  // namespace

void RegisterLLVM() {
  codegen::RegisterLLVMIntrinsics();
  RegisterDotIntrinsics();
  target::TargetKind kind = LLVMKind();
  kind.intrinsic_namespaces = {codegen::kLLVMNamespace};
  // Without instructions LLVM would call functions of a compiler's library.
  kind.stores = [](const target::Target& target, DataType dtype) {
    if (dtype != DataType::Float(16)) return false;
    codegen::LLVMTarget machine(target);
    return machine.HasFeature(machine.arch().half_feature);
  };
  kind.pointer_bytes = [](const target::Target& target) {
    return codegen::PointerBytes(target->GetString("mtriple"));
  };
  kind.vector_bytes = [](const target::Target& target) -> int64_t {
    codegen::LLVMTarget machine(target);
    return machine.HasFeature("avx512f") ? 64 : machine.HasFeature("avx2") ? 32 : 16;
  };
  target::RegisterTargetKind(std::move(kind));
  for (const char* intrinsic : {"floor", "ceil", "trunc", "round"})
    KeepWithFeature(intrinsic, &codegen::HostArch::round_feature);
  KeepWithFeature("fma", &codegen::HostArch::fma_feature);
  tir::KeepIntrinsics("llvm", {"sqrt", "copysign"}, tir::IsWideFloat);
  tir::KeepIntrinsics("llvm", {"abs", "popcount", "clz", "ctz"},
                      [](DataType dtype) { return dtype.is_integer() || tir::IsWideFloat(dtype); });
  ffi::RegisterGlobal("target.build.llvm",
                      ffi::Function::FromTyped("target.build.llvm", BuildLLVM));
}

}  // namespace tern::backend::cpu
