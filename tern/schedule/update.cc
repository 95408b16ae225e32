// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/update.h"

#include <algorithm>
#include <limits>

#include "tern/ir/structural.h"
#include "tern/ir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

Expr Combine(NodeKind kind, const Expr& a, const Expr& b) {
  switch (kind) {
    case NodeKind::kAdd:
      return a + b;
    case NodeKind::kMul:
      return a * b;
    case NodeKind::kMin:
      return ir::MinNode::Make(a, b);
    default:
      return ir::MaxNode::Make(a, b);
  }
}

Expr IdentityOf(NodeKind kind, DataType dtype) {
  if (kind == NodeKind::kAdd) return ir::MakeConst(dtype, 0);
  if (kind == NodeKind::kMul) return ir::MakeConst(dtype, 1);
  bool least = kind == NodeKind::kMax;
  if (dtype.is_float())
    return ir::FloatImmNode::Make(dtype, least ? -std::numeric_limits<double>::infinity()
                                               : std::numeric_limits<double>::infinity());
  if (dtype.is_uint() && least) return ir::IntImmNode::Make(dtype, 0);
  if (dtype.is_uint() && dtype.bits() < 64)
    return ir::IntImmNode::Make(dtype, (int64_t{1} << dtype.bits()) - 1);
  if (!dtype.is_int()) return {};
  int64_t highest = std::numeric_limits<int64_t>::max() >> (64 - dtype.bits());
  return ir::IntImmNode::Make(dtype, least ? -highest - 1 : highest);
}

std::optional<Update> MatchUpdate(const BlockNode* block) {
  Update update;
  update.store = block->body.As<BufferStoreNode>();
  if (!update.store) return {};
  Expr a, b;
  auto operands = [&](const auto* node) {
    if (node) {
      update.combine = update.store->value.get()->kind;
      a = node->a;
      b = node->b;
    }
  };
  const Expr& value = update.store->value;
  operands(value.As<ir::AddNode>());
  operands(value.As<ir::MulNode>());
  operands(value.As<ir::MinNode>());
  operands(value.As<ir::MaxNode>());
  if (!a) return {};
  auto is_self = [&](const Expr& expr) {
    const auto* load = expr.As<ir::BufferLoadNode>();
    return load && load->buffer.same(update.store->buffer) &&
           std::equal(load->indices.begin(), load->indices.end(), update.store->indices.begin(),
                      [](const Expr& x, const Expr& y) { return ir::StructuralEqual(x, y); });
  };
  if (is_self(b)) std::swap(a, b);
  if (!is_self(a)) return {};
  update.value = b;
  bool again = false;
  ir::ForEachExpr(b, [&](const Expr& e) {
    const auto* load = e.As<ir::BufferLoadNode>();
    again |= load && load->buffer.same(update.store->buffer);
  });
  if (again) return {};
  return update;
}

}  // namespace tern::schedule
