// SPDX-License-Identifier: Apache-2.0
//
// Rewriting expressions. A mutator overrides MutateNode for the kinds it changes; the rest rebuild
// themselves when a child changed and stay the same node when none did.
#ifndef TERN_IR_MUTATOR_H_
#define TERN_IR_MUTATOR_H_

#include <optional>
#include <unordered_map>
#include <utility>

#include "tern/ir/visitor.h"

namespace tern::ir {

// A value whose fields are named by TERN_FIELDS, with each field rewritten by `mutate`, in order:
// it returns the new value of a field, or nothing where the field stays. `copy` makes the value
// to change, once a field does; where none does, there is none.
template <class T, class Copy, class F>
auto RewriteFields(const T& value, Copy&& copy, F&& mutate) {
  decltype(copy()) result{};
  [[maybe_unused]] auto rewrite = [&]<size_t I>(std::integral_constant<size_t, I>) {
    if (auto changed = mutate(std::get<I>(value.fields()))) {
      if (!result) result = copy();
      std::get<I>((*result).fields()) = std::move(*changed);
    }
  };
  [&]<size_t... I>(std::index_sequence<I...>) {
    (rewrite(std::integral_constant<size_t, I>()), ...);
  }(std::make_index_sequence<std::tuple_size_v<decltype(value.fields())>>());
  return result;
}

// The same for the items of a vector.
template <class T, class F>
std::optional<std::vector<T>> RewriteItems(const std::vector<T>& items, F&& mutate) {
  std::optional<std::vector<T>> result;
  for (size_t i = 0; i < items.size(); ++i) {
    std::optional<T> changed = mutate(items[i]);
    if (!changed) continue;
    if (!result) result = items;
    (*result)[i] = std::move(*changed);
  }
  return result;
}

class ExprMutator {
 public:
  virtual ~ExprMutator();
  virtual Expr Mutate(const Expr& expr);

 protected:
  // `self` is the reference to `node`. MutateChildren gives `self` with its children mutated: the
  // same node, and nothing allocated, where none changed. Both are defined in mutator.cc, so that
  // the code for all kinds is compiled once, not for each mutator.
#define TERN_MUTATE(name)                                            \
  virtual Expr MutateNode(const name##Node* node, const Expr& self); \
  Expr MutateChildren(const name##Node* node, const Expr& self);
  TERN_EXPR_NODES(TERN_MUTATE)
#undef TERN_MUTATE

  // The new value of a field; nothing where it stays.
  std::optional<Expr> MutateField(const Expr& expr) {
    return expr ? IfChanged(expr, Mutate(expr)) : std::nullopt;
  }
  std::optional<Var> MutateField(const Var& var) { return IfChanged(var, MutateDef(var)); }
  std::optional<Buffer> MutateField(const Buffer& buffer) {
    return IfChanged(buffer, MutateUse(buffer));
  }
  std::optional<BufferDef> MutateField(const BufferDef& buffer) {
    return IfChanged(buffer, BufferDef(MutateDef(buffer)));
  }
  template <class T>
  std::optional<std::vector<T>> MutateField(const std::vector<T>& items) {
    return RewriteItems(items, [&](const T& item) { return MutateField(item); });
  }
  template <class T>
  std::optional<T> MutateField(const T&) {
    return {};  // numbers, texts, enums
  }

  template <class T>
  static std::optional<T> IfChanged(const T& old, T result) {
    return result.same(old) ? std::nullopt : std::optional<T>(std::move(result));
  }

  // Of a field that may be null.
  Expr MutateOptional(const Expr& expr) { return expr ? Mutate(expr) : expr; }

  virtual Var MutateDef(const Var& var) { return var; }
  // A buffer whose expressions change becomes a new buffer, and its uses follow.
  virtual Buffer MutateDef(const BufferDef& buffer);
  virtual Buffer MutateUse(const Buffer& buffer);

  std::unordered_map<const BufferNode*, Buffer> new_buffers_;
};

using VarMap = std::unordered_map<const VarNode*, Expr>;
Expr Substitute(const Expr& expr, const VarMap& map);

}  // namespace tern::ir

#endif  // TERN_IR_MUTATOR_H_
