// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/depth.h"

#include "tern/ir/visitor.h"

namespace tern::ir {

const ExprNode* FindTooDeep(const Expr& expr) {
  // Children are put aside instead of visited.
  struct Walker : ExprVisitor {
    void Visit(const Expr& part) override { open.emplace_back(part.get(), depth + 1); }
    void Open(const ExprNode* node) {
      DispatchExpr(node, [this](auto* typed) { VisitNode(typed); });
    }
    std::vector<std::pair<const ExprNode*, int>> open;
    int depth = 0;
  } walker;
  walker.open.emplace_back(expr.get(), 0);
  while (!walker.open.empty()) {
    auto [node, depth] = walker.open.back();
    walker.open.pop_back();
    if (depth > kMaxExprDepth) return node;
    walker.depth = depth;
    walker.Open(node);
  }
  return nullptr;
}

std::string TooDeepMessage() {
  return "the expression is nested too deeply: operators may stand inside of each other " +
         std::to_string(kMaxExprDepth) + " deep; give parts of it names with let";
}

}  // namespace tern::ir
