// SPDX-License-Identifier: Apache-2.0
//
// Matmuls by cuBLASLt, which is opened at first use. They are launched as kernels are: on the
// stream, into graphs.
#ifndef TERN_BACKEND_CUDA_RUNTIME_CUBLASLT_H_
#define TERN_BACKEND_CUDA_RUNTIME_CUBLASLT_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "tern/backend/cuda/runtime/driver.h"

namespace tern::backend::cuda {

// y[m, n] = a[m, k] b[k, n], all compact, of one type, summed in float32 (no TF32). It is given as
// "gemm float32", "gemm float16" or "gemm bfloat16".
class LibraryGemm {
 public:
  // Throws where the text is no such thing.
  LibraryGemm(Device* device, const std::string& text);
  ~LibraryGemm();
  LibraryGemm(const LibraryGemm&) = delete;
  LibraryGemm& operator=(const LibraryGemm&) = delete;

  // Of the arguments a, b, y, m, n, k. Throws where there is no cuBLASLt.
  void Launch(const TernLaunch& launch);

 private:
  struct Plan;  // of one size: layouts, and the algorithm that the library chose

  Plan& PlanOf(int64_t m, int64_t n, int64_t k);
  // Of a stream: launches on it come one after another, those of others at the same time.
  cu::DevicePointer WorkspaceOf(cu::Stream stream);

  Device* device_;
  int type_;  // cudaDataType
  std::mutex mutex_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::unique_ptr<Plan>> plans_;
  std::map<cu::Stream, cu::DevicePointer> workspaces_;
};

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_RUNTIME_CUBLASLT_H_
