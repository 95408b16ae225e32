// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/codegen/nvptx_kind.h"

#include "tern/backend/cuda/codegen/gpu_kind.h"
#include "tern/tir/print_call.h"

namespace tern::backend::cuda {

target::TargetKind NvptxKind() {
  target::TargetKind kind = GpuKind(kNvptx);
  kind.description = "PTX for NVIDIA GPUs, through LLVM: no software of NVIDIA's is needed here";
  kind.takes_call = [takes = kind.takes_call](const ir::CallNode* call) {
    return takes(call) && call->name != tir::intrinsic::kPrint;
  };
  return kind;
}

}  // namespace tern::backend::cuda
