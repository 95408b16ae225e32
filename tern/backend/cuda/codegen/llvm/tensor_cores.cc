// SPDX-License-Identifier: Apache-2.0
//
// Operations of warps on matrices, and copies that threads do not wait for.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "tern/backend/cuda/codegen/llvm/codegen_nvptx.h"
#include "tern/tir/analysis/vector_move.h"
#include "tern/tir/intrinsics.h"

namespace tern::backend::cuda {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

void CodeGenNvptx::AddKernel(const tir::PrimFunc& kernel) {
  operands_.Begin(kernel);
  AddFunction(kernel);
}

Value* CodeGenNvptx::EmitCall(const ir::CallNode* node) {
  using namespace tir::intrinsic;
  if (node->name == kAsyncCopy) return Emit(node->args[0]);  // of few bytes: done at once
  if (node->name == kAsyncCommit) return CallIntrinsic(Intrinsic::nvvm_cp_async_commit_group);
  if (node->name == kAsyncWait)
    return CallIntrinsic(
        Intrinsic::nvvm_cp_async_wait_group,
        {builder().getInt32(static_cast<uint32_t>(*ir::AsConstInt(node->args[0])))});
  if (node->name == kWarpMatrixMultiply) return EmitMatrixMultiply(node);
  if (tir::IsWarpMatrixOperation(node)) return EmitMatrixLoad(node);
  return KernelCodeGenLLVM::EmitCall(node);
}

Value* CodeGenNvptx::AddressOf(const ir::BufferLoadNode* row) {
  const auto* ramp = row->indices[0].As<ir::RampNode>();
  ir::Expr element = ir::BufferLoadNode::Make(row->buffer, {ramp ? ramp->base : row->indices[0]});
  ir::Expr address = ir::CallNode::Make(tir::intrinsic::kAddressOf, {element}, DataType::Handle());
  return KernelCodeGenLLVM::EmitCall(address.As<ir::CallNode>());
}

Value* CodeGenNvptx::EmitMatrixLoad(const ir::CallNode* node) {
  bool transposed = node->name == tir::intrinsic::kWarpMatrixLoadTransposed;
  Value* row = AddressOf(operands_.Row(node->args[0]));
  Value* words =
      builder().CreateIntrinsic(transposed ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                                           : Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16,
                                {row->getType()}, {row});
  Value* result = llvm::PoisonValue::get(llvm::FixedVectorType::get(builder().getInt32Ty(), 4));
  for (unsigned i = 0; i < 4; ++i)
    result = builder().CreateInsertElement(result, builder().CreateExtractValue(words, i), i);
  return builder().CreateBitCast(result, RegisterType(node->dtype));
}

std::vector<Value*> CodeGenNvptx::Registers(const ir::Expr& operand, llvm::Type* type) {
  operands_.Row(operand);
  Value* vector = Emit(operand);
  unsigned count = static_cast<unsigned>(vector->getType()->getPrimitiveSizeInBits() / 32);
  Value* words =
      builder().CreateBitCast(vector, llvm::FixedVectorType::get(builder().getInt32Ty(), count));
  std::vector<Value*> registers;
  for (unsigned i = 0; i < count; ++i)
    registers.push_back(builder().CreateBitCast(builder().CreateExtractElement(words, i), type));
  return registers;
}

Value* CodeGenNvptx::EmitMatrixMultiply(const ir::CallNode* node) {
  bool is_bfloat = node->args[1].dtype().element() == DataType::Bfloat16();
  llvm::Type* pair = is_bfloat ? static_cast<llvm::Type*>(builder().getInt32Ty())
                               : llvm::FixedVectorType::get(builder().getHalfTy(), 2);
  std::vector<Value*> args = Registers(node->args[1], pair);
  for (const auto& [operand, type] :
       {std::pair(node->args[2], pair), std::pair(node->args[0], builder().getFloatTy())})
    for (Value* value : Registers(operand, type)) args.push_back(value);
  Value* sums = CallIntrinsic(is_bfloat ? Intrinsic::nvvm_mma_m16n8k16_row_col_bf16
                                        : Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32,
                              args);
  Value* result = llvm::PoisonValue::get(RegisterType(node->dtype));
  for (unsigned i = 0; i < 4; ++i)
    result = builder().CreateInsertElement(result, builder().CreateExtractValue(sums, i), i);
  return result;
}

bool CodeGenNvptx::EmitStoreInPlace(const tir::BufferStoreNode* node) {
  ir::Expr to = ir::BufferLoadNode::Make(node->buffer, node->indices);
  if (std::optional<tir::ElementCopy> copy = tir::AsElementCopy(node)) {
    CopyAsync(AddressOf(to.As<ir::BufferLoadNode>()), AddressOf(copy->load),
              copy->load->dtype.bytes(), copy->condition);
    return true;
  }
  const auto* call = node->value.As<ir::CallNode>();
  if (!call || call->name != tir::intrinsic::kAsyncCopy || call->args[0].dtype().is_scalar())
    return false;
  const auto* from = call->args[0].As<ir::BufferLoadNode>();
  int bytes = from->dtype.lanes() * from->dtype.element().bytes();
  if (bytes < tir::kLeastAsyncBytes || node->buffer->scope != ir::StorageScope::kShared ||
      from->buffer->scope != ir::StorageScope::kGlobal)
    return false;
  CopyAsync(AddressOf(to.As<ir::BufferLoadNode>()), AddressOf(from), bytes,
            from->predicate ? from->predicate.As<ir::BroadcastNode>()->value : ir::Expr());
  return true;
}

void CodeGenNvptx::CopyAsync(Value* to, Value* from, int bytes, const ir::Expr& condition) {
  std::vector<Value*> args = {to, from};
  if (condition) {
    // So many bytes are read, and the others are zeros.
    args.push_back(
        builder().CreateSelect(Emit(condition), builder().getInt32(bytes), builder().getInt32(0)));
    CallIntrinsic(bytes == 16  ? Intrinsic::nvvm_cp_async_cg_shared_global_16_s
                  : bytes == 8 ? Intrinsic::nvvm_cp_async_ca_shared_global_8_s
                               : Intrinsic::nvvm_cp_async_ca_shared_global_4_s,
                  args);
    return;
  }
  // Copies of 16 bytes can bypass L1 (cp.async.cg).
  CallIntrinsic(bytes == 16  ? Intrinsic::nvvm_cp_async_cg_shared_global_16
                : bytes == 8 ? Intrinsic::nvvm_cp_async_ca_shared_global_8
                             : Intrinsic::nvvm_cp_async_ca_shared_global_4,
                args);
}

}  // namespace tern::backend::cuda
