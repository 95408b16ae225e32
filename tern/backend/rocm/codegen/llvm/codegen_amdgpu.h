// SPDX-License-Identifier: Apache-2.0
//
// Kernels as LLVM IR for AMD's GPUs.
#ifndef TERN_BACKEND_ROCM_CODEGEN_LLVM_CODEGEN_AMDGPU_H_
#define TERN_BACKEND_ROCM_CODEGEN_LLVM_CODEGEN_AMDGPU_H_

#include "tern/backend/rocm/codegen/lane_exchange.h"
#include "tern/codegen/llvm/kernel_codegen_llvm.h"
#include "tern/codegen/matrix_operands.h"

namespace tern::backend::rocm {

class CodeGenAmdgpu : public codegen::KernelCodeGenLLVM {
 public:
  // `wave` is how many threads a warp has, `max_threads` a block at most.
  CodeGenAmdgpu(llvm::LLVMContext& context, const codegen::LLVMTarget& target, std::string arch,
                int64_t wave, int64_t max_threads);

  void AddKernel(const tir::PrimFunc& kernel);

 protected:
  void MakeKernel(llvm::Function* kernel, int64_t threads) override;
  llvm::CallInst* EmitThreadIndex(const std::string& axis) override;
  void EmitBarrier() override;
  llvm::Value* EmitLaneIndex() override;
  llvm::Value* EmitShuffle(Lane which, llvm::Value* word, llvm::Value* lane) override;
  llvm::Value* EmitVote(Vote vote, llvm::Value* condition) override;
  llvm::Value* EmitCall(const ir::CallNode* node) override;
  // All that a block can have may be declared.
  int64_t max_static_shared() const override { return INT64_MAX; }

 private:
  llvm::Value* EmitBallot(llvm::Value* condition);
  // How many threads the wave has.
  llvm::Value* EmitLaneCount();
  llvm::Value* EmitStep(const LaneStep& step, llvm::Value* word);
  // By instructions that need no addresses; null where there are none.
  llvm::Value* EmitConstantShuffle(Lane which, llvm::Value* word, int64_t lane);

  // ---- Matrix cores (matrix_cores.cc)

  llvm::Value* EmitMatrixMultiply(const ir::CallNode* node);
  llvm::Value* EmitMfma(llvm::Value* sums, llvm::Value* left, llvm::Value* right, bool is_bfloat);
  llvm::Value* EmitWmma(llvm::Value* sums, llvm::Value* left, llvm::Value* right, bool is_bfloat);
  // Of a tile of which each half of the wave has 8 elements per lane, all 16 in both halves; lane l
  // % 16 gets those of the lane that `rows` says (RowControl).
  llvm::Value* Replicate(llvm::Value* part, uint64_t rows);

  codegen::MatrixOperands operands_;
  std::string arch_;
  uint32_t wave_;
  int64_t max_threads_;
  bool whole_waves_ = false;  // the threads of the kernel's blocks fill waves
};

}  // namespace tern::backend::rocm

#endif  // TERN_BACKEND_ROCM_CODEGEN_LLVM_CODEGEN_AMDGPU_H_
