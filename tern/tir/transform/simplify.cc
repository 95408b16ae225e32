// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/simplify.h"

#include "tern/arith/analyzer.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class StmtSimplifier : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  // The whole expression is simplified once; the walk below it only lets buffers follow their new
  // definitions.
  Expr Mutate(const Expr& expr) override {
    if (inside_expr_) return StmtMutator::Mutate(expr);
    inside_expr_ = true;
    Expr result = StmtMutator::Mutate(analyzer_.Simplify(expr));
    inside_expr_ = false;
    return result;
  }

 private:
  using StmtMutator::MutateNode;

  Buffer MutateDef(const BufferDef& buffer) override {
    for (const Expr& extent : buffer->shape) BindExtent(extent);
    return StmtMutator::MutateDef(buffer);
  }
  // An extent that is a variable is not negative.
  void BindExtent(const Expr& extent) {
    const auto* var = extent.As<VarNode>();
    if (var && analyzer_.Bounds(extent).lo < 0)
      analyzer_.Bind(Var(var), {0, arith::ConstBounds::kPosInf});
  }

  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    Expr value = Mutate(node->value);
    if (value.dtype().is_integer()) analyzer_.Bind(node->var, analyzer_.Bounds(value));
    Stmt body = Mutate(node->body);
    if (value.same(node->value) && body.same(node->body)) return self;
    return LetStmtNode::Make(node->var, value, body, node->span);
  }

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    Expr min = Mutate(node->min), extent = Mutate(node->extent);
    arith::ConstBounds count = analyzer_.Bounds(extent);
    if (count.hi <= 0) return SeqNode::Make({}, node->span);
    analyzer_.BindRange(node->var, min, extent);
    Stmt body = Mutate(node->body);
    if (min.same(node->min) && extent.same(node->extent) && body.same(node->body)) return self;
    return ForNode::Make(node->var, min, extent, node->for_kind, body, node->thread, node->span);
  }

  Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
    Expr condition = Mutate(node->condition);
    if (const int64_t* known = ir::AsConstInt(condition)) {
      if (*known) return Mutate(node->then_case);
      return node->else_case ? Mutate(node->else_case) : SeqNode::Make({}, node->span);
    }
    Stmt then_case = Mutate(node->then_case);
    Stmt else_case = node->else_case ? Mutate(node->else_case) : Stmt();
    if (condition.same(node->condition) && then_case.same(node->then_case) &&
        else_case.same(node->else_case))
      return self;
    return IfThenElseNode::Make(condition, then_case, else_case, node->span);
  }

  Stmt MutateNode(const AssertNode* node, const Stmt& self) override {
    if (analyzer_.CanProve(node->condition)) return SeqNode::Make({}, node->span);
    return MutateChildren(node, self);
  }

  // Joins what children have become: empty sequences vanish, nested ones unfold.
  Stmt MutateNode(const SeqNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    return result.same(self) ? self : SeqNode::Make(result.As<SeqNode>()->stmts, node->span);
  }

  arith::Analyzer analyzer_;
  bool inside_expr_ = false;
};

}  // namespace

PrimFunc Simplify(const PrimFunc& function) { return StmtSimplifier().MutateFunction(function); }

}  // namespace tern::tir
