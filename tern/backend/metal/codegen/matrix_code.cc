// SPDX-License-Identifier: Apache-2.0
//
// Operations on matrices of SIMD-groups.
#include <fmt/format.h>

#include "tern/backend/metal/codegen/codegen_metal.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/intrinsics.h"

namespace tern::backend::metal {

using codegen::Precedence;
using ir::Expr;

std::string CodeGenMetal::MatrixType(DataType dtype) {
  return "simdgroup_" + StorageType(dtype.element()) + "8x8";
}

std::string CodeGenMetal::MatrixName(const ir::Buffer& buffer, const Expr& index) {
  return fmt::format("{}[{}]", NameOf(buffer), Print(matrices_.Number(buffer, index)).text);
}

std::string CodeGenMetal::TilePlace(const ir::Buffer& buffer, const Expr& index) {
  Matrices::Tile tile = matrices_.TileAt(buffer, index);
  std::string address =
      ir::IsConst(tile.first, 0)
          ? NameOf(buffer)
          : NameOf(buffer) + " + " + Print(tile.first, Precedence::kMultiplicative);
  return address + ", " + Print(tile.row).text;
}

std::string CodeGenMetal::FillMatrix(const std::string& matrix, const Expr& operand) {
  const auto* number = operand.As<ir::BroadcastNode>();
  TERN_CHECK(number) << ir::At(operand.span())
                     << "a matrix is made of elements in memory, or of one number";
  std::string type = StorageType(operand.dtype().element());
  return fmt::format("{} = make_filled_simdgroup_matrix<{}, 8, 8>({}({}));", matrix, type, type,
                     Print(number->value).text);
}

void CodeGenMetal::EmitMatrixStore(const tir::BufferStoreNode* node) {
  using namespace tir::intrinsic;
  const auto* call = node->value.As<ir::CallNode>();
  auto load = [&](size_t i) { return call->args[i].As<ir::BufferLoadNode>(); };
  auto matrix = [&](const ir::BufferLoadNode* operand) {
    TERN_CHECK(operand && matrices_.Contains(operand->buffer))
        << ir::At(call->span) << "the operands of " << call->name << " are matrices";
    return MatrixName(operand->buffer, operand->indices[0]);
  };
  bool to_matrix = matrices_.Contains(node->buffer);
  if (call->name == kWarpMatrixMultiply8x8) {
    TERN_CHECK(to_matrix) << ir::At(call->span) << "what " << call->name << " gives is a matrix";
    return Line(fmt::format("simdgroup_multiply_accumulate({}, {}, {}, {});",
                            MatrixName(node->buffer, node->indices[0]), matrix(load(1)),
                            matrix(load(2)), matrix(load(0))));
  }
  std::string rest = call->name == kWarpMatrixMoveTransposed ? ", ulong2(0), true);" : ");";
  if (!to_matrix)
    return Line(fmt::format("simdgroup_store({}, {}{}", matrix(load(0)),
                            TilePlace(node->buffer, node->indices[0]), rest));
  std::string target = MatrixName(node->buffer, node->indices[0]);
  if (!load(0)) return Line(FillMatrix(target, call->args[0]));
  TERN_CHECK(!matrices_.Contains(load(0)->buffer))
      << ir::At(call->span) << "a matrix is not moved to another one";
  Line(fmt::format("simdgroup_load({}, {}{}", target,
                   TilePlace(load(0)->buffer, load(0)->indices[0]), rest));
}

}  // namespace tern::backend::metal
