// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/compare_sums.h"

#include <algorithm>

#include "tern/arith/fold.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes
using Term = LinearSum::Term;

bool IsReversed(ExprKind kind) { return kind == ExprKind::kGT || kind == ExprKind::kGE; }
bool IsEquality(ExprKind kind) { return kind == ExprKind::kEQ || kind == ExprKind::kNE; }

std::optional<LinearSum> Difference(const Expr& a, const Expr& b,
                                    std::optional<LinearSum> (*of)(const Expr&)) {
  auto difference = of(a), other = of(b);
  if (!difference || !other || !difference->Add(*other, -1)) return {};
  return difference;
}

// factor * sum + constant >= 0
bool IsNonNegative(const LinearSum& sum, int64_t factor, int64_t constant,
                   const Analyzer& analyzer) {
  LinearSum value;
  return value.Add(sum, factor) && value.AddConstant(constant) && analyzer.ProveNonNegative(value);
}

// Whether no value is 0: by remainders.
bool IsNeverZero(const LinearSum& sum, const Analyzer& analyzer) {
  int64_t unit = 0;
  auto base = std::optional<int64_t>(sum.constant);
  for (const Term& term : sum.terms) {
    ModularSet set = analyzer.Modular(term.expr);
    auto step = FoldInt(ExprKind::kMul, set.coefficient, term.coefficient),
         offset = FoldInt(ExprKind::kMul, set.base, term.coefficient);
    if (!base || !step || !offset || *step == ConstBounds::kNegInf) return false;
    unit = CommonDivisor(unit, *step);
    base = FoldInt(ExprKind::kAdd, *base, *offset);
  }
  return base && unit != 0 && *base % unit != 0;
}

// sum < 0 with fewer terms: sum = unit * result + rest, 0 <= rest < unit.
std::optional<LinearSum> DivideByUnit(const LinearSum& sum, const Analyzer& analyzer,
                                      Analyzer::BoundsCache* cache) {
  std::vector<int64_t> units;
  for (const Term& term : sum.terms) {
    if (term.coefficient == ConstBounds::kNegInf) return {};
    units.push_back(std::abs(term.coefficient));
  }
  std::sort(units.rbegin(), units.rend());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  // A unit of all terms is none of their coefficients where these are 4 and 6.
  int64_t common = 0;
  for (int64_t unit : units) common = CommonDivisor(common, unit);
  if (common > 1 && units.back() != common) units.push_back(common);
  for (int64_t unit : units) {
    if (unit <= 1) break;
    LinearSum multiple, rest;
    multiple.dtype = rest.dtype = sum.dtype;
    rest.constant = sum.constant;
    for (const Term& term : sum.terms)
      if (term.coefficient % unit == 0)
        multiple.AddTerm(term.expr, term.coefficient / unit);
      else
        rest.AddTerm(term.expr, term.coefficient);
    ConstBounds bounds = analyzer.Bounds(rest, cache);
    if (bounds.lo == ConstBounds::kNegInf || bounds.hi == ConstBounds::kPosInf) continue;
    int64_t quotient = FloorDivInt(bounds.lo, unit);
    if (quotient == FloorDivInt(bounds.hi, unit) && multiple.AddConstant(quotient)) return multiple;
  }
  return {};
}

// The terms with positive coefficients, or the others with their sign changed.
LinearSum Side(const LinearSum& sum, bool positive) {
  LinearSum side;
  side.dtype = sum.dtype;
  for (const Term& term : sum.terms)
    if ((term.coefficient > 0) == positive)
      side.AddTerm(term.expr, positive ? term.coefficient : -term.coefficient);
  return side;
}

Expr Compare(ExprKind kind, const Expr& a, const Expr& b) {
  switch (kind) {
    case ExprKind::kEQ:
      return EQNode::Make(a, b);
    case ExprKind::kNE:
      return NENode::Make(a, b);
    case ExprKind::kLT:
      return LTNode::Make(a, b);
    case ExprKind::kLE:
      return LENode::Make(a, b);
    case ExprKind::kGT:
      return GTNode::Make(a, b);
    default:
      return GENode::Make(a, b);
  }
}

}  // namespace

std::optional<bool> DecideComparison(ExprKind kind, const Expr& a, const Expr& b,
                                     const Analyzer& analyzer, Analyzer::BoundsCache* cache) {
  auto sum = Difference(a, b, LinearSum::Expanded);
  if (!sum) return {};
  ConstBounds bounds = analyzer.Bounds(*sum, cache);
  auto at_most = [&](int64_t value) {
    return bounds.hi <= value || IsNonNegative(*sum, -1, value, analyzer);
  };
  auto at_least = [&](int64_t value) {
    return bounds.lo >= value || IsNonNegative(*sum, 1, -value, analyzer);
  };
  auto decide = [](bool yes, auto&& no) { return yes || no() ? std::optional(yes) : std::nullopt; };
  switch (kind) {
    case ExprKind::kLT:
      return decide(at_most(-1), [&] { return at_least(0); });
    case ExprKind::kLE:
      return decide(at_most(0), [&] { return at_least(1); });
    case ExprKind::kGT:
      return decide(at_least(1), [&] { return at_most(0); });
    case ExprKind::kGE:
      return decide(at_least(0), [&] { return at_most(-1); });
    default:
      break;
  }
  bool equal = kind == ExprKind::kEQ;
  if (bounds.lo == 0 && bounds.hi == 0) return equal;
  if (IsNeverZero(*sum, analyzer) || at_most(-1) || at_least(1)) return !equal;
  if (at_most(0) && at_least(0)) return equal;
  return {};
}

Expr ReduceComparison(ExprKind kind, const Expr& a, const Expr& b, const Analyzer& analyzer,
                      Analyzer::BoundsCache* cache) {
  auto sum = Difference(a, b, LinearSum::OfSameType);
  if (!sum || sum->terms.empty()) return {};
  if (IsReversed(kind)) {
    LinearSum opposite;
    opposite.dtype = sum->dtype;
    if (!opposite.Add(*sum, -1)) return {};
    sum = std::move(opposite);
  }
  // sum < 0, where it is not about equality
  bool strict = kind == ExprKind::kLT || kind == ExprKind::kGT;
  if (IsEquality(kind)) {
    int64_t unit = 0;
    for (const Term& term : sum->terms) unit = CommonDivisor(unit, term.coefficient);
    if (unit > 1 && sum->constant % unit == 0) {
      for (Term& term : sum->terms) term.coefficient /= unit;
      sum->constant /= unit;
    }
  } else {
    if (!strict && !sum->AddConstant(-1)) return {};
    while (auto divided = DivideByUnit(*sum, analyzer, cache)) sum = std::move(*divided);
    if (!strict && !sum->AddConstant(1)) return {};
  }
  for (const Term& term : sum->terms)
    if (term.coefficient == ConstBounds::kNegInf) return {};
  // small + constant < large; the constant stands alone where it can, or where it is positive.
  LinearSum small = Side(*sum, true), large = Side(*sum, false);
  bool on_small = small.terms.empty() || (!large.terms.empty() && sum->constant > 0);
  bool added = on_small
                   ? small.AddConstant(sum->constant)
                   : sum->constant != ConstBounds::kNegInf && large.AddConstant(-sum->constant);
  bool swap = IsReversed(kind) || (IsEquality(kind) && small.terms.empty());
  Expr left = (swap ? large : small).ToExpr(), other = (swap ? small : large).ToExpr();
  if (!added || !left.get() || !other.get()) return {};
  return Compare(kind, left, other);
}

}  // namespace tern::arith
