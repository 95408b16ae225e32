// SPDX-License-Identifier: Apache-2.0
//
// The target kind `nvptx`: NVIDIA GPUs, through LLVM.
#ifndef TERN_BACKEND_CUDA_CODEGEN_NVPTX_KIND_H_
#define TERN_BACKEND_CUDA_CODEGEN_NVPTX_KIND_H_

#include "tern/target/target.h"

namespace tern::backend::cuda {

inline constexpr const char* kNvptx = "nvptx";

// What the kind is, in every build.
target::TargetKind NvptxKind();
// Registers it: with its code generator where the build has LLVM, else with the reason why there is
// none.
void RegisterNvptx();

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_CODEGEN_NVPTX_KIND_H_
