// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/loops/trim_loops.h"

#include <optional>
#include <unordered_set>

#include "tern/arith/fold.h"
#include "tern/arith/inline_limit.h"
#include "tern/arith/linear.h"
#include "tern/tir/analysis/conjuncts.h"
#include "tern/tir/analyzed_mutator.h"
#include "tern/tir/transform/loops/vectorize_loops.h"

namespace tern::tir {
namespace {

Expr Const(DataType dtype, int64_t value) { return ir::IntImmNode::Make(dtype, value); }

// Where all that a loop's body does ends.
class EndFinder {
 public:
  EndFinder(const ForNode* loop, const arith::Analyzer& analyzer)
      : loop_(loop), analyzer_(analyzer) {}

  // An iteration from which on it does nothing; null where there is none that is known before.
  Expr Run() { return Visit(loop_->body) ? end_ : Expr(); }

 private:
  // Whether what a statement does is nothing from `end_` on.
  bool Visit(const Stmt& stmt) {
    if (const auto* seq = stmt.As<SeqNode>()) {
      for (const Stmt& one : seq->stmts)
        if (!Visit(one)) return false;
      return true;
    }
    if (const auto* let = stmt.As<LetStmtNode>()) {
      inner_.insert(let->var.node());
      if (arith::IsIndexType(let->var.dtype()) && arith::IsFixed(let->value))
        if (Expr value = ir::Substitute(let->value, lets_); arith::MayInline(value))
          lets_[let->var.node()] = value;
      return Visit(let->body);
    }
    if (const auto* loop = stmt.As<ForNode>()) {
      inner_.insert(loop->var.node());
      analyzer_.BindRange(loop->var, loop->min, loop->extent);
      return loop->for_kind != ForKind::kThread && Visit(loop->body);
    }
    if (const auto* allocation = stmt.As<AllocateNode>())
      return !IsSharedScope(allocation->buffer->scope) && Visit(allocation->body);
    const auto* branch = stmt.As<IfThenElseNode>();
    if (!branch) return false;
    if (!branch->else_case)
      for (const Expr& part : Conjuncts(branch->condition))
        if (AddEnd(part)) return true;
    return Visit(branch->then_case) && (!branch->else_case || Visit(branch->else_case));
  }

  // Of a < b, where b - a falls from one iteration to the next.
  bool AddEnd(const Expr& comparison) {
    const auto* less = comparison.As<ir::LTNode>();
    DataType dtype = loop_->var.dtype();
    if (!less || less->a.dtype() != dtype) return false;
    auto a = arith::AsLinear(ir::Substitute(less->a, lets_), loop_->var.node()),
         b = arith::AsLinear(ir::Substitute(less->b, lets_), loop_->var.node());
    if (!a || !b) return false;
    auto step = arith::FoldInt(ExprKind::kSub, a->coefficient, b->coefficient);
    if (!step || *step <= 0 || *step > std::numeric_limits<int32_t>::max()) return false;
    // It holds where var * step < left.
    Expr left = b->rest - a->rest;
    if (!RemoveInner(&left) || ir::MayFault(left)) return false;
    Expr end = ir::FloorDiv(left + Const(dtype, *step - 1), Const(dtype, *step));
    end_ = end_ ? ir::MaxNode::Make(end_, end) : end;
    return true;
  }

  // Replaces the variables of the body by what makes an expression greatest; false where that is
  // not known.
  bool RemoveInner(Expr* expr) const {
    for (;;) {
      const VarNode* inner = nullptr;
      ir::ForEachExpr(*expr, [&](const Expr& e) {
        if (const auto* var = e.As<VarNode>(); inner_.count(var)) inner = var;
      });
      if (!inner) return true;
      auto linear = arith::AsLinear(*expr, inner);
      if (!linear) return false;
      arith::ConstBounds bounds = analyzer_.Bounds(Var(inner));
      int64_t extreme = linear->coefficient > 0 ? bounds.hi : bounds.lo;
      auto most = arith::FoldInt(ExprKind::kMul, linear->coefficient, extreme);
      constexpr int64_t kLarge = int64_t{1} << 30;
      if (!most || *most > kLarge || *most < -kLarge) return false;
      *expr = linear->rest + Const(expr->dtype(), *most);
    }
  }

  const ForNode* loop_;
  arith::Analyzer analyzer_;
  std::unordered_set<const VarNode*> inner_;
  ir::VarMap lets_;  // those of them that are definitions of indices
  Expr end_;
};

class Trimmer : public AnalyzedMutator {
 private:
  using AnalyzedMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    Stmt result = AnalyzedMutator::MutateNode(node, self);
    const auto* loop = result.As<ForNode>();
    DataType dtype = loop->var.dtype();
    std::optional<int64_t> extent = ir::AsConstInt(loop->extent);
    // A tail begins behind full tiles, whose number is not known.
    bool is_tail = !extent && !ir::AsConstInt(loop->min) &&
                   ir::AsConstInt(analyzer_.Simplify(loop->min + loop->extent));
    bool several = extent ? *extent > 1 : is_tail;
    if (loop->for_kind != ForKind::kSerial || !HasTail(loop, attr::kMaskTail) || !several ||
        !arith::IsIndexType(dtype))
      return result;
    Expr end = EndFinder(loop, analyzer_).Run();
    if (!end) return result;
    Expr some = ir::MaxNode::Make(end - loop->min, Const(dtype, 0));
    Expr fewer = analyzer_.Simplify(ir::MinNode::Make(some, loop->extent));
    if (extent && ir::AsConstInt(fewer) == extent) return result;
    return loop->With(loop->min, fewer, loop->body);
  }
};

}  // namespace

PrimFunc TrimLoops(const PrimFunc& function) { return Trimmer().MutateFunction(function); }

}  // namespace tern::tir
