// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/order_blocks.h"

#include <unordered_map>

#include "tern/tir/atomics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// How an expression changes where the variable grows.
enum class Slope { kNone, kUp, kDown, kUnknown };

Slope Both(Slope a, Slope b) {
  if (a == Slope::kNone) return b;
  return b == Slope::kNone || a == b ? a : Slope::kUnknown;
}
Slope Turned(Slope slope) {
  return slope == Slope::kUp ? Slope::kDown : slope == Slope::kDown ? Slope::kUp : slope;
}
using Slopes = std::unordered_map<const VarNode*, Slope>;  // of variables; of others none

Slope SlopeOf(const Expr& expr, const Slopes& slopes) {
  auto of = [&](const Expr& e) { return SlopeOf(e, slopes); };
  if (const auto* var = expr.As<VarNode>()) {
    auto it = slopes.find(var);
    return it == slopes.end() ? Slope::kNone : it->second;
  }
  if (const auto* cast = expr.As<ir::CastNode>()) return of(cast->value);
  auto both = [&](const auto* node) { return Both(of(node->a), of(node->b)); };
  if (const auto* add = expr.As<ir::AddNode>()) return both(add);
  if (const auto* min = expr.As<ir::MinNode>()) return both(min);
  if (const auto* max = expr.As<ir::MaxNode>()) return both(max);
  if (const auto* sub = expr.As<ir::SubNode>()) return Both(of(sub->a), Turned(of(sub->b)));
  auto is_positive = [](const Expr& e) { return ir::AsConstInt(e).value_or(0) > 0; };
  if (const auto* mul = expr.As<ir::MulNode>(); mul && is_positive(mul->b)) return of(mul->a);
  if (const auto* div = expr.As<ir::FloorDivNode>(); div && is_positive(div->b)) return of(div->a);
  for (const auto& [var, slope] : slopes)
    if (ir::UsesVar(expr, var)) return Slope::kUnknown;
  return Slope::kNone;
}

// How the loops in a statement do, all together.
Slope SlopeOfLoops(const Stmt& stmt, const VarNode* var) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const LetStmtNode* node) override {
      if (Slope slope = SlopeOf(node->value, slopes); slope != Slope::kNone)
        slopes[node->var.node()] = slope;
      VisitChildren(node);
    }
    void VisitNode(const ForNode* node) override {
      result = Both(result, SlopeOf(node->extent, slopes));
      VisitChildren(node);
    }
    void VisitNode(const ir::CallNode* node) override {
      if (IsAtomic(node->name)) result = Slope::kUnknown;
      VisitChildren(node);
    }
    Slopes slopes;
    Slope result = Slope::kNone;
  } finder;
  finder.slopes[var] = Slope::kUp;
  finder.Visit(stmt);
  return finder.result;
}

class BlockOrderer : public StmtMutator {
  using StmtMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread || node->thread != "blockIdx.x" ||
        SlopeOfLoops(node->body, node->var.node()) != Slope::kUp)
      return MutateChildren(node, self);
    Expr last = node->min + node->extent - ir::IntImmNode::Make(node->var.dtype(), 1);
    Expr turned = last - (node->var - node->min);
    return node->With(node->min, node->extent,
                      Substitute(node->body, {{node->var.node(), turned}}));
  }
};

}  // namespace

PrimFunc OrderBlocks(const PrimFunc& function) { return BlockOrderer().MutateFunction(function); }

}  // namespace tern::tir
