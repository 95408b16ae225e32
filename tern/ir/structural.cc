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

void StructuralHasher::Add(const Expr& expr) {
  if (!expr) return AddNumber(0);
  AddField(expr->kind);
  AddField(expr.dtype());
  if (expr.As<VarNode>()) return AddUse(expr.get());
  DispatchExpr(expr.get(), [this](auto* node) { AddFields(node); });
}

void StructuralHasher::Define(const Var& var) {
  AddField(var.dtype());
  defined_[var.node()] = ++num_defined_;
}

void StructuralHasher::Define(const Buffer& buffer) {
  if (!buffer) return AddNumber(0);
  AddField(buffer->dtype);
  AddField(buffer->scope);
  if (defined_.count(buffer->data.node()))
    AddUse(buffer->data.node());
  else
    Define(buffer->data);
  AddField(buffer->shape);
  AddField(buffer->strides);
  AddField(buffer->offset);
  AddField(buffer->alignment);
  defined_[buffer.get()] = ++num_defined_;
}

void StructuralHasher::AddUse(const void* object) {
  auto it = defined_.find(object);
  AddNumber(it == defined_.end() ? reinterpret_cast<uintptr_t>(object) : it->second);
}

void StructuralHasher::AddField(DataType dtype) {
  TernDType raw = dtype.raw();
  AddNumber(raw.code | uint64_t{raw.bits} << 8 | uint64_t{raw.lanes} << 16);
}
void StructuralHasher::AddField(double value) { AddNumber(std::bit_cast<uint64_t>(value)); }
void StructuralHasher::AddField(std::string_view text) {
  AddNumber(text.size());
  for (unsigned char c : text) AddNumber(c);
}

// Multiplying by an odd number loses nothing; the shift brings the high bits down.
void StructuralHasher::AddNumber(uint64_t value) {
  hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15 + 0x632be59bd9b4e019;
  hash_ ^= hash_ >> 32;
}

bool StructuralEqual(const Expr& a, const Expr& b) { return StructuralComparer().Equal(a, b); }

uint64_t StructuralHash(const Expr& expr) {
  StructuralHasher hasher;
  hasher.Add(expr);
  return hasher.hash();
}

}  // namespace tern::ir
