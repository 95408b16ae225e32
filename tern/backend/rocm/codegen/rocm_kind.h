// SPDX-License-Identifier: Apache-2.0
//
// The target kind `rocm`: AMD GPUs, through LLVM.
#ifndef TERN_BACKEND_ROCM_CODEGEN_ROCM_KIND_H_
#define TERN_BACKEND_ROCM_CODEGEN_ROCM_KIND_H_

#include "tern/target/target.h"

namespace tern::backend::rocm {

inline constexpr const char* kRocm = "rocm";

// Where -embed_tir puts the kernels as the code generator got them.
inline constexpr const char* kTirSection = ".tern.tir";

// Registers a kind: with its code generator where the build has LLVM, else with the reason why
// there is none.
void RegisterKind(target::TargetKind kind);

}  // namespace tern::backend::rocm

#endif  // TERN_BACKEND_ROCM_CODEGEN_ROCM_KIND_H_
