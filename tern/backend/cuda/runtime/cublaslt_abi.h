// SPDX-License-Identifier: Apache-2.0
//
// The part of cuBLASLt that is used, declared from its documentation, so that no SDK is needed to
// build.
#ifndef TERN_BACKEND_CUDA_RUNTIME_CUBLASLT_ABI_H_
#define TERN_BACKEND_CUDA_RUNTIME_CUBLASLT_ABI_H_

#include <cstddef>
#include <cstdint>

namespace tern::backend::cuda::lt {

using Status = int;
using Handle = struct HandleData*;
using Desc = struct DescData*;
using Layout = struct LayoutData*;
using Preference = struct PreferenceData*;

// cudaDataType, cublasComputeType and cublasLtMatmulPreferenceAttributes.
enum : int { kReal32 = 0, kReal16 = 2, kBfloat16 = 14 };
enum : int { kComputeFloat32 = 68 };
enum : int { kMaxWorkspaceBytes = 1 };

// cublasLtMatmulHeuristicResult_t.
struct Choice {
  uint64_t algorithm[8];
  size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};

#define TERN_LT_FUNCTIONS(X)                                                                       \
  X(Create, "cublasLtCreate", Handle*)                                                             \
  X(CreateDesc, "cublasLtMatmulDescCreate", Desc*, int, int)                                       \
  X(DestroyDesc, "cublasLtMatmulDescDestroy", Desc)                                                \
  X(CreateLayout, "cublasLtMatrixLayoutCreate", Layout*, int, uint64_t, uint64_t, int64_t)         \
  X(DestroyLayout, "cublasLtMatrixLayoutDestroy", Layout)                                          \
  X(CreatePreference, "cublasLtMatmulPreferenceCreate", Preference*)                               \
  X(DestroyPreference, "cublasLtMatmulPreferenceDestroy", Preference)                              \
  X(SetPreference, "cublasLtMatmulPreferenceSetAttribute", Preference, int, const void*, size_t)   \
  X(GetHeuristic, "cublasLtMatmulAlgoGetHeuristic", Handle, Desc, Layout, Layout, Layout, Layout,  \
    Preference, int, Choice*, int*)                                                                \
  X(Matmul, "cublasLtMatmul", Handle, Desc, const void*, const void*, Layout, const void*, Layout, \
    const void*, const void*, Layout, void*, Layout, const uint64_t*, void*, size_t, void*)

struct Functions {
#define TERN_LT_DECLARE(name, symbol, ...) Status (*name)(__VA_ARGS__) = nullptr;
  TERN_LT_FUNCTIONS(TERN_LT_DECLARE)
#undef TERN_LT_DECLARE
};

}  // namespace tern::backend::cuda::lt

#endif  // TERN_BACKEND_CUDA_RUNTIME_CUBLASLT_ABI_H_
