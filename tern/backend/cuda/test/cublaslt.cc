// SPDX-License-Identifier: Apache-2.0
//
// A cuBLASLt for tests: matmuls by a kernel of one thread for each element, launched through the
// driver that stands in, so that streams and graphs have them. Of float32 alone.
#include <cstring>
#include <mutex>
#include <vector>

#include "tern/backend/cuda/common/nvrtc_abi.h"
#include "tern/backend/cuda/runtime/cublaslt_abi.h"
#include "tern/backend/cuda/runtime/cuda_abi.h"

using namespace tern::backend::cuda;

extern "C" {
int nvrtcCreateProgram(nvrtc::Program*, const char*, const char*, int, const char* const*,
                       const char* const*);
int nvrtcCompileProgram(nvrtc::Program, int, const char* const*);
int nvrtcGetCUBINSize(nvrtc::Program, size_t*);
int nvrtcGetCUBIN(nvrtc::Program, char*);
int nvrtcDestroyProgram(nvrtc::Program*);
int cuModuleLoadData(cu::Module*, const void*);
int cuModuleGetFunction(cu::Function*, cu::Module, const char*);
int cuModuleUnload(cu::Module);
int cuLaunchKernel(cu::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, cu::Stream, void**, void**);
}

namespace {

enum : int { kSuccess = 0, kInvalidValue = 7, kNotSupported = 15, kExecutionFailed = 13 };

struct Matrix {
  int type;
  uint64_t rows, columns;
  int64_t stride;
};

constexpr const char* kSource = R"(
extern "C" __global__ void gemm(const float* a, const float* b, float* y, long long m, long long n,
                                long long k) {
  long long at = blockIdx.x * 64LL + threadIdx.x;
  if (at >= m * n) return;
  float sum = 0;
  for (long long i = 0; i < k; ++i) sum += a[at % m + i * m] * b[at / m * k + i];
  y[at] = sum;
}
)";

// For the descriptions that there are.
std::mutex mutex;
int num_descs = 0;
cu::Module module = nullptr;

// Null where it cannot be made.
cu::Function Kernel() {
  std::lock_guard lock(mutex);
  cu::Function kernel = nullptr;
  nvrtc::Program program = nullptr;
  const char* options[] = {"--gpu-architecture=sm_90"};
  size_t size = 0;
  if (!module) {
    if (nvrtcCreateProgram(&program, kSource, "gemm", 0, nullptr, nullptr) != 0) return nullptr;
    if (nvrtcCompileProgram(program, 1, options) != 0 || nvrtcGetCUBINSize(program, &size) != 0)
      return nullptr;
    std::vector<char> code(size);
    if (nvrtcGetCUBIN(program, code.data()) != 0 || cuModuleLoadData(&module, code.data()) != 0)
      return nullptr;
    nvrtcDestroyProgram(&program);
  }
  return cuModuleGetFunction(&kernel, module, "gemm") == 0 ? kernel : nullptr;
}

Matrix* Of(lt::Layout layout) { return reinterpret_cast<Matrix*>(layout); }
int Free(void* memory) { return ::operator delete(memory), kSuccess; }

}  // namespace

#define TERN_LT_API extern "C" __attribute__((visibility("default"))) int

TERN_LT_API cublasLtCreate(lt::Handle* out) {
  *out = reinterpret_cast<lt::Handle>(new int);
  return kSuccess;
}
TERN_LT_API cublasLtMatmulDescCreate(lt::Desc* out, int compute, int scale) {
  if (compute != lt::kComputeFloat32 || scale != lt::kReal32) return kNotSupported;
  std::lock_guard lock(mutex);
  ++num_descs;
  *out = reinterpret_cast<lt::Desc>(::operator new(1));
  return kSuccess;
}
TERN_LT_API cublasLtMatmulDescDestroy(lt::Desc desc) {
  std::lock_guard lock(mutex);
  if (--num_descs == 0 && module) cuModuleUnload(module), module = nullptr;
  return Free(desc);
}
TERN_LT_API cublasLtMatrixLayoutCreate(lt::Layout* out, int type, uint64_t rows, uint64_t columns,
                                       int64_t stride) {
  if (stride < static_cast<int64_t>(rows)) return kInvalidValue;
  *out = reinterpret_cast<lt::Layout>(new Matrix{type, rows, columns, stride});
  return kSuccess;
}
TERN_LT_API cublasLtMatrixLayoutDestroy(lt::Layout layout) { return delete Of(layout), kSuccess; }
TERN_LT_API cublasLtMatmulPreferenceCreate(lt::Preference* out) {
  *out = reinterpret_cast<lt::Preference>(::operator new(1));
  return kSuccess;
}
TERN_LT_API cublasLtMatmulPreferenceDestroy(lt::Preference preference) { return Free(preference); }
TERN_LT_API cublasLtMatmulPreferenceSetAttribute(lt::Preference, int attribute, const void*,
                                                 size_t size) {
  return attribute == lt::kMaxWorkspaceBytes && size == sizeof(size_t) ? kSuccess : kInvalidValue;
}
TERN_LT_API cublasLtMatmulAlgoGetHeuristic(lt::Handle, lt::Desc, lt::Layout a, lt::Layout b,
                                           lt::Layout, lt::Layout y, lt::Preference, int,
                                           lt::Choice* choices, int* found) {
  *found = 0;
  if (Of(a)->columns != Of(b)->rows || Of(y)->rows != Of(a)->rows ||
      Of(y)->columns != Of(b)->columns)
    return kInvalidValue;
  choices[0] = {{}, 256, kSuccess, 1, {}};
  *found = 1;
  return kSuccess;
}
TERN_LT_API cublasLtMatmul(lt::Handle, lt::Desc, const void* alpha, const void* a, lt::Layout left,
                           const void* b, lt::Layout right, const void* beta, const void*,
                           lt::Layout, void* y, lt::Layout, const uint64_t*, void* workspace,
                           size_t bytes, void* stream) {
  float one = 0, zero = 0;
  std::memcpy(&one, alpha, sizeof(one));
  std::memcpy(&zero, beta, sizeof(zero));
  if (one != 1 || zero != 0 || bytes < 256 || !workspace) return kNotSupported;
  if (Of(left)->type != lt::kReal32) return kNotSupported;
  cu::Function kernel = Kernel();
  if (!kernel) return kExecutionFailed;
  auto m = static_cast<int64_t>(Of(left)->rows), k = static_cast<int64_t>(Of(left)->columns),
       n = static_cast<int64_t>(Of(right)->columns);
  void* args[] = {&a, &b, &y, &m, &n, &k};
  return cuLaunchKernel(kernel, static_cast<unsigned>((m * n + 63) / 64), 1, 1, 64, 1, 1, 0,
                        static_cast<cu::Stream>(stream), args, nullptr) == 0
             ? kSuccess
             : kExecutionFailed;
}
