// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/mutator.h"

namespace tern::ir {

ExprMutator::~ExprMutator() = default;

Expr ExprMutator::Mutate(const Expr& expr) {
  return DispatchExpr(expr.get(), [&](auto* node) { return MutateNode(node, expr); });
}

#define TERN_MUTATE(name)                                                      \
  Expr ExprMutator::MutateNode(const name##Node* node, const Expr& self) {     \
    return MutateChildren(node, self);                                         \
  }                                                                            \
  Expr ExprMutator::MutateChildren(const name##Node* node, const Expr& self) { \
    ffi::Ref<name##Node> changed = RewriteFields(                              \
        *node, [&] { return ffi::Make<name##Node>(*node); },                   \
        [&](const auto& field) { return MutateField(field); });                \
    return changed ? Expr(changed) : self;                                     \
  }
TERN_EXPR_NODES(TERN_MUTATE)
#undef TERN_MUTATE

Buffer ExprMutator::MutateDef(const BufferDef& buffer) {
  std::optional<std::vector<Expr>> shape = MutateField(buffer->shape),
                                   strides = MutateField(buffer->strides);
  std::optional<Expr> offset = MutateField(buffer->offset);
  // The address may have been defined by a rewritten let.
  Expr data = Mutate(buffer->data);
  if (!shape && !strides && !offset && data.same(buffer->data)) return buffer;
  const auto* address = data.As<VarNode>();
  TERN_ICHECK(address) << "the address of buffer " << buffer->name
                       << " was replaced by an expression";
  ffi::Ref<BufferNode> copy = ffi::Make<BufferNode>(*buffer);
  if (shape) copy->shape = std::move(*shape);
  if (strides) copy->strides = std::move(*strides);
  if (offset) copy->offset = std::move(*offset);
  copy->data = Var(address);
  return new_buffers_[buffer.get()] = Buffer(copy.get());
}

Buffer ExprMutator::MutateUse(const Buffer& buffer) {
  auto it = new_buffers_.find(buffer.get());
  return it == new_buffers_.end() ? buffer : it->second;
}

Expr Substitute(const Expr& expr, const VarMap& map) {
  struct Substituter : ExprMutator {
    explicit Substituter(const VarMap& map) : map(map) {}
    Expr MutateNode(const VarNode* var, const Expr& self) override {
      auto it = map.find(var);
      return it == map.end() ? self : it->second;
    }
    const VarMap& map;
  };
  return Substituter(map).Mutate(expr);
}

}  // namespace tern::ir
