// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/combine_splits.h"

#include <algorithm>

#include "tern/arith/fold.h"
#include "tern/arith/linear.h"
#include "tern/ir/structural.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes
using Term = LinearSum::Term;

std::optional<int64_t> Times(int64_t a, int64_t b) { return FoldInt(ExprKind::kMul, a, b); }

// The sum without the terms, and `factor` times `value` in their place; nullopt on overflow.
std::optional<LinearSum> Replace(const LinearSum& sum, size_t first, size_t second,
                                 const Expr& value, int64_t factor) {
  LinearSum result;
  result.dtype = sum.dtype;
  result.constant = sum.constant;
  auto added = LinearSum::OfSameType(value);
  if (!added) return {};
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    if (i == std::min(first, second) && !result.Add(*added, factor)) return {};
    if (i == first || i == second) continue;
    if (!result.AddTerm(sum.terms[i].expr, sum.terms[i].coefficient)) return {};
  }
  return result;
}

// Whether two numbers surely leave the same remainder.
bool AreCongruent(const Expr& a, const Expr& b, int64_t divisor) {
  auto difference = LinearSum::OfSameType(a), other = LinearSum::OfSameType(b);
  if (!difference || !other || difference->dtype != other->dtype || !difference->Add(*other, -1))
    return false;
  return difference->constant % divisor == 0 &&
         std::all_of(difference->terms.begin(), difference->terms.end(),
                     [&](const Term& term) { return term.coefficient % divisor == 0; });
}

// Upper and lower digits next to each other: s // 4 % 3 * 4c + s % 4 * c is s % 12 * c. The lower
// ones may be those of a number that differs in the upper ones: (i * 9 + 1) // 4 * 4 + (i + 1) % 4.
std::optional<LinearSum> Join(const LinearSum& sum, size_t upper, size_t lower,
                              const std::vector<SplitTerm>& splits) {
  const SplitTerm &high = splits[upper], &low = splits[lower];
  int64_t scale = sum.terms[lower].coefficient;
  if (low.extent == 0 || Times(low.lower, low.extent) != high.lower ||
      Times(scale, low.extent) != sum.terms[upper].coefficient ||
      !(StructuralEqual(high.source, low.source) ||
        (low.lower == 1 && AreCongruent(high.source, low.source, low.extent))))
    return {};
  auto extent = Times(high.extent, low.extent);
  if (!extent) return {};
  return Replace(sum, upper, lower, SplitTerm{high.source, low.lower, *extent}.ToExpr(), scale);
}

// All digits less the upper ones: s * c - s // 4 * 4c is s % 4 * c.
std::optional<LinearSum> TakeOff(const LinearSum& sum, size_t all, size_t upper,
                                 const std::vector<SplitTerm>& splits) {
  const SplitTerm &whole = splits[all], &high = splits[upper];
  int64_t scale = sum.terms[all].coefficient;
  if (high.lower <= whole.lower || high.lower % whole.lower != 0) return {};
  int64_t digits = high.lower / whole.lower;
  auto opposite = Times(scale, -digits);
  if (opposite != sum.terms[upper].coefficient || Times(high.extent, digits) != whole.extent ||
      !StructuralEqual(whole.source, high.source))
    return {};
  return Replace(sum, all, upper, SplitTerm{whole.source, whole.lower, digits}.ToExpr(), scale);
}

// c * (x // d) with d | c is c/d * x less c/d * (x % d), which may cancel other terms or be known.
std::optional<LinearSum> WriteOutQuotient(const LinearSum& sum, size_t index,
                                          const SplitTerm& split, const Analyzer& analyzer) {
  int64_t coefficient = sum.terms[index].coefficient, divisor = split.lower;
  if (split.extent != 0 || divisor == 1 || coefficient % divisor != 0 || coefficient == INT64_MIN)
    return {};
  int64_t times = coefficient / divisor;
  auto result = Replace(sum, index, index, split.source, times);
  if (!result) return {};
  ModularSet set = analyzer.Modular(split.source);
  bool added;
  if (set.knows_remainder(divisor)) {
    auto known = Times(FloorModInt(set.base, divisor), -times);
    added = known && result->AddConstant(*known);
  } else {
    added = result->AddTerm(SplitTerm{split.source, 1, divisor}.ToExpr(), -times);
  }
  if (!added || result->terms.size() > sum.terms.size()) return {};
  bool simpler = result->terms.size() < sum.terms.size() || set.knows_remainder(divisor) ||
                 std::abs(result->constant) < std::abs(sum.constant);
  return simpler ? result : std::nullopt;
}

// x % n * c with x // n * n * c is x * c, for any n.
std::optional<LinearSum> WriteOutRemainder(const LinearSum& sum, size_t index) {
  const Term& term = sum.terms[index];
  const auto* remainder = term.expr.As<FloorModNode>();
  if (!remainder || AsConstInt(remainder->b) || term.coefficient == INT64_MIN) return {};
  auto result = Replace(sum, index, index, remainder->a, term.coefficient);
  Expr multiple = FloorDivNode::Make(remainder->a, remainder->b) * remainder->b;
  size_t before = result ? result->terms.size() : 0;
  bool cancels =
      result && result->AddTerm(multiple, -term.coefficient) && result->terms.size() < before;
  return cancels ? result : std::nullopt;
}

// The same of a constant n: x // n * n * c with y % n * c is x * c where x % n is y % n, which is
// what became of it: (o * 256 + t) % 37 is (o * 34 + t) % 37.
std::optional<LinearSum> WriteOutReduced(const LinearSum& sum, size_t index, const SplitTerm& split,
                                         const Analyzer& analyzer) {
  int64_t coefficient = sum.terms[index].coefficient, divisor = split.lower;
  if (split.extent != 0 || divisor == 1 || coefficient % divisor != 0 || coefficient == INT64_MIN)
    return {};
  int64_t times = coefficient / divisor;
  bool has_remainder = std::any_of(sum.terms.begin(), sum.terms.end(), [&](const Term& term) {
    const auto* remainder = term.expr.As<FloorModNode>();
    return remainder && term.coefficient == times && IsConst(remainder->b, divisor);
  });
  if (!has_remainder) return {};
  auto result = Replace(sum, index, index, split.source, times);
  Expr remainder = analyzer.Simplify(SplitTerm{split.source, 1, divisor}.ToExpr());
  size_t before = result ? result->terms.size() : 0;
  bool cancels = result && result->AddTerm(remainder, -times) && result->terms.size() < before;
  return cancels ? result : std::nullopt;
}

std::optional<LinearSum> CombineOnce(const LinearSum& sum, const Analyzer& analyzer) {
  std::vector<SplitTerm> splits;
  bool any = false;
  for (const Term& term : sum.terms) {
    splits.push_back(SplitTerm::Of(term.expr));
    any |= splits.back().lower != 1 || splits.back().extent != 0 || term.expr.As<FloorModNode>();
  }
  if (!any) return {};
  for (size_t i = 0; i < splits.size(); ++i)
    for (size_t j = 0; j < splits.size(); ++j) {
      if (i == j) continue;
      if (auto joined = Join(sum, i, j, splits)) return joined;
      if (auto rest = TakeOff(sum, i, j, splits)) return rest;
    }
  for (size_t i = 0; i < splits.size(); ++i) {
    if (auto out = WriteOutQuotient(sum, i, splits[i], analyzer)) return out;
    if (auto out = WriteOutRemainder(sum, i)) return out;
    if (auto out = WriteOutReduced(sum, i, splits[i], analyzer)) return out;
  }
  return {};
}

}  // namespace

SplitTerm SplitTerm::Of(const Expr& expr) {
  if (const auto* cast = expr.As<CastNode>(); cast && IsIndexType(cast->value.dtype()) &&
                                              cast->value.dtype().bits() <= expr.dtype().bits()) {
    SplitTerm split = Of(cast->value);
    split.source = CastNode::Make(expr.dtype(), split.source, expr.span());
    return split;
  }
  const auto* division = expr.As<FloorDivNode>();
  const auto* remainder = expr.As<FloorModNode>();
  if (!division && !remainder) return {expr};
  std::optional<int64_t> divisor = AsConstInt(division ? division->b : remainder->b);
  if (!divisor || *divisor <= 0) return {expr};
  SplitTerm inner = Of(division ? division->a : remainder->a);
  if (inner.extent != 0 && inner.extent % *divisor != 0)
    return {division ? division->a : remainder->a, division ? *divisor : 1,
            division ? 0 : *divisor};
  if (remainder) return {inner.source, inner.lower, *divisor};
  auto lower = Times(inner.lower, *divisor);
  return lower ? SplitTerm{inner.source, *lower, inner.extent / *divisor} : SplitTerm{expr};
}

Expr SplitTerm::ToExpr() const {
  Expr result = source;
  auto number = [&](int64_t value) { return IntImmNode::Make(source.dtype(), value); };
  if (lower != 1) result = FloorDivNode::Make(result, number(lower));
  if (extent != 0) result = FloorModNode::Make(result, number(extent));
  return result;
}

bool CombineSplits(LinearSum* sum, const Analyzer& analyzer) {
  bool changed = false;
  while (auto next = CombineOnce(*sum, analyzer)) {
    *sum = std::move(*next);
    changed = true;
  }
  return changed;
}

}  // namespace tern::arith
