// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/codegen/nvptx_kind.h"

#include "tern/backend/cuda/codegen/gpu_kind.h"

namespace tern::backend::cuda {

target::TargetKind NvptxKind() {
  target::TargetKind kind = GpuKind(kNvptx);
  kind.description = "PTX for NVIDIA GPUs, through LLVM: no software of NVIDIA's is needed here";
  return kind;
}

}  // namespace tern::backend::cuda
