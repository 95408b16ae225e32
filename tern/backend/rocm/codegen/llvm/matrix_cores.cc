// SPDX-License-Identifier: Apache-2.0
//
// Products of tiles: MFMA and WMMA.
//
// Which of the 16 steps of the sum an element belongs to does not matter, as long as both operands
// agree. So operands may come in the one order that tir/intrinsics.h says, whatever the machine's.
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "tern/backend/rocm/codegen/llvm/codegen_amdgpu.h"
#include "tern/tir/intrinsics.h"

namespace tern::backend::rocm {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

void CodeGenAmdgpu::AddKernel(const tir::PrimFunc& kernel) {
  operands_.Begin(kernel);
  AddFunction(kernel);
}

Value* CodeGenAmdgpu::EmitMatrixMultiply(const ir::CallNode* node) {
  for (const ir::Expr& operand : node->args) operands_.Row(operand);
  Value *sums = Emit(node->args[0]), *left = Emit(node->args[1]), *right = Emit(node->args[2]);
  bool is_bfloat = node->args[1].dtype().element() == DataType::Bfloat16();
  // The intrinsics take bfloat16 as bits.
  if (is_bfloat) {
    auto* bits = llvm::FixedVectorType::get(builder().getInt16Ty(),
                                            static_cast<unsigned>(node->args[1].dtype().lanes()));
    left = builder().CreateBitCast(left, bits);
    right = builder().CreateBitCast(right, bits);
  }
  return wave_ == 64 ? EmitMfma(sums, left, right, is_bfloat)
                     : EmitWmma(sums, left, right, is_bfloat);
}

Value* CodeGenAmdgpu::EmitMfma(Value* sums, Value* left, Value* right, bool is_bfloat) {
  Value* none = builder().getInt32(0);  // nothing is broadcast or permuted
  auto multiply = [&](Intrinsic::ID id, Value* a, Value* b, Value* c) {
    return CallIntrinsic(id, {a, b, c, none, none, none});
  };
  if (!is_bfloat) return multiply(Intrinsic::amdgcn_mfma_f32_16x16x16f16, left, right, sums);
  if (arch_ != "gfx908")
    return multiply(Intrinsic::amdgcn_mfma_f32_16x16x16bf16_1k, left, right, sums);
  // The first of them takes half as many.
  for (int half = 0; half < 2; ++half) {
    int places[] = {2 * half, 2 * half + 1};
    sums = multiply(Intrinsic::amdgcn_mfma_f32_16x16x8bf16,
                    builder().CreateShuffleVector(left, places),
                    builder().CreateShuffleVector(right, places), sums);
  }
  return sums;
}

Value* CodeGenAmdgpu::EmitWmma(Value* sums, Value* left, Value* right, bool is_bfloat) {
  if (arch_.starts_with("gfx11")) {
    left = Replicate(left, RowControl(SumRowOfGfx11, 0));
    right = Replicate(right, kSameRow);
  }
  return builder().CreateIntrinsic(is_bfloat ? Intrinsic::amdgcn_wmma_f32_16x16x16_bf16
                                             : Intrinsic::amdgcn_wmma_f32_16x16x16_f16,
                                   {sums->getType(), left->getType()}, {left, right, sums});
}

Value* CodeGenAmdgpu::Replicate(Value* part, uint64_t rows) {
  auto* type = llvm::cast<llvm::FixedVectorType>(part->getType());
  unsigned words = type->getNumElements() / 2;
  Value* own =
      builder().CreateBitCast(part, llvm::FixedVectorType::get(builder().getInt32Ty(), words));
  Value* is_low = builder().CreateICmpULT(EmitLaneIndex(), builder().getInt32(16));
  Value* whole =
      llvm::PoisonValue::get(llvm::FixedVectorType::get(builder().getInt32Ty(), 2 * words));
  for (uint64_t i = 0; i < words; ++i) {
    Value* word = builder().CreateExtractElement(own, i);
    Value *here = rows == kSameRow ? word : EmitStep({LaneStep::Kind::kRows, rows}, word),
          *there = EmitStep({LaneStep::Kind::kRowsX, rows}, word);
    Value *low = builder().CreateSelect(is_low, here, there),
          *high = builder().CreateSelect(is_low, there, here);
    whole = builder().CreateInsertElement(whole, low, i);
    whole = builder().CreateInsertElement(whole, high, words + i);
  }
  return builder().CreateBitCast(whole,
                                 llvm::FixedVectorType::get(type->getElementType(), 4 * words));
}

}  // namespace tern::backend::rocm
