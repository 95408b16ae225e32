// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/symbolic_bounds.h"

#include <algorithm>

#include "tern/arith/fold.h"
#include "tern/arith/inline_limit.h"
#include "tern/arith/linear.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes

// Whether it has one value at any place where its variables are in scope, and evaluating it there
// never faults.
bool IsPlain(const Expr& expr) {
  bool plain = true;
  ForEachExpr(expr, [&](const Expr& e) {
    switch (e->kind) {
      case ExprKind::kBufferLoad:
      case ExprKind::kCall:
      case ExprKind::kLet:
      case ExprKind::kTruncDiv:
      case ExprKind::kTruncMod:
        plain = false;
        break;
      case ExprKind::kFloorDiv: {
        std::optional<int64_t> divisor = AsConstInt(e.As<FloorDivNode>()->b);
        plain &= divisor && *divisor > 0;
        break;
      }
      case ExprKind::kFloorMod: {
        std::optional<int64_t> divisor = AsConstInt(e.As<FloorModNode>()->b);
        plain &= divisor && *divisor > 0;
        break;
      }
      case ExprKind::kCast:
        plain &= !e.As<CastNode>()->value.dtype().is_float();
        break;
      default:
        break;
    }
  });
  return plain;
}

}  // namespace

// ---- What is known.

void SymbolicAnalyzer::Leave(Mark mark) {
  for (size_t i = mark.vars; i < inner_.size(); ++i) {
    lets_.erase(inner_[i].var);
    auto places = places_.find(inner_[i].var);
    places->second.pop_back();
    if (places->second.empty()) places_.erase(places);
  }
  inner_.resize(mark.vars);
  facts_.resize(mark.facts);
}

void SymbolicAnalyzer::Push(Inner inner) {
  places_[inner.var].push_back(inner_.size());
  inner_.push_back(std::move(inner));
}

void SymbolicAnalyzer::EnterRange(const Var& var, const Expr& min, const Expr& extent) {
  Expr first = Resolve(min), count = Resolve(extent);
  analyzer_.BindRange(var, first, count);
  Inner inner{var.node(), {}, {}, {}};
  if (IsIndexType(var.dtype()) && IsPlain(first) && IsPlain(count)) {
    inner.lo = analyzer_.Simplify(AsInt64(first));
    inner.hi = analyzer_.Simplify(AsInt64(first) + AsInt64(count) - Expr(1));
    inner.extent = analyzer_.Simplify(AsInt64(count));
  }
  Push(std::move(inner));
}

void SymbolicAnalyzer::EnterLet(const Var& var, const Expr& value) {
  Expr resolved = Resolve(value);
  if (var.dtype().is_integer() && var.dtype().is_scalar())
    analyzer_.Bind(var, analyzer_.Bounds(resolved));
  Push({var.node(), {}, {}, {}});
  if (IsIndexType(var.dtype()) && MayInline(resolved) && IsPlain(resolved))
    lets_[var.node()] = resolved;
}

void SymbolicAnalyzer::Assume(const Expr& condition) {
  if (const auto* both = condition.As<AndNode>()) {
    Assume(both->a);
    Assume(both->b);
  } else if (const auto* less = condition.As<LTNode>()) {
    AssumeLessEqual(less->a, less->b, 1);
  } else if (const auto* at_most = condition.As<LENode>()) {
    AssumeLessEqual(at_most->a, at_most->b, 0);
  } else if (const auto* greater = condition.As<GTNode>()) {
    AssumeLessEqual(greater->b, greater->a, 1);
  } else if (const auto* at_least = condition.As<GENode>()) {
    AssumeLessEqual(at_least->b, at_least->a, 0);
  } else if (const auto* equal = condition.As<EQNode>()) {
    AssumeLessEqual(equal->a, equal->b, 0);
    AssumeLessEqual(equal->b, equal->a, 0);
  }
}

// a + plus <= b
void SymbolicAnalyzer::AssumeLessEqual(const Expr& a, const Expr& b, int64_t plus) {
  if (!IsIndexType(a.dtype())) return;
  Expr small = Resolve(a), large = Resolve(b);
  if (!IsPlain(small) || !IsPlain(large)) return;
  auto fact = LinearSum::Of(analyzer_.Simplify(small));
  auto other = LinearSum::Of(analyzer_.Simplify(large));
  LinearSum constant;
  constant.constant = plus;
  if (fact && other && fact->Add(*other, -1) && fact->Add(constant))
    facts_.push_back(std::move(*fact));
}

const SymbolicAnalyzer::Inner* SymbolicAnalyzer::Find(const VarNode* var) const {
  auto it = places_.find(var);
  return it == places_.end() ? nullptr : &inner_[it->second.back()];
}

bool SymbolicAnalyzer::UsesInner(const Expr& expr) const {
  bool uses = false;
  ForEachExpr(expr, [&](const Expr& e) {
    const auto* var = e.As<VarNode>();
    uses |= var && Find(var);
  });
  return uses;
}

// ---- Bounds.

SymbolicBounds SymbolicAnalyzer::Bounds(const Expr& expr) const {
  Expr resolved = analyzer_.Simplify(Resolve(expr));
  return {BoundOf(resolved, End::kLo), BoundOf(resolved, End::kHi)};
}

Expr SymbolicAnalyzer::BoundOf(const Expr& expr, End end) const {
  if (!UsesInner(expr) && IsPlain(expr)) return analyzer_.Simplify(AsInt64(expr));
  if (auto sum = LinearSum::Of(expr)) return Bound(*sum, end);
  return ConstantBound(expr, end);
}

Expr SymbolicAnalyzer::ConstantBound(const Expr& expr, End end) const {
  ConstBounds bounds = analyzer_.Bounds(expr);
  int64_t value = end == End::kLo ? bounds.lo : bounds.hi;
  bool finite = value != ConstBounds::kNegInf && value != ConstBounds::kPosInf;
  return finite ? Expr(value) : Expr();
}

Expr SymbolicAnalyzer::Tighter(const Expr& a, const Expr& b, End end) const {
  if (!a.get()) return b;
  if (!b.get()) return a;
  bool a_less = ProveLessEqual(analyzer_, a, b), b_less = ProveLessEqual(analyzer_, b, a);
  if (a_less || b_less) return a_less == (end == End::kHi) ? a : b;
  Expr both = end == End::kHi ? MinNode::Make(a, b) : MaxNode::Make(a, b);
  return analyzer_.Simplify(both);
}

// By the ranges of the variables, and by each fact: as fact <= 0, a multiple of it taken off only
// makes the sum larger (or smaller), and may cancel its variables.
Expr SymbolicAnalyzer::Bound(const LinearSum& sum, End end) const {
  Expr best = Eliminate(sum, end);
  // What a fact leaves is bounded without facts: two of them could lead from one to the other and
  // back.
  if (uses_fact_) return best;
  for (const LinearSum& fact : facts_) {
    for (const LinearSum::Term& term : fact.terms) {
      const VarNode* var = AsWidenedVar(term.expr);
      int64_t coefficient = var && Find(var) ? sum.CoefficientOf(var) : 0;
      if (coefficient == 0 || FoldInt(ExprKind::kFloorMod, coefficient, term.coefficient) != 0)
        continue;
      int64_t times = coefficient / term.coefficient;
      if ((times > 0) != (end == End::kHi)) continue;
      LinearSum rest = sum;
      if (!rest.Add(fact, -times)) continue;
      uses_fact_ = true;
      Expr bound = Eliminate(std::move(rest), end);
      uses_fact_ = false;
      best = Tighter(best, bound, end);
      break;
    }
  }
  return best;
}

const SymbolicAnalyzer::Inner* SymbolicAnalyzer::InnermostIn(const LinearSum& sum) const {
  const Inner* innermost = nullptr;
  for (const LinearSum::Term& term : sum.terms)
    ForEachExpr(term.expr, [&](const Expr& e) {
      const auto* var = e.As<VarNode>();
      const Inner* inner = var ? Find(var) : nullptr;
      if (inner && (!innermost || inner > innermost)) innermost = inner;
    });
  return innermost;
}

Expr SymbolicAnalyzer::Eliminate(LinearSum sum, End end) const {
  while (const Inner* inner = InnermostIn(sum)) {
    LinearSum next;
    next.constant = sum.constant;
    for (const LinearSum::Term& term : sum.terms) {
      if (!UsesVar(term.expr, inner->var)) {
        if (!next.AddTerm(term.expr, term.coefficient)) return {};
        continue;
      }
      End wanted = (term.coefficient > 0) == (end == End::kHi) ? End::kHi : End::kLo;
      Expr bound = AsWidenedVar(term.expr) == inner->var
                       ? (wanted == End::kHi ? inner->hi : inner->lo)
                       : BoundOfTerm(term.expr, wanted);
      if (!bound.get()) bound = ConstantBound(term.expr, wanted);
      auto linear = bound.get() ? LinearSum::Of(bound) : std::nullopt;
      if (!linear || !next.Add(*linear, term.coefficient)) return {};
    }
    sum = std::move(next);
  }
  LinearSum result;
  result.constant = sum.constant;
  for (const LinearSum::Term& term : sum.terms) {
    End wanted = (term.coefficient > 0) == (end == End::kHi) ? End::kHi : End::kLo;
    Expr value = IsPlain(term.expr) ? term.expr : BoundOfTerm(term.expr, wanted);
    auto linear = value.get() ? LinearSum::Of(value) : std::nullopt;
    if (!linear || !result.Add(*linear, term.coefficient)) return {};
  }
  return analyzer_.Simplify(result.ToExpr());
}

// Of a term of a sum, which is no sum itself.
Expr SymbolicAnalyzer::BoundOfTerm(const Expr& term, End end) const {
  if (const auto* division = term.As<FloorDivNode>()) {
    std::optional<int64_t> divisor = AsConstInt(division->b);
    Expr dividend = divisor && *divisor > 0 ? BoundOf(division->a, end) : Expr();
    if (dividend.get()) return analyzer_.Simplify(FloorDivNode::Make(dividend, Expr(*divisor)));
  } else if (const auto* remainder = term.As<FloorModNode>()) {
    std::optional<int64_t> divisor = AsConstInt(remainder->b);
    if (divisor && *divisor > 0) {
      // In one multiple of the divisor the remainder runs with its dividend.
      Expr lo = BoundOf(remainder->a, End::kLo), hi = BoundOf(remainder->a, End::kHi);
      if (lo.get() && hi.get()) {
        Expr first = FloorDivNode::Make(lo, Expr(*divisor)),
             last = FloorDivNode::Make(hi, Expr(*divisor));
        if (analyzer_.CanProve(EQNode::Make(first, last)))
          return analyzer_.Simplify(FloorModNode::Make(end == End::kLo ? lo : hi, Expr(*divisor)));
      }
      return Expr(end == End::kLo ? 0 : *divisor - 1);
    }
  } else if (const auto* least = term.As<MinNode>()) {
    Expr a = BoundOf(least->a, end), b = BoundOf(least->b, end);
    if (a.get() && b.get()) return analyzer_.Simplify(MinNode::Make(a, b));
    if (end == End::kHi && (a.get() || b.get())) return a.get() ? a : b;
  } else if (const auto* greatest = term.As<MaxNode>()) {
    Expr a = BoundOf(greatest->a, end), b = BoundOf(greatest->b, end);
    if (a.get() && b.get()) return analyzer_.Simplify(MaxNode::Make(a, b));
    if (end == End::kLo && (a.get() || b.get())) return a.get() ? a : b;
  } else if (const auto* choice = term.As<SelectNode>()) {
    Expr a = BoundOf(choice->true_value, end), b = BoundOf(choice->false_value, end);
    if (a.get() && b.get())
      return analyzer_.Simplify(end == End::kLo ? MinNode::Make(a, b) : MaxNode::Make(a, b));
  } else if (const auto* product = term.As<MulNode>()) {
    for (const auto& [x, factor] :
         {std::pair(product->a, product->b), std::pair(product->b, product->a)}) {
      if (UsesInner(factor) || !IsPlain(factor) || analyzer_.Bounds(factor).lo < 0) continue;
      Expr bound = BoundOf(x, end);
      if (bound.get()) return analyzer_.Simplify(bound * AsInt64(factor));
    }
  } else if (const auto* cast = term.As<CastNode>(); cast && IsIndexType(cast->value.dtype())) {
    return BoundOfTerm(cast->value, end);
  }
  return ConstantBound(term, end);
}

// With coefficients c0 <= c1 <= ... of independent variables there are no gaps where c0 is 1 and
// each coefficient is no larger than what those before it span, and one.
bool SymbolicAnalyzer::IsDense(const Expr& expr, std::vector<const VarNode*>* vars) const {
  auto sum = LinearSum::Of(analyzer_.Simplify(expr));
  if (!sum) return false;
  struct Step {
    int64_t size;
    Expr extent;
  };
  std::vector<Step> steps;
  for (const LinearSum::Term& term : sum->terms) {
    if (!UsesInner(term.expr)) {
      if (!IsPlain(term.expr)) return false;
      continue;
    }
    const VarNode* var = AsWidenedVar(term.expr);
    const Inner* inner = var ? Find(var) : nullptr;
    if (!inner || !inner->extent.get() || UsesInner(inner->lo) || UsesInner(inner->extent) ||
        term.coefficient == ConstBounds::kNegInf)
      return false;
    steps.push_back({std::abs(term.coefficient), inner->extent});
    vars->push_back(var);
  }
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.size < b.size; });
  int64_t span = 0;  // of the steps so far
  for (const Step& step : steps) {
    if (step.size > span + 1) return false;
    std::optional<int64_t> extent = AsConstInt(step.extent);
    if (!extent) {
      // Without an iteration there is no value, and the bounds must say so.
      bool runs = analyzer_.Bounds(step.extent).lo >= 1;
      return &step == &steps.back() && (runs || step.size == span + 1);
    }
    auto reach = FoldInt(ExprKind::kMul, *extent - 1, step.size);
    auto total = reach ? FoldInt(ExprKind::kAdd, span, *reach) : std::nullopt;
    if (*extent <= 0 || !total || *total == ConstBounds::kPosInf) return false;
    span = *total;
  }
  return true;
}

}  // namespace tern::arith
