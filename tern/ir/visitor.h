// SPDX-License-Identifier: Apache-2.0
//
// Walking expressions. A visitor overrides VisitNode for the kinds it cares about; the rest visit
// their children.
#ifndef TERN_IR_VISITOR_H_
#define TERN_IR_VISITOR_H_

#include <unordered_set>

#include "tern/ir/expr.h"

namespace tern::ir {

// Calls `f` with the node as its own class.
template <class F>
decltype(auto) DispatchExpr(const ExprNode* node, F&& f) {
  switch (node->kind) {
#define TERN_CASE(name)   \
  case ExprKind::k##name: \
    return f(static_cast<const name##Node*>(node));
    TERN_EXPR_NODES(TERN_CASE)
#undef TERN_CASE
    default:
      TERN_ICHECK(false) << "not an expression";
      __builtin_unreachable();
  }
}

class ExprVisitor {
 public:
  virtual ~ExprVisitor() = default;
  virtual void Visit(const Expr& expr);

 protected:
  // Defined in visitor.cc, so that the code for all kinds is compiled once, not for each visitor.
#define TERN_VISIT(name)                          \
  virtual void VisitNode(const name##Node* node); \
  void VisitChildren(const name##Node* node);
  TERN_EXPR_NODES(TERN_VISIT)
#undef TERN_VISIT

  void VisitField(const Expr& expr) {
    if (expr) Visit(expr);
  }
  void VisitField(const Var& var) { VisitDef(var); }
  void VisitField(const Buffer& buffer) { VisitUse(buffer); }
  void VisitField(const BufferDef& buffer) { VisitDef(buffer); }
  template <class T>
  void VisitField(const std::vector<T>& items) {
    for (const T& item : items) VisitField(item);
  }
  template <class T>
  void VisitField(const T&) {}  // numbers, texts, enums

  // Where a variable or buffer is defined, and where a buffer is used. By default nothing more is
  // visited than the expressions of a buffer that comes into scope.
  virtual void VisitDef(const Var&) {}
  virtual void VisitDef(const BufferDef& buffer);
  virtual void VisitUse(const Buffer&) {}
};

// Calls `f` on every subexpression, parents first.
void ForEachExpr(const Expr& expr, const std::function<void(const Expr&)>& f);
bool UsesVar(const Expr& expr, const VarNode* var);
// Whether evaluating it where its value is not needed could fault.
bool MayFault(const Expr& expr);

}  // namespace tern::ir

#endif  // TERN_IR_VISITOR_H_
