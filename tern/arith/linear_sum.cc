// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/linear_sum.h"

#include <algorithm>

#include "tern/arith/fold.h"
#include "tern/arith/linear.h"
#include "tern/ir/structural.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes

// Adds `expr` times `factor` to `sum`.
bool Collect(const Expr& expr, int64_t factor, LinearSum* sum) {
  if (const int64_t* value = AsConstInt(expr)) {
    auto product = FoldInt(NodeKind::kMul, *value, factor);
    auto total = product ? FoldInt(NodeKind::kAdd, sum->constant, *product) : std::nullopt;
    if (total) sum->constant = *total;
    return total.has_value();
  }
  if (const auto* add = expr.As<AddNode>())
    return Collect(add->a, factor, sum) && Collect(add->b, factor, sum);
  if (const auto* sub = expr.As<SubNode>()) {
    auto negated = FoldInt(NodeKind::kSub, 0, factor);
    return negated && Collect(sub->a, factor, sum) && Collect(sub->b, *negated, sum);
  }
  if (const auto* mul = expr.As<MulNode>()) {
    const int64_t *a = AsConstInt(mul->a), *b = AsConstInt(mul->b);
    if (a || b) {
      auto product = FoldInt(NodeKind::kMul, factor, a ? *a : *b);
      return product && Collect(a ? mul->b : mul->a, *product, sum);
    }
  }
  const auto* cast = expr.As<CastNode>();
  if (cast && IsIndexType(cast->value.dtype()) && cast->value.dtype().bits() <= expr.dtype().bits())
    return Collect(cast->value, factor, sum);
  return sum->AddTerm(AsInt64(expr), factor);
}

// The quotient's dividend, where `term` is (x // c) * (a multiple of c) for a constant c > 0.
std::optional<std::pair<Expr, int64_t>> AsMultipleOfQuotient(const LinearSum::Term& term) {
  const auto* division = term.expr.As<FloorDivNode>();
  const int64_t* divisor = division ? AsConstInt(division->b) : nullptr;
  if (!divisor || *divisor <= 0 || !IsIndexType(division->a.dtype()) ||
      term.coefficient % *divisor != 0)
    return {};
  return std::pair(division->a, *divisor);
}

// The least that `sum` can be, its quotients replaced by what they are divided of.
std::optional<LinearSum> WithoutQuotients(const LinearSum& sum) {
  LinearSum result;
  result.constant = sum.constant;
  for (const LinearSum::Term& term : sum.terms) {
    auto quotient = AsMultipleOfQuotient(term);
    if (!quotient) {
      if (!result.AddTerm(term.expr, term.coefficient)) return {};
      continue;
    }
    auto [dividend, divisor] = *quotient;
    int64_t times = term.coefficient / divisor;
    auto linear = LinearSum::Of(dividend);
    if (!linear || !result.Add(*linear, times)) return {};
    LinearSum slack;
    slack.constant = times > 0 ? 1 - divisor : 0;
    if (!result.Add(slack, times)) return {};
  }
  return result;
}

bool IsNonNegative(const Analyzer& analyzer, const LinearSum& sum) {
  return analyzer.Bounds(sum.ToExpr()).lo >= 0;
}

}  // namespace

Expr AsInt64(const Expr& expr) { return CastNode::Make(DataType::Int(64), expr, expr.span()); }

std::optional<LinearSum> LinearSum::Of(const Expr& expr) {
  if (!IsIndexType(expr.dtype())) return {};
  LinearSum sum;
  if (!Collect(expr, 1, &sum)) return {};
  return sum;
}

bool LinearSum::Add(const LinearSum& other, int64_t factor) {
  auto product = FoldInt(NodeKind::kMul, other.constant, factor);
  auto total = product ? FoldInt(NodeKind::kAdd, constant, *product) : std::nullopt;
  if (!total) return false;
  constant = *total;
  return std::all_of(other.terms.begin(), other.terms.end(), [&](const Term& term) {
    auto coefficient = FoldInt(NodeKind::kMul, term.coefficient, factor);
    return coefficient && AddTerm(term.expr, *coefficient);
  });
}

bool LinearSum::AddTerm(const Expr& expr, int64_t coefficient) {
  if (coefficient == 0) return true;
  auto known = std::find_if(terms.begin(), terms.end(),
                            [&](const Term& term) { return StructuralEqual(term.expr, expr); });
  if (known == terms.end()) {
    terms.push_back({expr, coefficient});
    return true;
  }
  auto total = FoldInt(NodeKind::kAdd, known->coefficient, coefficient);
  if (!total) return false;
  known->coefficient = *total;
  if (*total == 0) terms.erase(known);
  return true;
}

int64_t LinearSum::CoefficientOf(const VarNode* var) const {
  for (const Term& term : terms) {
    const auto* cast = term.expr.As<CastNode>();
    if (term.expr.get() == var || (cast && cast->value.get() == var)) return term.coefficient;
  }
  return 0;
}

Expr LinearSum::ToExpr() const {
  Expr result;
  auto add = [&](const Term& term) {
    // The smallest int64 has no opposite; it stays a factor.
    bool negative =
        result.get() && term.coefficient < 0 && term.coefficient != ConstBounds::kNegInf;
    int64_t factor = negative ? -term.coefficient : term.coefficient;
    Expr value = factor == 1 ? term.expr : term.expr * Expr(factor);
    result = !result ? value : negative ? result - value : result + value;
  };
  for (const Term& term : terms)
    if (term.coefficient > 0) add(term);
  bool constant_first = !result && constant != 0;
  if (constant_first) result = Expr(constant);
  for (const Term& term : terms)
    if (term.coefficient < 0) add(term);
  if (!result) return Expr(constant);
  if (constant == 0 || constant_first) return result;
  return constant < 0 && constant != ConstBounds::kNegInf ? result - Expr(-constant)
                                                          : result + Expr(constant);
}

bool ProveLessEqual(const Analyzer& analyzer, const Expr& a, const Expr& b) {
  auto difference = LinearSum::Of(analyzer.Simplify(b)),
       smaller = LinearSum::Of(analyzer.Simplify(a));
  if (difference && smaller && difference->Add(*smaller, -1)) {
    if (IsNonNegative(analyzer, *difference)) return true;
    auto least = WithoutQuotients(*difference);
    if (least && IsNonNegative(analyzer, *least)) return true;
  }
  // x <= min(p, q) and max(p, q) <= y hold where they do for both; the others where for one.
  if (const auto* least = b.As<MinNode>())
    return ProveLessEqual(analyzer, a, least->a) && ProveLessEqual(analyzer, a, least->b);
  if (const auto* greatest = a.As<MaxNode>())
    return ProveLessEqual(analyzer, greatest->a, b) && ProveLessEqual(analyzer, greatest->b, b);
  if (const auto* least = a.As<MinNode>())
    return ProveLessEqual(analyzer, least->a, b) || ProveLessEqual(analyzer, least->b, b);
  if (const auto* greatest = b.As<MaxNode>())
    return ProveLessEqual(analyzer, a, greatest->a) || ProveLessEqual(analyzer, a, greatest->b);
  return false;
}

Expr SubtractSums(const Analyzer& analyzer, const Expr& a, const Expr& b) {
  auto difference = LinearSum::Of(analyzer.Simplify(a)),
       other = LinearSum::Of(analyzer.Simplify(b));
  if (!difference || !other || !difference->Add(*other, -1)) return AsInt64(a) - AsInt64(b);
  return analyzer.Simplify(difference->ToExpr());
}

}  // namespace tern::arith
