// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/codegen/llvm/codegen_amdgpu.h"

#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <map>

#include "tern/tir/intrinsics.h"

namespace tern::backend::rocm {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

CodeGenAmdgpu::CodeGenAmdgpu(llvm::LLVMContext& context, const codegen::LLVMTarget& target,
                             std::string arch, int64_t wave, int64_t max_threads)
    : KernelCodeGenLLVM(context, target),
      arch_(std::move(arch)),
      wave_(static_cast<uint32_t>(wave)),
      max_threads_(max_threads) {
  constexpr uint32_t kCodeObjectVersion = 500;  // the fifth, which drivers since ROCm 5.4 take
  module().addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
}

void CodeGenAmdgpu::MakeKernel(llvm::Function* kernel, int64_t threads) {
  whole_waves_ = threads > 0 && threads % int64_t{wave_} == 0;
  kernel->setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
  kernel->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  std::string least = std::to_string(threads > 0 ? threads : 1),
              most = std::to_string(threads > 0 ? threads : max_threads_);
  kernel->addFnAttr("amdgpu-flat-work-group-size", least + "," + most);
  kernel->addFnAttr("uniform-work-group-size", "true");  // launches are of whole blocks
}

llvm::CallInst* CodeGenAmdgpu::EmitThreadIndex(const std::string& axis) {
  static const std::map<std::string, Intrinsic::ID> kRegisters = {
      {"blockIdx.x", Intrinsic::amdgcn_workgroup_id_x},
      {"blockIdx.y", Intrinsic::amdgcn_workgroup_id_y},
      {"blockIdx.z", Intrinsic::amdgcn_workgroup_id_z},
      {"threadIdx.x", Intrinsic::amdgcn_workitem_id_x},
      {"threadIdx.y", Intrinsic::amdgcn_workitem_id_y},
      {"threadIdx.z", Intrinsic::amdgcn_workitem_id_z}};
  auto it = kRegisters.find(axis);
  TERN_ICHECK(it != kRegisters.end()) << "AMD's GPUs have no thread axis " << axis;
  return CallIntrinsic(it->second);
}

Value* CodeGenAmdgpu::EmitCall(const ir::CallNode* node) {
  if (node->name == tir::intrinsic::kWarpMatrixMultiplyTile) return EmitMatrixMultiply(node);
  if (node->name == "exp2")
    return builder().CreateUnaryIntrinsic(Intrinsic::exp2, Emit(node->args[0]));
  return KernelCodeGenLLVM::EmitCall(node);
}

// The barrier alone orders no memory.
void CodeGenAmdgpu::EmitBarrier() {
  llvm::SyncScope::ID scope = builder().getContext().getOrInsertSyncScopeID("workgroup");
  builder().CreateFence(llvm::AtomicOrdering::Release, scope);
  CallIntrinsic(Intrinsic::amdgcn_s_barrier);
  builder().CreateFence(llvm::AtomicOrdering::Acquire, scope);
}

Value* CodeGenAmdgpu::EmitLaneIndex() {
  Value* all = builder().getInt32(~0u);
  Value* low = CallIntrinsic(Intrinsic::amdgcn_mbcnt_lo, {all, builder().getInt32(0)});
  return wave_ == 32 ? low : CallIntrinsic(Intrinsic::amdgcn_mbcnt_hi, {all, low});
}

Value* CodeGenAmdgpu::EmitLaneCount() {
  if (whole_waves_) return builder().getInt32(wave_);
  // All threads of the wave are here.
  Value* here = EmitBallot(builder().getTrue());
  return builder().CreateTrunc(builder().CreateUnaryIntrinsic(Intrinsic::ctpop, here),
                               builder().getInt32Ty());
}

Value* CodeGenAmdgpu::EmitStep(const LaneStep& step, Value* word) {
  auto immediate = [&](uint64_t value) { return builder().getInt32(static_cast<uint32_t>(value)); };
  llvm::Type* type = word->getType();
  Value *no = builder().getFalse(), *all = builder().getInt32(0xf),
        *unset = llvm::PoisonValue::get(type);
  switch (step.kind) {
    case LaneStep::Kind::kDpp:
      // Of all rows and banks. Without ends it can become part of what uses the word.
      return builder().CreateIntrinsic(Intrinsic::amdgcn_update_dpp, {type},
                                       {step.has_ends ? word : unset, word, immediate(step.control),
                                        all, all, builder().getInt1(!step.has_ends)});
    case LaneStep::Kind::kSwizzle:
      return CallIntrinsic(Intrinsic::amdgcn_ds_swizzle, {word, immediate(step.control)});
    case LaneStep::Kind::kRows:
    case LaneStep::Kind::kRowsX:
      return builder().CreateIntrinsic(
          step.kind == LaneStep::Kind::kRows ? Intrinsic::amdgcn_permlane16
                                             : Intrinsic::amdgcn_permlanex16,
          {type}, {unset, word, immediate(step.control), immediate(step.control >> 32), no, no});
  }
  return nullptr;
}

Value* CodeGenAmdgpu::EmitConstantShuffle(Lane which, Value* word, int64_t lane) {
  bool is_gfx9 = wave_ == 64;
  if (which == Lane::kOf)
    return builder().CreateIntrinsic(
        Intrinsic::amdgcn_readlane, {word->getType()},
        {word, builder().getInt32(static_cast<uint32_t>(lane) & (wave_ - 1))});
  if (lane == 0) return word;
  std::vector<LaneStep> steps;
  if (which == Lane::kXor)
    steps = XorSteps(lane, is_gfx9);
  else if (lane == 1)
    steps = NeighbourSteps(which == Lane::kUp, is_gfx9);
  if (steps.empty()) return nullptr;
  for (const LaneStep& step : steps) word = EmitStep(step, word);
  return word;
}

Value* CodeGenAmdgpu::EmitShuffle(Lane which, Value* word, Value* lane) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(lane);
  if (constant && whole_waves_)
    if (Value* moved = EmitConstantShuffle(which, word, constant->getSExtValue())) return moved;
  Value* own = EmitLaneIndex();
  Value* from = nullptr;
  if (which == Lane::kOf) {
    from = builder().CreateAnd(lane, wave_ - 1);
  } else {
    from = which == Lane::kUp     ? builder().CreateSub(own, lane)
           : which == Lane::kDown ? builder().CreateAdd(own, lane)
                                  : builder().CreateXor(own, lane);
    // Below the first lane is far above the last.
    from = builder().CreateSelect(builder().CreateICmpULT(from, EmitLaneCount()), from, own);
  }
  constexpr uint64_t kBytesShift = 2;  // lanes are counted in bytes of their words
  return CallIntrinsic(Intrinsic::amdgcn_ds_bpermute,
                       {builder().CreateShl(from, kBytesShift), word});
}

Value* CodeGenAmdgpu::EmitBallot(Value* condition) {
  Value* lanes = builder().CreateIntrinsic(Intrinsic::amdgcn_ballot, {builder().getIntNTy(wave_)},
                                           {condition});
  return builder().CreateZExt(lanes, builder().getInt64Ty());
}

Value* CodeGenAmdgpu::EmitVote(Vote vote, Value* condition) {
  if (vote == Vote::kBallot) return EmitBallot(condition);
  if (vote == Vote::kAny) return builder().CreateIsNotNull(EmitBallot(condition));
  return builder().CreateIsNull(EmitBallot(builder().CreateNot(condition)));
}

}  // namespace tern::backend::rocm
