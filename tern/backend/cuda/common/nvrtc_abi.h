// SPDX-License-Identifier: Apache-2.0
//
// The part of NVRTC that is used, declared from its documentation, so that no SDK is needed to
// build.
#ifndef TERN_BACKEND_CUDA_COMMON_NVRTC_ABI_H_
#define TERN_BACKEND_CUDA_COMMON_NVRTC_ABI_H_

#include <cstddef>

namespace tern::backend::cuda::nvrtc {

using Program = struct ProgramHandle*;
using Result = int;

#define TERN_NVRTC_FUNCTIONS(X)                                                   \
  X(Version, "nvrtcVersion", int*, int*)                                          \
  X(CreateProgram, "nvrtcCreateProgram", Program*, const char*, const char*, int, \
    const char* const*, const char* const*)                                       \
  X(DestroyProgram, "nvrtcDestroyProgram", Program*)                              \
  X(CompileProgram, "nvrtcCompileProgram", Program, int, const char* const*)      \
  X(GetProgramLogSize, "nvrtcGetProgramLogSize", Program, size_t*)                \
  X(GetProgramLog, "nvrtcGetProgramLog", Program, char*)                          \
  X(GetCodeSize, "nvrtcGetCUBINSize", Program, size_t*)                           \
  X(GetCode, "nvrtcGetCUBIN", Program, char*)                                     \
  X(GetPtxSize, "nvrtcGetPTXSize", Program, size_t*)                              \
  X(GetPtx, "nvrtcGetPTX", Program, char*)

struct Functions {
#define TERN_NVRTC_DECLARE(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
  TERN_NVRTC_FUNCTIONS(TERN_NVRTC_DECLARE)
#undef TERN_NVRTC_DECLARE
};

}  // namespace tern::backend::cuda::nvrtc

#endif  // TERN_BACKEND_CUDA_COMMON_NVRTC_ABI_H_
