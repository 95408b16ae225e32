// SPDX-License-Identifier: Apache-2.0
//
// RegisterLLVM of a build with LLVM.
#include "tern/backend/cpu/codegen/llvm/llvm_module.h"
#include "tern/backend/cpu/codegen/llvm_kind.h"
#include "tern/ffi/registry.h"

namespace tern::backend::cpu {

void RegisterLLVM() {
  target::RegisterTargetKind(LLVMKind());
  ffi::RegisterGlobal("target.build.llvm",
                      ffi::Function::FromTyped("target.build.llvm", BuildLLVM));
}

}  // namespace tern::backend::cpu
