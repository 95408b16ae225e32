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
  case NodeKind::k##name: \
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
  virtual void Visit(const Stmt& stmt) {
    DispatchStmt(stmt.get(), [this](auto* node) { VisitNode(node); });
  }
  // Parameters, then the body.
  void VisitFunction(const PrimFunc& function);

 protected:
  using ExprVisitor::VisitNode;
#define TERN_VISIT(name) \
  virtual void VisitNode(const name##Node* node) { VisitChildren(node); }
  TERN_STMT_NODES(TERN_VISIT)
#undef TERN_VISIT

  template <class T>
  void VisitChildren(const T* node) {
    std::apply([&](const auto&... field) { (VisitField(field), ...); }, node->fields());
  }
  using ExprVisitor::VisitField;
  void VisitField(const Stmt& stmt) {
    if (stmt) Visit(stmt);
  }
  void VisitField(const BlockIter& iter) {
    VisitField(iter.extent);
    VisitField(iter.binding);
    VisitField(iter.var);
  }
  void VisitField(const BufferRegion& region) {
    VisitField(region.buffer);
    for (const Range& range : region.ranges) {
      VisitField(range.min);
      VisitField(range.extent);
    }
  }
  template <class T>
  void VisitField(const std::vector<T>& items) {
    for (const T& item : items) VisitField(item);
  }
};

class StmtMutator : public ir::ExprMutator {
 public:
  using ExprMutator::Mutate;
  virtual Stmt Mutate(const Stmt& stmt) {
    return DispatchStmt(stmt.get(), [&](auto* node) { return MutateNode(node, stmt); });
  }
  PrimFunc MutateFunction(const PrimFunc& function);

 protected:
  using ExprMutator::MutateNode;
#define TERN_MUTATE(name)                                             \
  virtual Stmt MutateNode(const name##Node* node, const Stmt& self) { \
    return MutateChildren(node, self);                                \
  }
  TERN_STMT_NODES(TERN_MUTATE)
#undef TERN_MUTATE

  template <class T, class Self>
  Self MutateChildren(const T* node, const Self& self) {
    ffi::Ref<T> copy = ffi::Make<T>(*node);
    bool changed = false;
    std::apply([&](auto&... field) { ((changed |= MutateField(field)), ...); }, copy->fields());
    if (!changed) return self;
    return Self(copy);
  }
  using ExprMutator::MutateField;
  bool MutateField(Stmt& stmt) {
    if (!stmt) return false;
    Stmt result = Mutate(stmt);
    bool changed = !result.same(stmt);
    stmt = std::move(result);
    return changed;
  }
  bool MutateField(BlockIter& iter) {
    bool changed = MutateField(iter.extent);
    changed |= MutateField(iter.binding);
    changed |= MutateField(iter.var);
    return changed;
  }
  bool MutateField(BufferRegion& region) {
    bool changed = MutateField(region.buffer);
    for (Range& range : region.ranges) {
      changed |= MutateField(range.min);
      changed |= MutateField(range.extent);
    }
    return changed;
  }
  template <class T>
  bool MutateField(std::vector<T>& items) {
    bool changed = false;
    for (T& item : items) changed |= MutateField(item);
    return changed;
  }
};

Stmt Substitute(const Stmt& stmt, const ir::VarMap& map);

}  // namespace tern::tir

#endif  // TERN_TIR_VISITOR_H_
