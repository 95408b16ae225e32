// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/structural.h"

#include <bit>

namespace tern::ir {

bool StructuralComparer::Equal(const Expr& a, const Expr& b) {
  if (!a || !b) return !a && !b;
  if (a->kind != b->kind || a->dtype != b->dtype) return false;
  if (const auto* var = a.As<VarNode>()) {
    auto it = vars_.find(var);
    return it == vars_.end() ? a.same(b) : it->second == b.get();
  }
  return DispatchExpr(
      a.get(), [&](auto* node) { return EqualFields(node, static_cast<decltype(node)>(b.get())); });
}

bool StructuralComparer::EqualField(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool StructuralComparer::Define(const Var& a, const Var& b) {
  if (a.dtype() != b.dtype()) return false;
  auto [it, added] = vars_.emplace(a.node(), b.node());
  return added || it->second == b.node();
}

bool StructuralComparer::Define(const Buffer& a, const Buffer& b) {
  if (!a || !b) return !a && !b;
  if (a->dtype != b->dtype || a->scope != b->scope || !Define(a->data, b->data) ||
      !EqualField(a->shape, b->shape) || !EqualField(a->strides, b->strides))
    return false;
  auto [it, added] = buffers_.emplace(a.get(), b.get());
  return added || it->second == b.get();
}

bool StructuralEqual(const Expr& a, const Expr& b) { return StructuralComparer().Equal(a, b); }

}  // namespace tern::ir
