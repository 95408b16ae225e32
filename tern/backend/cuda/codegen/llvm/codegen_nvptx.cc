// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/codegen/llvm/codegen_nvptx.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <map>

#include "tern/backend/cuda/codegen/gpu_kind.h"

namespace tern::backend::cuda {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

void CodeGenNvptx::MakeKernel(llvm::Function* kernel, int64_t threads) {
  kernel->setCallingConv(llvm::CallingConv::PTX_Kernel);
  // So that registers are found for all of them.
  if (threads > 0) kernel->addFnAttr("nvvm.maxntid", std::to_string(threads));
}

llvm::CallInst* CodeGenNvptx::EmitThreadIndex(const std::string& axis) {
  static const std::map<std::string, Intrinsic::ID> kRegisters = {
      {"blockIdx.x", Intrinsic::nvvm_read_ptx_sreg_ctaid_x},
      {"blockIdx.y", Intrinsic::nvvm_read_ptx_sreg_ctaid_y},
      {"blockIdx.z", Intrinsic::nvvm_read_ptx_sreg_ctaid_z},
      {"threadIdx.x", Intrinsic::nvvm_read_ptx_sreg_tid_x},
      {"threadIdx.y", Intrinsic::nvvm_read_ptx_sreg_tid_y},
      {"threadIdx.z", Intrinsic::nvvm_read_ptx_sreg_tid_z}};
  auto it = kRegisters.find(axis);
  TERN_ICHECK(it != kRegisters.end()) << "NVIDIA's GPUs have no thread axis " << axis;
  return CallIntrinsic(it->second);
}

void CodeGenNvptx::EmitBarrier() {
  CallIntrinsic(Intrinsic::nvvm_barrier_cta_sync_aligned_all, {builder().getInt32(0)});
}

Value* CodeGenNvptx::EmitLaneIndex() { return CallIntrinsic(Intrinsic::nvvm_read_ptx_sreg_laneid); }

// All threads of a warp come to such a call, so the mask names all of them.
Value* CodeGenNvptx::EmitShuffle(Lane which, Value* word, Value* lane) {
  static const std::map<Lane, Intrinsic::ID> kShuffles = {
      {Lane::kOf, Intrinsic::nvvm_shfl_sync_idx_i32},
      {Lane::kUp, Intrinsic::nvvm_shfl_sync_up_i32},
      {Lane::kDown, Intrinsic::nvvm_shfl_sync_down_i32},
      {Lane::kXor, Intrinsic::nvvm_shfl_sync_bfly_i32}};
  // The last lane that a value may come from; the first, going up.
  Value* last = builder().getInt32(which == Lane::kUp ? 0 : 31);
  return CallIntrinsic(kShuffles.at(which), {builder().getInt32(~0u), word, lane, last});
}

Value* CodeGenNvptx::EmitVote(Vote vote, Value* condition) {
  static const std::map<Vote, Intrinsic::ID> kVotes = {
      {Vote::kAny, Intrinsic::nvvm_vote_any_sync},
      {Vote::kAll, Intrinsic::nvvm_vote_all_sync},
      {Vote::kBallot, Intrinsic::nvvm_vote_ballot_sync}};
  return CallIntrinsic(kVotes.at(vote), {builder().getInt32(~0u), condition});
}

int64_t CodeGenNvptx::max_static_shared() const { return kMostStaticShared; }

}  // namespace tern::backend::cuda
