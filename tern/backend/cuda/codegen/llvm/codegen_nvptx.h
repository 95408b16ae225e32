// SPDX-License-Identifier: Apache-2.0
//
// Kernels as LLVM IR for NVIDIA's GPUs.
#ifndef TERN_BACKEND_CUDA_CODEGEN_LLVM_CODEGEN_NVPTX_H_
#define TERN_BACKEND_CUDA_CODEGEN_LLVM_CODEGEN_NVPTX_H_

#include "tern/codegen/llvm/kernel_codegen_llvm.h"
#include "tern/codegen/matrix_operands.h"

namespace tern::backend::cuda {

class CodeGenNvptx : public codegen::KernelCodeGenLLVM {
 public:
  using KernelCodeGenLLVM::KernelCodeGenLLVM;

  void AddKernel(const tir::PrimFunc& kernel);

 protected:
  void MakeKernel(llvm::Function* kernel, int64_t threads) override;
  llvm::CallInst* EmitThreadIndex(const std::string& axis) override;
  void EmitBarrier() override;
  llvm::Value* EmitLaneIndex() override;
  llvm::Value* EmitShuffle(Lane which, llvm::Value* word, llvm::Value* lane) override;
  llvm::Value* EmitVote(Vote vote, llvm::Value* condition) override;
  int64_t max_static_shared() const override;
  llvm::Value* EmitCall(const ir::CallNode* node) override;
  bool EmitStoreInPlace(const tir::BufferStoreNode* node) override;

 private:
  // ---- Tensor cores and asynchronous copies (tensor_cores.cc)

  llvm::Value* EmitMatrixLoad(const ir::CallNode* node);
  llvm::Value* EmitMatrixMultiply(const ir::CallNode* node);
  // The address of the first of elements in a row.
  llvm::Value* AddressOf(const ir::BufferLoadNode* row);
  // Copies bytes, or zeros where a condition does not hold; null: none.
  void CopyAsync(llvm::Value* to, llvm::Value* from, int bytes, const ir::Expr& condition);
  // The registers that a vector is in: pairs of floats, or words.
  std::vector<llvm::Value*> Registers(const ir::Expr& operand, llvm::Type* type);

  codegen::MatrixOperands operands_;
};

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_CODEGEN_LLVM_CODEGEN_NVPTX_H_
