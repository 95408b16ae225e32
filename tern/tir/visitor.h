// SPDX-License-Identifier: Apache-2.0
//
// Walking and rewriting statements, with the expressions in them.
#ifndef TERN_TIR_VISITOR_H_
#define TERN_TIR_VISITOR_H_

#include "tern/ir/mutator.h"
#include "tern/ir/visitor.h"
#include "tern/tir/function.h"

namespace tern::tir {

template <class F>
decltype(auto) DispatchStmt(const StmtNode* node, F&& f) {
  switch (node->kind) {
#define TERN_CASE(name)   \
  case StmtKind::k##name: \
    return f(static_cast<const name##Node*>(node));
    TERN_STMT_NODES(TERN_CASE)
#undef TERN_CASE
    default:
      TERN_ICHECK(false) << "not a statement";
      __builtin_unreachable();
  }
}

class StmtVisitor : public ir::ExprVisitor {
 public:
  using ExprVisitor::Visit;
  virtual void Visit(const Stmt& stmt);
  // Parameters, then the body.
  void VisitFunction(const PrimFunc& function);

 protected:
  // Defined in visitor.cc, as those of expressions.
  using ExprVisitor::VisitChildren;
  using ExprVisitor::VisitNode;
#define TERN_VISIT(name)                          \
  virtual void VisitNode(const name##Node* node); \
  void VisitChildren(const name##Node* node);
  TERN_STMT_NODES(TERN_VISIT)
#undef TERN_VISIT

  using ExprVisitor::VisitField;
  void VisitField(const Stmt& stmt) {
    if (stmt) Visit(stmt);
  }
  // An axis of a block, a region, a range.
  template <ir::HasFields T>
  void VisitField(const T& value) {
    std::apply([&](const auto&... field) { (VisitField(field), ...); }, value.fields());
  }
  template <class T>
  void VisitField(const std::vector<T>& items) {
    for (const T& item : items) VisitField(item);
  }
};

class StmtMutator : public ir::ExprMutator {
 public:
  using ExprMutator::Mutate;
  virtual Stmt Mutate(const Stmt& stmt);
  PrimFunc MutateFunction(const PrimFunc& function);

 protected:
  using ExprMutator::MutateChildren;
  using ExprMutator::MutateNode;
#define TERN_MUTATE(name)                                            \
  virtual Stmt MutateNode(const name##Node* node, const Stmt& self); \
  Stmt MutateChildren(const name##Node* node, const Stmt& self);
  TERN_STMT_NODES(TERN_MUTATE)
#undef TERN_MUTATE

  using ExprMutator::MutateField;
  std::optional<Stmt> MutateField(const Stmt& stmt) {
    return stmt ? IfChanged(stmt, Mutate(stmt)) : std::nullopt;
  }
  // An axis of a block, a region, a range.
  template <ir::HasFields T>
  std::optional<T> MutateField(const T& value) {
    return ir::RewriteFields(
        value, [&] { return std::optional<T>(value); },
        [&](const auto& field) { return MutateField(field); });
  }
  template <class T>
  std::optional<std::vector<T>> MutateField(const std::vector<T>& items) {
    return ir::RewriteItems(items, [&](const T& item) { return MutateField(item); });
  }
};

Stmt Substitute(const Stmt& stmt, const ir::VarMap& map);

}  // namespace tern::tir

#endif  // TERN_TIR_VISITOR_H_
