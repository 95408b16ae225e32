// SPDX-License-Identifier: Apache-2.0
//
// Statements on vectors: copies of elements in a row, and the operations of warps on matrices.
#include <fmt/format.h>

#include "tern/backend/cuda/codegen/codegen_cuda.h"
#include "tern/backend/cuda/codegen/gpu_kind.h"
#include "tern/backend/cuda/codegen/tensor_core_code.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/structural.h"
#include "tern/tir/analysis/vector_move.h"
#include "tern/tir/bulk_intrinsics.h"
#include "tern/tir/group_intrinsics.h"
#include "tern/tir/intrinsics.h"

namespace tern::backend::cuda {

using codegen::Precedence;
using ir::Expr;

namespace {

// The built-in type of as many bytes, of the same elements where there is one.
std::string MoveType(DataType dtype) {
  int64_t bytes = int64_t{dtype.lanes()} * dtype.element().bytes();
  if (bytes == 2) return "unsigned short";
  if (bytes == 4) return "unsigned int";
  bool is_float = dtype.is_float();
  if (dtype.bits() == 64) return is_float ? "double2" : "longlong2";
  std::string element = dtype.bits() < 32 ? "uint" : is_float ? "float" : "int";
  return element + std::to_string(bytes / 4);
}

}  // namespace

std::string CodeGenCuda::AddressOf(const ir::Buffer& buffer, const Expr& index) {
  const Expr& base = index.As<ir::RampNode>()->base;
  if (ir::IsConst(base, 0)) return NameOf(buffer);
  return "(" + NameOf(buffer) + " + " + PlaceOf(buffer, Print(base, Precedence::kAdditive)) + ")";
}

std::string CodeGenCuda::MatrixAddress(const Expr& operand) {
  const ir::BufferLoadNode* row = operands_.Row(operand);
  return AddressOf(row->buffer, row->indices[0]);
}

void CodeGenCuda::EmitMove(const tir::BufferStoreNode* node, const ir::BufferLoadNode* load) {
  std::string type = MoveType(load->dtype);
  Line(fmt::format("*({0}*){1} = *(const {0}*){2};", type,
                   AddressOf(node->buffer, node->indices[0]),
                   AddressOf(load->buffer, load->indices[0])));
}

void CodeGenCuda::EmitVectorStore(const tir::BufferStoreNode* node) {
  using namespace tir::intrinsic;
  if (const auto* load = node->value.As<ir::BufferLoadNode>()) return EmitMove(node, load);
  if (IsPacked(node->value.dtype()) && !tir::CopiedLoad(node)) {
    std::string value = Print(node->value).text;
    return Line(
        fmt::format("*(unsigned int*){} = {};", AddressOf(node->buffer, node->indices[0]), value));
  }
  const auto* call = node->value.As<ir::CallNode>();
  TERN_ICHECK(call) << "a vector is computed, not moved";
  if (tir::IsWarpGroupOperation(call)) return EmitGroupMultiply(node, call);
  if (tir::IsBulkCopy(node->value)) return EmitBulkCopy(node, call);
  Helper helper;
  std::string args = AddressOf(node->buffer, node->indices[0]);
  if (call->name == kAsyncCopy) {
    const auto* load = call->args[0].As<ir::BufferLoadNode>();
    int bytes = load->dtype.lanes() * load->dtype.element().bytes();
    if (bytes < 4 || node->buffer->scope != ir::StorageScope::kShared ||
        load->buffer->scope != ir::StorageScope::kGlobal)
      return EmitMove(node, load);
    helper = load->predicate ? AsyncCopyOrZeroHelper(bytes) : AsyncCopyHelper(bytes);
    args += ", " + AddressOf(load->buffer, load->indices[0]);
    if (load->predicate)
      args +=
          ", " + Print(load->predicate.As<ir::BroadcastNode>()->value, Precedence::kConditional);
  } else {
    TERN_ICHECK(tir::IsWarpMatrixOperation(call)) << "a vector is computed by " << call->name;
    helper = call->name == kWarpMatrixMultiply
                 ? MultiplyHelper(call->args[1].dtype().element())
                 : LoadMatrixHelper(call->name == kWarpMatrixLoadTransposed);
    for (const Expr& arg : call->args) args += ", " + MatrixAddress(arg);
  }
  Line(fmt::format("{}({});", UseHelper(helper.name, helper.definition), args));
}

void CodeGenCuda::EmitGroupMultiply(const tir::BufferStoreNode* node, const ir::CallNode* call) {
  const auto* sums = call->args[0].As<ir::BufferLoadNode>();
  const ir::BufferLoadNode *left = operands_.Row(call->args[2]),
                           *right = operands_.Row(call->args[3]);
  bool in_place = sums && sums->buffer.same(node->buffer) &&
                  ir::StructuralEqual(sums->indices[0], node->indices[0]);
  TERN_CHECK(in_place) << ir::At(call->span) << call->name << " adds to registers in place";
  bool in_registers = tir::HasLeftInRegisters(call);
  for (const ir::BufferLoadNode* operand : {left, right}) {
    bool is_local = in_registers && operand == left;
    TERN_CHECK(operand->buffer->scope ==
               (is_local ? ir::StorageScope::kLocal : ir::StorageScope::kShared))
        << ir::At(call->span) << call->name << " takes "
        << (is_local ? "a left operand in registers" : "operands in shared memory") << ", which "
        << operand->buffer->name << " is not";
  }
  int64_t block = right->dtype.lanes();
  auto check_aligned = [&](const ir::BufferLoadNode* load) {
    TERN_CHECK(operands_.IsAligned(load, kGroupOperandAlignment))
        << ir::At(call->span) << "a block of " << load->buffer->name << ", an operand of "
        << call->name << ", does not start at a multiple of " << kGroupOperandAlignment << " bytes";
  };
  if (!in_registers) check_aligned(left);
  check_aligned(right);
  for (size_t i = 4; i < call->args.size(); ++i) {
    const ir::BufferLoadNode* next = operands_.Row(call->args[i]);
    bool follows = operands_.Distance(right, next) == static_cast<int64_t>(i - 3) * block;
    TERN_CHECK(follows) << ir::At(call->span) << "the blocks of " << right->buffer->name
                        << ", an operand of " << call->name << ", do not follow each other";
  }
  EmitHelper(GroupMultiplyHelper(tir::GroupTypeOf(call), tir::GroupLayoutOf(call),
                                 call->dtype.lanes() * 2),
             AddressOf(node->buffer, node->indices[0]) + ", " +
                 AddressOf(left->buffer, left->indices[0]) + ", " +
                 AddressOf(right->buffer, right->indices[0]));
  if (call->name == tir::intrinsic::kWarpMatrixMultiplyGroup && !followed_.contains(call))
    EmitHelper(MatrixWaitHelper(0));
}

}  // namespace tern::backend::cuda
