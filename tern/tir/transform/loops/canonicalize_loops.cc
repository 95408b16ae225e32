// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/loops/canonicalize_loops.h"

#include "tern/arith/linear.h"
#include "tern/tir/analyzed_mutator.h"
#include "tern/tir/transform/blocks/initialize_empty_reductions.h"

namespace tern::tir {
namespace {

class Canonicalizer : public AnalyzedMutator {
  using AnalyzedMutator::Mutate;
  using AnalyzedMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    arith::ConstBounds count = analyzer_.Bounds(node->extent);
    if (count.hi <= 0 && node->for_kind != ForKind::kThread)
      return ContainsInit(node->body) ? MutateChildren(node, self) : SeqNode::Make({}, node->span);
    if (node->for_kind == ForKind::kThread || !arith::IsIndexType(node->var.dtype()))
      return AnalyzedMutator::MutateNode(node, self);
    Expr min = Mutate(node->min);
    // The extent of a vectorized loop is for vectorize_loops to judge.
    if (count == arith::ConstBounds{1, 1} && node->for_kind != ForKind::kVectorized)
      return WithStart(node, min, [&](const Expr& start) { return BodyWith(node, start); });
    if (ir::IsConst(min, 0)) return AnalyzedMutator::MutateNode(node, self);
    Expr extent = Mutate(node->extent);
    return WithStart(node, min, [&](const Expr& start) {
      Var var(node->var.name(), node->var.dtype(), node->var.span());
      Expr zero = ir::IntImmNode::Make(var.dtype(), 0);
      analyzer_.BindRange(var, zero, extent);
      return ForNode::Make(var, zero, extent, node->for_kind, BodyWith(node, var + start), "",
                           node->span, node->annotations);
    });
  }

  Stmt BodyWith(const ForNode* node, const Expr& value) {
    values_[node->var.node()] = value;
    Stmt body = Mutate(node->body);
    values_.erase(node->var.node());
    return body;
  }

  // What `make` makes of the loop's first value: a constant, or a variable that holds it.
  template <class F>
  Stmt WithStart(const ForNode* node, const Expr& min, F&& make) {
    if (ir::AsConstInt(min) || min.As<VarNode>()) return make(min);
    Var start(node->var.name() + "_start", node->var.dtype(), node->span);
    analyzer_.Bind(start, analyzer_.Bounds(min));
    return LetStmtNode::Make(start, min, make(start), node->span);
  }

  // Joins what children have become.
  Stmt MutateNode(const SeqNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    return result.same(self) ? self : SeqNode::Make(result.As<SeqNode>()->stmts, node->span);
  }

  Expr MutateNode(const VarNode* node, const Expr& self) override {
    auto it = values_.find(node);
    return it == values_.end() ? self : it->second;
  }

  ir::VarMap values_;  // of the variables of loops that were changed
};

}  // namespace

PrimFunc CanonicalizeLoops(const PrimFunc& function) {
  return Canonicalizer().MutateFunction(function);
}

}  // namespace tern::tir
