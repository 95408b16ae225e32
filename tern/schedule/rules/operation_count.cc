// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/operation_count.h"

#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

int64_t CountArithmetic(const BlockNode* block) {
  struct Count : StmtVisitor {
    using StmtVisitor::Visit;
    using StmtVisitor::VisitNode;
    void Visit(const Expr& expr) override {
      bool is_value = expr.As<VarNode>() || expr.As<ir::IntImmNode>() ||
                      expr.As<ir::FloatImmNode>() || expr.As<ir::CastNode>() ||
                      expr.As<ir::BufferLoadNode>();
      number += is_value ? 0 : 1;
      StmtVisitor::Visit(expr);
    }
    void VisitNode(const ir::BufferLoadNode*) override {}
    void VisitNode(const BufferStoreNode* node) override { Visit(node->value); }
    void VisitNode(const ir::CallNode* node) override {
      constexpr int64_t kCall = 16;
      number += kCall - 1;
      VisitChildren(node);
    }
    int64_t number = 0;
  } count;
  count.Visit(block->body);
  return count.number;
}

}  // namespace tern::schedule
