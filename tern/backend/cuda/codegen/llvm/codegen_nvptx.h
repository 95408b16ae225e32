// SPDX-License-Identifier: Apache-2.0
//
// Kernels as LLVM IR for NVIDIA's GPUs.
#ifndef TERN_BACKEND_CUDA_CODEGEN_LLVM_CODEGEN_NVPTX_H_
#define TERN_BACKEND_CUDA_CODEGEN_LLVM_CODEGEN_NVPTX_H_

#include "tern/codegen/llvm/kernel_codegen_llvm.h"

namespace tern::backend::cuda {

class CodeGenNvptx : public codegen::KernelCodeGenLLVM {
 public:
  using KernelCodeGenLLVM::KernelCodeGenLLVM;

 protected:
  void MakeKernel(llvm::Function* kernel, int64_t threads) override;
  llvm::CallInst* EmitThreadIndex(const std::string& axis) override;
  void EmitBarrier() override;
  llvm::Value* EmitLaneIndex() override;
  llvm::Value* EmitShuffle(Lane which, llvm::Value* word, llvm::Value* lane) override;
  llvm::Value* EmitVote(Vote vote, llvm::Value* condition) override;
  int64_t max_static_shared() const override;
};

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_CODEGEN_LLVM_CODEGEN_NVPTX_H_
