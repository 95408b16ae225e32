// SPDX-License-Identifier: Apache-2.0
//
// The target kind `llvm`: CPUs, through LLVM.
#ifndef TERN_BACKEND_CPU_CODEGEN_LLVM_KIND_H_
#define TERN_BACKEND_CPU_CODEGEN_LLVM_KIND_H_

#include "tern/target/target.h"

namespace tern::backend::cpu {

// What the kind is, in every build.
target::TargetKind LLVMKind();
// Registers it: with its code generator where the build has LLVM, else with the reason why there is
// none.
void RegisterLLVM();

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_LLVM_KIND_H_
