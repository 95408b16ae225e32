// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/structural.h"

#include <bit>

namespace tern::ir {

bool StructuralComparer::Equal(const Expr& a, const Expr& b) {
  if (!a || !b) return !a && !b;
  if (a->kind != b->kind || a->dtype != b->dtype) return false;
  if (const auto* var = a.As<VarNode>()) return Same(var, b.As<VarNode>());
  return DispatchExpr(
      a.get(), [&](auto* node) { return EqualFields(node, static_cast<decltype(node)>(b.get())); });
}

bool StructuralComparer::EqualField(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool StructuralComparer::Same(const VarNode* a, const VarNode* b) const {
  auto to = vars_.find(a);
  auto from = reverse_vars_.find(b);
  if (to == vars_.end() && from == reverse_vars_.end()) return a == b;
  return to != vars_.end() && from != reverse_vars_.end() && to->second == b && from->second == a;
}

bool StructuralComparer::Define(const Var& a, const Var& b) {
  if (a.dtype() != b.dtype()) return false;
  vars_[a.node()] = b.node();
  reverse_vars_[b.node()] = a.node();
  return true;
}

bool StructuralComparer::Define(const Buffer& a, const Buffer& b) {
  if (!a || !b) return !a && !b;
  // The address is defined with the buffer, or before it.
  bool known = vars_.count(a->data.node()) || reverse_vars_.count(b->data.node());
  if (a->dtype != b->dtype || a->scope != b->scope ||
      !(known ? Same(a->data.node(), b->data.node()) : Define(a->data, b->data)) ||
      !EqualField(a->shape, b->shape) || !EqualField(a->strides, b->strides) ||
      !EqualField(a->offset, b->offset) || a->alignment != b->alignment)
    return false;
  auto [it, added] = buffers_.emplace(a.get(), b.get());
  return added || it->second == b.get();
}

bool StructuralEqual(const Expr& a, const Expr& b) { return StructuralComparer().Equal(a, b); }

}  // namespace tern::ir
