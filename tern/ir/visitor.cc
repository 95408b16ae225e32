// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/visitor.h"

#include "tern/ir/intrinsic.h"

namespace tern::ir {

void ExprVisitor::Visit(const Expr& expr) {
  DispatchExpr(expr.get(), [this](auto* node) { VisitNode(node); });
}

#define TERN_VISIT(name)                                                                 \
  void ExprVisitor::VisitNode(const name##Node* node) { VisitChildren(node); }           \
  void ExprVisitor::VisitChildren(const name##Node* node) {                              \
    std::apply([&](const auto&... field) { (VisitField(field), ...); }, node->fields()); \
  }
TERN_EXPR_NODES(TERN_VISIT)
#undef TERN_VISIT

void ExprVisitor::VisitDef(const BufferDef& buffer) {
  VisitField(buffer->shape);
  VisitField(buffer->strides);
  VisitField(buffer->offset);
}

void ForEachExpr(const Expr& expr, const std::function<void(const Expr&)>& f) {
  struct Walker : ExprVisitor {
    explicit Walker(const std::function<void(const Expr&)>& f) : f(f) {}
    void Visit(const Expr& expr) override {
      f(expr);
      ExprVisitor::Visit(expr);
    }
    const std::function<void(const Expr&)>& f;
  };
  Walker(f).Visit(expr);
}

bool UsesVar(const Expr& expr, const VarNode* var) {
  bool found = false;
  ForEachExpr(expr, [&](const Expr& e) { found |= e.get() == var; });
  return found;
}

bool MayFault(const Expr& expr) {
  bool may_fault = false;
  ForEachExpr(expr, [&](const Expr& e) {
    switch (e->kind) {
      case ExprKind::kCall:
        may_fault |= FindIntrinsic(e.As<CallNode>()->name)->may_fault;
        break;
      case ExprKind::kBufferLoad:
      case ExprKind::kTruncDiv:
      case ExprKind::kTruncMod:
      case ExprKind::kFloorDiv:
      case ExprKind::kFloorMod:
        may_fault = true;
        break;
      default:
        break;
    }
  });
  return may_fault;
}

}  // namespace tern::ir
