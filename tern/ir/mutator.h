// SPDX-License-Identifier: Apache-2.0
//
// Rewriting expressions. A mutator overrides MutateNode for the kinds it changes; the rest rebuild
// themselves when a child changed and stay the same node when none did.
#ifndef TERN_IR_MUTATOR_H_
#define TERN_IR_MUTATOR_H_

#include <unordered_map>

#include "tern/ir/visitor.h"

namespace tern::ir {

class ExprMutator {
 public:
  virtual ~ExprMutator() = default;
  virtual Expr Mutate(const Expr& expr) {
    return DispatchExpr(expr.get(), [&](auto* node) { return MutateNode(node, expr); });
  }

 protected:
  // `self` is the reference to `node`.
#define TERN_MUTATE(name)                                             \
  virtual Expr MutateNode(const name##Node* node, const Expr& self) { \
    return MutateChildren(node, self);                                \
  }
  TERN_EXPR_NODES(TERN_MUTATE)
#undef TERN_MUTATE

  // `self` with its children mutated: the same node where none changed.
  template <class T, class Self>
  Self MutateChildren(const T* node, const Self& self) {
    ffi::Ref<T> copy = ffi::Make<T>(*node);
    bool changed = false;
    std::apply([&](auto&... field) { ((changed |= MutateField(field)), ...); }, copy->fields());
    if (!changed) return self;
    return Self(copy);
  }

  bool MutateField(Expr& expr) {
    if (!expr) return false;
    Expr result = Mutate(expr);
    bool changed = !result.same(expr);
    expr = std::move(result);
    return changed;
  }
  bool MutateField(Var& var) {
    Var result = MutateDef(var);
    bool changed = !result.same(var);
    var = std::move(result);
    return changed;
  }
  bool MutateField(Buffer& buffer) { return Replace(buffer, MutateUse(buffer)); }
  bool MutateField(BufferDef& buffer) { return Replace(buffer, MutateDef(buffer)); }
  template <class T>
  bool MutateField(std::vector<T>& items) {
    bool changed = false;
    for (T& item : items) changed |= MutateField(item);
    return changed;
  }
  template <class T>
  bool MutateField(T&) {
    return false;
  }

  virtual Var MutateDef(const Var& var) { return var; }
  // A buffer whose expressions change becomes a new buffer, and its uses follow.
  virtual Buffer MutateDef(const BufferDef& buffer);
  virtual Buffer MutateUse(const Buffer& buffer);

  std::unordered_map<const BufferNode*, Buffer> new_buffers_;

 private:
  static bool Replace(Buffer& buffer, Buffer result) {
    bool changed = !result.same(buffer);
    buffer = std::move(result);
    return changed;
  }
};

using VarMap = std::unordered_map<const VarNode*, Expr>;
Expr Substitute(const Expr& expr, const VarMap& map);

}  // namespace tern::ir

#endif  // TERN_IR_MUTATOR_H_
