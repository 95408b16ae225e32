// SPDX-License-Identifier: Apache-2.0
//
// Statements on vectors: copies of elements in a row, and the operations of warps on matrices.
#include <fmt/format.h>

#include "tern/backend/cuda/codegen/codegen_cuda.h"
#include "tern/backend/cuda/codegen/tensor_core_code.h"
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
  return "(" + NameOf(buffer) + " + " + Print(base, Precedence::kAdditive) + ")";
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
  const auto* call = node->value.As<ir::CallNode>();
  TERN_ICHECK(call) << "a vector is computed, not moved";
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

}  // namespace tern::backend::cuda
