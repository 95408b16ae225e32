// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/simplify.h"

#include "tern/arith/linear.h"
#include "tern/tir/analyzed_mutator.h"
#include "tern/tir/transform/blocks/initialize_empty_reductions.h"

namespace tern::tir {
namespace {

class StmtSimplifier : public AnalyzedMutator {
 public:
  using AnalyzedMutator::Mutate;
  // The whole expression is simplified once; the walk below it only lets buffers follow their new
  // definitions.
  Expr Mutate(const Expr& expr) override {
    if (inside_expr_) return AnalyzedMutator::Mutate(expr);
    inside_expr_ = true;
    Expr result = AnalyzedMutator::Mutate(analyzer_.Simplify(expr));
    inside_expr_ = false;
    return result;
  }

 private:
  using AnalyzedMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (analyzer_.Bounds(node->extent).hi <= 0)
      return ContainsInit(node->body) ? MutateChildren(node, self) : SeqNode::Make({}, node->span);
    return AnalyzedMutator::MutateNode(node, self);
  }

  // A name for a constant is none: conditions that were decided have such names.
  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    Expr value = analyzer_.Simplify(node->value);
    if (!ir::AsConstInt(value)) return AnalyzedMutator::MutateNode(node, self);
    return Mutate(Substitute(node->body, {{node->var.node(), value}}));
  }

  Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
    Expr condition = Mutate(node->condition);
    if (std::optional<int64_t> known = ir::AsConstInt(condition)) {
      if (*known) return Mutate(node->then_case);
      return node->else_case ? Mutate(node->else_case) : SeqNode::Make({}, node->span);
    }
    Stmt then_case = MutateWhere(condition, true, node->then_case);
    Stmt else_case = node->else_case ? MutateWhere(condition, false, node->else_case) : Stmt();
    if (condition.same(node->condition) && then_case.same(node->then_case) &&
        else_case.same(node->else_case))
      return self;
    return IfThenElseNode::Make(condition, then_case, else_case, node->span);
  }

  // A branch, where the condition holds or does not. What it reads may change in between.
  Stmt MutateWhere(const Expr& condition, bool holds, const Stmt& stmt) {
    if (!arith::IsFixed(condition)) return Mutate(stmt);
    arith::Analyzer::Mark mark = analyzer_.Enter();
    analyzer_.Assume(holds ? condition : ir::NotNode::Make(condition));
    Stmt result = Mutate(stmt);
    analyzer_.Leave(mark);
    return result;
  }

  Stmt MutateNode(const AssertNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    if (ir::IsConst(result.As<AssertNode>()->condition, 1)) return SeqNode::Make({}, node->span);
    return result;
  }

  // Joins what children have become: empty sequences vanish, nested ones unfold.
  Stmt MutateNode(const SeqNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    return result.same(self) ? self : SeqNode::Make(result.As<SeqNode>()->stmts, node->span);
  }

  bool inside_expr_ = false;
};

}  // namespace

PrimFunc Simplify(const PrimFunc& function) { return StmtSimplifier().MutateFunction(function); }

}  // namespace tern::tir
