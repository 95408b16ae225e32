// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/mutator.h"

namespace tern::ir {

Buffer ExprMutator::MutateDef(const BufferDef& buffer) {
  ffi::Ref<BufferNode> copy = ffi::Make<BufferNode>(*buffer);
  bool changed = MutateField(copy->shape);
  changed |= MutateField(copy->strides);
  changed |= MutateField(copy->offset);
  // The address may have been defined by a rewritten let.
  if (Expr data = Mutate(buffer->data); !data.same(buffer->data)) {
    const auto* var = data.As<VarNode>();
    TERN_ICHECK(var) << "the address of buffer " << buffer->name
                     << " was replaced by an expression";
    copy->data = Var(var);
    changed = true;
  }
  if (!changed) return buffer;
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
