// SPDX-License-Identifier: Apache-2.0
//
// RegisterLLVM of a build without LLVM.
#include "tern/backend/cpu/codegen/llvm_kind.h"

namespace tern::backend::cpu {

void RegisterLLVM() {
  target::TargetKind kind = LLVMKind();
  kind.unavailable = "needs LLVM; this build has TERN_LLVM=OFF";
  target::RegisterTargetKind(std::move(kind));
}

}  // namespace tern::backend::cpu
