// SPDX-License-Identifier: Apache-2.0
//
// Functions of float32 that the machine has a part of: exp, exp2, erf and tanh, by its power of
// two.
#ifndef TERN_BACKEND_CUDA_CODEGEN_LLVM_NVPTX_MATH_H_
#define TERN_BACKEND_CUDA_CODEGEN_LLVM_NVPTX_MATH_H_

namespace tern::backend::cuda {

void RegisterNvptxMath();

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_CODEGEN_LLVM_NVPTX_MATH_H_
