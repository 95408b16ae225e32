// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/divide_sum.h"

#include <algorithm>

#include "tern/arith/fold.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes
using Term = LinearSum::Term;

bool IsFinite(ConstBounds bounds) {
  return bounds.lo != ConstBounds::kNegInf && bounds.hi != ConstBounds::kPosInf;
}

// The quotient by `divisor`, where it is the same for all values.
std::optional<int64_t> OneQuotient(ConstBounds bounds, int64_t divisor) {
  if (!IsFinite(bounds)) return {};
  int64_t first = FloorDivInt(bounds.lo, divisor);
  if (first != FloorDivInt(bounds.hi, divisor)) return {};
  return first;
}

// sum = unit * multiple + rest, 0 <= rest < unit
struct Grouped {
  LinearSum multiple, rest;
  int64_t unit;
};

class ConstantDivision {
 public:
  ConstantDivision(LinearSum sum, int64_t divisor, const Analyzer& analyzer,
                   Analyzer::BoundsCache* cache)
      : sum_(std::move(sum)), divisor_(divisor), analyzer_(analyzer), cache_(cache) {}

  Expr Quotient() {
    LinearSum multiple = Empty(), rest = Empty();
    if (!TakeMultiples(&multiple, &rest)) return {};
    if (auto quotient = OneQuotient(analyzer_.Bounds(rest, cache_), divisor_))
      return multiple.AddConstant(*quotient) ? multiple.ToExpr() : Expr();
    bool changed = !multiple.terms.empty() || multiple.constant != 0;
    int64_t divisor = divisor_;
    if (auto grouped = Group(rest, divisor_)) {
      rest = grouped->multiple;
      divisor /= grouped->unit;
      changed = true;
    }
    if (!changed) return {};
    Expr dividend = rest.ToExpr();
    if (!dividend.get()) return {};
    Expr left = divisor == 1 ? dividend : FloorDivNode::Make(dividend, Number(divisor));
    auto total = LinearSum::OfSameType(left);
    return total && multiple.Add(*total) ? multiple.ToExpr() : Expr();
  }

  Expr Remainder() {
    LinearSum multiple = Empty(), rest = Empty();
    if (!TakeMultiples(&multiple, &rest)) return {};
    bool changed = !multiple.terms.empty() || multiple.constant != 0;
    if (!IsSmall(rest.constant)) {
      rest.constant = FloorModInt(rest.constant, divisor_);
      changed = true;
    }
    // Smaller coefficients count where the remainder goes away, or in part. Else it stays one of
    // the dividend that the quotient has, too, whose invariant part is computed once for both.
    LinearSum written = rest;
    for (Term& term : rest.terms)
      if (!IsSmall(term.coefficient)) term.coefficient = FloorModInt(term.coefficient, divisor_);
    if (auto quotient = OneQuotient(analyzer_.Bounds(rest, cache_), divisor_)) {
      auto offset = FoldInt(ExprKind::kMul, *quotient, -divisor_);
      return offset && rest.AddConstant(*offset) ? rest.ToExpr() : Expr();
    }
    auto grouped = Group(rest, divisor_);
    if (!grouped) {
      Expr dividend = changed ? written.ToExpr() : Expr();
      return dividend.get() ? FloorModNode::Make(dividend, Number(divisor_)) : Expr();
    }
    Expr dividend = grouped->multiple.ToExpr();
    if (!dividend.get()) return {};
    Expr digits = FloorModNode::Make(dividend, Number(divisor_ / grouped->unit));
    LinearSum result = Empty();
    if (!result.AddTerm(digits, grouped->unit) || !result.Add(grouped->rest)) return {};
    return result.ToExpr();
  }

 private:
  LinearSum Empty() const {
    LinearSum sum;
    sum.dtype = sum_.dtype;
    return sum;
  }
  bool IsSmall(int64_t number) const { return -divisor_ < number && number < divisor_; }
  Expr Number(int64_t value) const { return IntImmNode::Make(sum_.dtype, value); }

  // The divisor times `multiple`, and the rest.
  bool TakeMultiples(LinearSum* multiple, LinearSum* rest) const {
    bool added = true;
    for (const Term& term : sum_.terms) {
      if (term.coefficient % divisor_ == 0)
        added = added && multiple->AddTerm(term.expr, term.coefficient / divisor_);
      else if (auto part = KnownMultiple(term))
        added = added && multiple->AddTerm(part->expr, part->coefficient);
      else
        added = added && rest->AddTerm(term.expr, term.coefficient);
    }
    bool divides = sum_.constant % divisor_ == 0;
    (divides ? multiple : rest)->constant = divides ? sum_.constant / divisor_ : sum_.constant;
    return added;
  }

  // The quotient of a term that is a multiple of the divisor by what is known of a factor.
  std::optional<Term> KnownMultiple(const Term& term) const {
    int64_t common = CommonDivisor(divisor_, term.coefficient), needed = divisor_ / common;
    auto product = Product::Of(term.expr);
    if (!product || product->coefficient != 1) return {};
    for (Expr& factor : product->factors) {
      ModularSet set = analyzer_.Modular(factor);
      if (!set.knows_remainder(needed) || set.base % needed != 0 || AsConstInt(factor)) continue;
      // x itself is no simpler than x // 4.
      if (product->factors.size() == 1 && sum_.terms.size() == 1 && sum_.constant == 0) return {};
      factor = FloorDivNode::Make(factor, Number(needed));
      return Term{product->FactorsToExpr(sum_.dtype), term.coefficient / common};
    }
    return {};
  }

  // By the largest unit that divides the divisor and that all but small terms are multiples of.
  std::optional<Grouped> Group(const LinearSum& sum, int64_t divisor) const {
    std::vector<int64_t> units;
    for (const Term& term : sum.terms) units.push_back(CommonDivisor(divisor, term.coefficient));
    std::sort(units.rbegin(), units.rend());
    units.erase(std::unique(units.begin(), units.end()), units.end());
    for (int64_t unit : units) {
      if (unit == 1) break;
      Grouped grouped{Empty(), Empty(), unit};
      bool added = true;
      for (const Term& term : sum.terms)
        added = added && (term.coefficient % unit == 0
                              ? grouped.multiple.AddTerm(term.expr, term.coefficient / unit)
                              : grouped.rest.AddTerm(term.expr, term.coefficient));
      grouped.rest.constant = sum.constant;
      auto quotient = OneQuotient(analyzer_.Bounds(grouped.rest, cache_), unit);
      auto offset = quotient ? FoldInt(ExprKind::kMul, *quotient, -unit) : std::nullopt;
      if (added && offset && grouped.multiple.AddConstant(*quotient) &&
          grouped.rest.AddConstant(*offset))
        return grouped;
    }
    return {};
  }

  LinearSum sum_;
  int64_t divisor_;
  const Analyzer& analyzer_;
  Analyzer::BoundsCache* cache_;
};

// ---- By what is not a constant.

struct SymbolicParts {
  LinearSum multiple, rest;  // dividend = divisor * multiple + rest
};

std::optional<SymbolicParts> TakeMultiples(const Expr& a, const Expr& b) {
  auto sum = LinearSum::OfSameType(a);
  auto divisor = Product::Of(b);
  if (!sum || !divisor || divisor->factors.empty()) return {};
  SymbolicParts parts;
  parts.multiple.dtype = parts.rest.dtype = a.dtype();
  parts.rest.constant = sum->constant;
  for (const Term& term : sum->terms) {
    auto product = Product::Of(term.expr);
    auto coefficient =
        product ? FoldInt(ExprKind::kMul, product->coefficient, term.coefficient) : std::nullopt;
    if (coefficient) product->coefficient = *coefficient;
    auto quotient = coefficient ? product->Without(*divisor) : std::nullopt;
    bool added;
    if (!quotient)
      added = parts.rest.AddTerm(term.expr, term.coefficient);
    else if (quotient->factors.empty())
      added = parts.multiple.AddConstant(quotient->coefficient);
    else
      added = parts.multiple.AddTerm(quotient->FactorsToExpr(a.dtype()), quotient->coefficient);
    if (!added) return {};
  }
  return parts;
}

// 0 <= sum < bound
bool IsWithin(const LinearSum& sum, const Expr& bound, const Analyzer& analyzer) {
  Expr value = sum.ToExpr();
  auto least = value.get() ? LinearSum::Expanded(value) : std::nullopt;
  auto difference = LinearSum::Expanded(bound);
  if (!least || !difference || !difference->Add(*least, -1) || !difference->AddConstant(-1))
    return false;
  return analyzer.ProveNonNegative(*least) && analyzer.ProveNonNegative(*difference);
}

}  // namespace

Expr DivideSum(const Expr& a, const Expr& b, const Analyzer& analyzer,
               Analyzer::BoundsCache* cache) {
  if (std::optional<int64_t> divisor = AsConstInt(b)) {
    auto sum = *divisor > 0 ? LinearSum::OfSameType(a) : std::nullopt;
    return sum ? ConstantDivision(std::move(*sum), *divisor, analyzer, cache).Quotient() : Expr();
  }
  auto parts = TakeMultiples(a, b);
  if (!parts) return {};
  bool exact = parts->rest.terms.empty() && parts->rest.constant == 0;
  if (exact || IsWithin(parts->rest, b, analyzer)) return parts->multiple.ToExpr();
  bool none = parts->multiple.terms.empty() && parts->multiple.constant == 0;
  if (none || analyzer.Bounds(b, cache).lo <= 0) return {};
  Expr rest = parts->rest.ToExpr(), multiple = parts->multiple.ToExpr();
  return rest.get() && multiple.get() ? multiple + FloorDivNode::Make(rest, b) : Expr();
}

Expr RemainderOfSum(const Expr& a, const Expr& b, const Analyzer& analyzer,
                    Analyzer::BoundsCache* cache) {
  if (std::optional<int64_t> divisor = AsConstInt(b)) {
    auto sum = *divisor > 0 ? LinearSum::OfSameType(a) : std::nullopt;
    return sum ? ConstantDivision(std::move(*sum), *divisor, analyzer, cache).Remainder() : Expr();
  }
  auto parts = TakeMultiples(a, b);
  if (!parts) return {};
  bool exact = parts->rest.terms.empty() && parts->rest.constant == 0;
  if (exact) return IntImmNode::Make(a.dtype(), 0);
  Expr rest = parts->rest.ToExpr();
  if (rest.get() && IsWithin(parts->rest, b, analyzer)) return rest;
  bool none = parts->multiple.terms.empty() && parts->multiple.constant == 0;
  if (none || !rest.get() || analyzer.Bounds(b, cache).lo <= 0) return {};
  return FloorModNode::Make(rest, b);
}

}  // namespace tern::arith
