// SPDX-License-Identifier: Apache-2.0
//
// RegisterKind of a build without LLVM.
#include "tern/backend/rocm/codegen/rocm_kind.h"

namespace tern::backend::rocm {

void RegisterKind(target::TargetKind kind) {
  kind.unavailable = "needs LLVM; this build has TERN_LLVM=OFF";
  target::RegisterTargetKind(std::move(kind));
}

}  // namespace tern::backend::rocm
