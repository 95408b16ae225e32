// SPDX-License-Identifier: Apache-2.0
//
// What an analyzer is told about variables.
#include <algorithm>
#include <numeric>

#include "tern/arith/analyzer.h"
#include "tern/arith/fold.h"
#include "tern/arith/linear.h"
#include "tern/ir/structural.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes
constexpr int64_t kNegInf = ConstBounds::kNegInf, kPosInf = ConstBounds::kPosInf;

template <class T>
std::optional<T> Find(const std::unordered_map<const VarNode*, T>& map, const VarNode* var) {
  auto it = map.find(var);
  return it == map.end() ? std::nullopt : std::optional<T>(it->second);
}
template <class T>
void Restore(std::unordered_map<const VarNode*, T>* map, const VarNode* var,
             const std::optional<T>& value) {
  if (value)
    (*map)[var] = *value;
  else
    map->erase(var);
}

// What a condition says of a variable's remainder: v % c == k.
std::optional<std::pair<const VarNode*, ModularSet>> AsRemainder(const Expr& condition) {
  const auto* equal = condition.As<EQNode>();
  const auto* remainder = equal ? equal->a.As<FloorModNode>() : nullptr;
  std::optional<int64_t> divisor = remainder ? AsConstInt(remainder->b) : std::nullopt;
  std::optional<int64_t> base = equal ? AsConstInt(equal->b) : std::nullopt;
  const VarNode* var = remainder ? AsWidenedVar(remainder->a) : nullptr;
  if (!divisor || *divisor <= 0 || !base || *base < 0 || *base >= *divisor || !var) return {};
  return std::pair(var, ModularSet{*divisor, *base});
}

}  // namespace

// ---- Variables.

void Analyzer::Bind(const Var& var, ConstBounds bounds) {
  Save(var.node());
  bounds_[var.node()] = bounds;
  ranges_[var.node()] = {{}, {}, ++order_};
  modular_.erase(var.node());
}

void Analyzer::BindRange(const Var& var, const Expr& min, const Expr& extent) {
  ConstBounds first = Bounds(min), count = Bounds(extent);
  bool bounded = first.hi != kPosInf && count.hi != kPosInf && count.hi != kNegInf;
  auto last = bounded ? FoldInt(ExprKind::kAdd, first.hi, count.hi - 1) : std::nullopt;
  Bind(var, {first.lo, last.value_or(kPosInf)});
  bool constant = AsConstInt(min) && AsConstInt(extent);
  bool index = IsIndexType(min.dtype()) && IsIndexType(extent.dtype());
  if (constant || !index || !IsFixed(min) || !IsFixed(extent)) return;
  SymbolicRange& range = ranges_[var.node()];
  range.lo = AsInt64(min);
  Expr past = IsConst(min, 0) ? AsInt64(extent) : range.lo + AsInt64(extent);
  range.hi = past - Expr(1);
}

// ---- Scopes.

Analyzer::Mark Analyzer::Enter() {
  ++marks_;
  return undo_.size();
}

void Analyzer::Save(const VarNode* var) {
  if (marks_ == 0) return;
  undo_.push_back({var, Find(bounds_, var), Find(ranges_, var), Find(modular_, var), facts_.size(),
                   conditions_.size()});
}

void Analyzer::Leave(Mark mark) {
  while (undo_.size() > mark) {
    const Undo& undo = undo_.back();
    if (undo.var) {
      Restore(&bounds_, undo.var, undo.bounds);
      Restore(&ranges_, undo.var, undo.range);
      Restore(&modular_, undo.var, undo.modular);
    }
    facts_.resize(undo.facts);
    conditions_.resize(undo.conditions);
    undo_.pop_back();
  }
  --marks_;
}

// ---- Conditions.

void Analyzer::Assume(const Expr& condition) {
  if (!condition.dtype().is_scalar() || AsConstInt(condition)) return;
  if (marks_ > 0) undo_.push_back({nullptr, {}, {}, {}, facts_.size(), conditions_.size()});
  conditions_.push_back(condition);
  if (const auto* both = condition.As<AndNode>()) {
    Assume(both->a);
    Assume(both->b);
  } else if (const auto* negation = condition.As<NotNode>()) {
    if (const auto* either = negation->a.As<OrNode>()) {
      Assume(NotNode::Make(either->a));
      Assume(NotNode::Make(either->b));
    } else {
      AssumeComparison(negation->a, false);
    }
  } else {
    AssumeComparison(condition, true);
  }
}

bool Analyzer::Assumed(const Expr& condition) const {
  return std::any_of(conditions_.begin(), conditions_.end(),
                     [&](const Expr& known) { return StructuralEqual(known, condition); });
}

void Analyzer::AssumeComparison(const Expr& condition, bool holds) {
  if (auto remainder = AsRemainder(condition); remainder && holds) {
    auto [var, set] = *remainder;
    ModularSet known = Modular(Var(var));
    Save(var);
    if (known.coefficient != 0 && set.coefficient % known.coefficient == 0) modular_[var] = set;
  }
  DispatchExpr(condition.get(), [&](auto* node) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
    if constexpr (T::kKind >= ExprKind::kEQ && T::kKind <= ExprKind::kGE) {
      if (!IsIndexType(node->a.dtype())) return;
      auto a = LinearSum::Expanded(node->a), b = LinearSum::Expanded(node->b);
      auto assume = [&](std::optional<LinearSum> small, const std::optional<LinearSum>& large,
                        int64_t plus) {
        if (small && large && small->Add(*large, -1) && small->AddConstant(plus))
          AssumeNotPositive(std::move(*small));
      };
      if (T::kKind == ExprKind::kLT) holds ? assume(a, b, 1) : assume(b, a, 0);
      if (T::kKind == ExprKind::kLE) holds ? assume(a, b, 0) : assume(b, a, 1);
      if (T::kKind == ExprKind::kGT) holds ? assume(b, a, 1) : assume(a, b, 0);
      if (T::kKind == ExprKind::kGE) holds ? assume(b, a, 0) : assume(a, b, 1);
      if (T::kKind == (holds ? ExprKind::kEQ : ExprKind::kNE)) {
        assume(a, b, 0);
        assume(b, a, 0);
      }
    }
  });
}

void Analyzer::AssumeNotPositive(LinearSum sum) {
  Tighten(sum);
  facts_.push_back(std::move(sum));
}

// c * v + rest <= 0 bounds v where the rest is bounded.
void Analyzer::Tighten(const LinearSum& not_positive) {
  for (const LinearSum::Term& term : not_positive.terms) {
    const VarNode* var = AsWidenedVar(term.expr);
    if (!var || !IsIndexType(var->dtype) || term.coefficient == kNegInf) continue;
    LinearSum rest = not_positive;
    if (!rest.AddTerm(term.expr, -term.coefficient)) continue;
    int64_t least = Bounds(rest).lo;
    if (least == kNegInf || least == kPosInf) continue;
    // c * v <= -least
    ConstBounds known = Bounds(Var(var)), better = known;
    if (term.coefficient > 0)
      better.hi = std::min(known.hi, FloorDivInt(-least, term.coefficient));
    else
      better.lo = std::max(known.lo, -FloorDivInt(-least, -term.coefficient));
    // Where nothing fulfils all conditions nothing runs, and any bounds will do.
    if (better == known || better.lo > better.hi) continue;
    Save(var);
    bounds_[var] = better;
  }
}

}  // namespace tern::arith
