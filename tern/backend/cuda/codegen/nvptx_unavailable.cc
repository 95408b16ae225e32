// SPDX-License-Identifier: Apache-2.0
//
// RegisterNvptx of a build without LLVM.
#include "tern/backend/cuda/codegen/nvptx_kind.h"

namespace tern::backend::cuda {

void RegisterNvptx() {
  target::TargetKind kind = NvptxKind();
  kind.unavailable = "needs LLVM; this build has TERN_LLVM=OFF";
  target::RegisterTargetKind(std::move(kind));
}

}  // namespace tern::backend::cuda
