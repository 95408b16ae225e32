// SPDX-License-Identifier: Apache-2.0
//
// Matmuls by cuBLASLt (`--offload cublaslt`), which the machine that runs the model has.
#ifndef TERN_BACKEND_CUDA_OP_CUBLASLT_H_
#define TERN_BACKEND_CUDA_OP_CUBLASLT_H_

namespace tern::backend::cuda {

void RegisterCublasLt();

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_OP_CUBLASLT_H_
