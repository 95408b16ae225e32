// SPDX-License-Identifier: Apache-2.0
//
// What the generators of kernels through LLVM share: parameters, thread axes, shared memory, and
// the operations of warps, over a few that each machine has. Only files that use LLVM include this
// header.
#ifndef TERN_CODEGEN_LLVM_KERNEL_CODEGEN_LLVM_H_
#define TERN_CODEGEN_LLVM_KERNEL_CODEGEN_LLVM_H_

#include "tern/codegen/llvm/codegen_llvm.h"
#include "tern/runtime/kernel/device_artifact.h"

namespace tern::codegen {

// Takes functions of calling convention "kernel", and notes what launching them takes. Of vectors
// there are moves alone, at multiples of their size (tir/analysis/vector_move.h).
class KernelCodeGenLLVM : public CodeGenLLVM {
 public:
  using CodeGenLLVM::CodeGenLLVM;

  // Of the kernels added so far.
  const runtime::KernelMap& kernels() const { return kernels_; }

 protected:
  // The numbers that LLVM's targets for GPUs have given to these memories.
  static constexpr unsigned kGlobal = 1, kShared = 3;

  enum class Lane { kOf, kUp, kDown, kXor };
  enum class Vote { kAny, kAll, kBallot };

  // ---- What a machine decides ----

  // Makes a function a kernel, of blocks of `threads` threads (0: not known).
  virtual void MakeKernel(llvm::Function* kernel, int64_t threads) = 0;
  // "blockIdx.x" ... "threadIdx.z", an i32.
  virtual llvm::CallInst* EmitThreadIndex(const std::string& axis) = 0;
  // All threads of the block come here, and see what the others wrote before.
  virtual void EmitBarrier() = 0;
  // The thread's number in its warp, an i32.
  virtual llvm::Value* EmitLaneIndex() = 0;
  // The i32 of another lane; a thread's own where up and down lead out of the warp.
  virtual llvm::Value* EmitShuffle(Lane which, llvm::Value* word, llvm::Value* lane) = 0;
  // An i1, or the i64 of the lanes whose condition holds.
  virtual llvm::Value* EmitVote(Vote vote, llvm::Value* condition) = 0;
  // How many bytes of shared memory a kernel may declare; where it needs more, the launch gives it.
  virtual int64_t max_static_shared() const = 0;

  // Of the intrinsic, with arguments and no overloads.
  llvm::CallInst* CallIntrinsic(llvm::Intrinsic::ID id, const std::vector<llvm::Value*>& args = {});

  llvm::Function* DeclareFunction(const tir::PrimFunc& function) final;
  void EmitFunctionStart(const tir::PrimFunc& function) final;
  void EmitReturn() final;
  void EmitThreadLoop(const tir::ForNode* node) final;
  llvm::Value* EmitScopedMemory(const tir::AllocateNode* node) final;
  void EmitAssert(const tir::AssertNode* node) final;
  llvm::Value* EmitCall(const ir::CallNode* node) override;
  llvm::Align AccessAlignment(DataType dtype) const final;
  uint64_t frame_alignment() const final { return kMoveBytes; }

 private:
  static constexpr int64_t kMoveBytes = 16;  // the most that an instruction moves

  llvm::Value* EmitStaticShared(const ir::Buffer& buffer, llvm::ArrayType* type);
  // The one array that a launch makes as large as the kernel needs.
  llvm::Value* SharedOfLaunch();
  llvm::Value* EmitDynamicShared(const ir::Buffer& buffer, int64_t bytes);
  llvm::Value* EmitShuffleCall(const ir::CallNode* node, Lane which);

  runtime::KernelMap kernels_;
  runtime::KernelInfo* kernel_ = nullptr;  // of the function being written
  bool dynamic_shared_ = false;
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_KERNEL_CODEGEN_LLVM_H_
