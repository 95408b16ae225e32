// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/reduction_update.h"

#include <limits>

#include "tern/ir/structural.h"

namespace tern::tir {

Expr CombineValues(ExprKind kind, const Expr& a, const Expr& b) {
  switch (kind) {
    case ExprKind::kAdd:
      return a + b;
    case ExprKind::kMul:
      return a * b;
    case ExprKind::kMin:
      return ir::MinNode::Make(a, b);
    case ExprKind::kMax:
      return ir::MaxNode::Make(a, b);
    case ExprKind::kAnd:
      return a && b;
    default:
      return a || b;
  }
}

Expr IdentityOf(ExprKind kind, DataType dtype) {
  if (kind == ExprKind::kAdd || kind == ExprKind::kMul)
    return ir::MakeConst(dtype, kind == ExprKind::kMul);
  if (kind == ExprKind::kAnd || kind == ExprKind::kOr)
    return ir::IntImmNode::Make(dtype, kind == ExprKind::kAnd);
  bool largest = kind == ExprKind::kMin;
  if (dtype.is_float()) {
    double infinity = std::numeric_limits<double>::infinity();
    return ir::FloatImmNode::Make(dtype, largest ? infinity : -infinity);
  }
  if (dtype.is_bool()) return ir::IntImmNode::Make(dtype, largest);
  if (dtype.is_uint())
    return ir::IntImmNode::Make(
        dtype, largest ? (dtype.bits() == 64 ? -1 : (int64_t{1} << dtype.bits()) - 1) : 0);
  int64_t limit = dtype.bits() == 64 ? std::numeric_limits<int64_t>::max()
                                     : (int64_t{1} << (dtype.bits() - 1)) - 1;
  return ir::IntImmNode::Make(dtype, largest ? limit : -limit - 1);
}

namespace {

bool IsElement(const Expr& expr, const BufferStoreNode* store) {
  const auto* load = expr.As<ir::BufferLoadNode>();
  if (!load || !load->buffer.same(store->buffer)) return false;
  for (size_t d = 0; d < load->indices.size(); ++d)
    if (!ir::StructuralEqual(load->indices[d], store->indices[d])) return false;
  return true;
}

}  // namespace

std::optional<ReductionUpdate> FindReductionUpdate(const Stmt& body) {
  ReductionUpdate update;
  Stmt at = body;
  for (const auto* let = at.As<LetStmtNode>(); let; let = at.As<LetStmtNode>()) {
    update.lets.push_back(let);
    at = let->body;
  }
  update.store = at.As<BufferStoreNode>();
  if (!update.store || !update.store->value.dtype().is_scalar()) return {};
  const Expr& value = update.store->value;
  auto take = [&](const auto* node) {
    if (!node) return false;
    update.op = value->kind;
    for (const auto& [own, other] : {std::pair(node->a, node->b), std::pair(node->b, node->a)})
      if (IsElement(own, update.store)) {
        update.value = other;
        return true;
      }
    return false;
  };
  bool found = take(value.As<ir::AddNode>()) || take(value.As<ir::MulNode>()) ||
               take(value.As<ir::MinNode>()) || take(value.As<ir::MaxNode>()) ||
               take(value.As<ir::AndNode>()) || take(value.As<ir::OrNode>());
  return found ? std::optional(update) : std::nullopt;
}

}  // namespace tern::tir
