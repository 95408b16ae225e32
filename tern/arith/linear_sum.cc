// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/linear_sum.h"

#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/arith/fold.h"
#include "tern/arith/linear.h"
#include "tern/ir/structural.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes

// Adds `expr` times `factor` to `sum`.
bool Collect(const Expr& expr, int64_t factor, LinearSum* sum) {
  if (std::optional<int64_t> value = AsConstInt(expr)) {
    auto product = FoldInt(ExprKind::kMul, *value, factor);
    auto total = product ? FoldInt(ExprKind::kAdd, sum->constant, *product) : std::nullopt;
    if (total) sum->constant = *total;
    return total.has_value();
  }
  if (const auto* add = expr.As<AddNode>())
    return Collect(add->a, factor, sum) && Collect(add->b, factor, sum);
  if (const auto* sub = expr.As<SubNode>()) {
    auto negated = FoldInt(ExprKind::kSub, 0, factor);
    return negated && Collect(sub->a, factor, sum) && Collect(sub->b, *negated, sum);
  }
  if (const auto* mul = expr.As<MulNode>()) {
    std::optional<int64_t> a = AsConstInt(mul->a), b = AsConstInt(mul->b);
    if (a || b) {
      auto product = FoldInt(ExprKind::kMul, factor, a ? *a : *b);
      return product && Collect(a ? mul->b : mul->a, *product, sum);
    }
  }
  const auto* cast = expr.As<CastNode>();
  if (cast && IsIndexType(cast->value.dtype()) && cast->value.dtype().bits() <= expr.dtype().bits())
    return Collect(cast->value, factor, sum);
  return sum->AddTerm(CastNode::Make(sum->dtype, expr, expr.span()), factor);
}

// Whether equal, products in any order.
bool SameTerm(const Expr& a, const Expr& b) {
  if (a.same(b)) return true;
  if (a->kind != b->kind) return false;
  if (!a.As<MulNode>()) return StructuralEqual(a, b);
  auto x = Product::Of(a), y = Product::Of(b);
  if (!x || !y || x->coefficient != y->coefficient || x->factors.size() != y->factors.size())
    return false;
  return x->Without(*y).has_value();
}

constexpr size_t kMaxExpandedTerms = 16;

std::optional<LinearSum> Multiply(const LinearSum& a, const LinearSum& b) {
  LinearSum result;
  if (!result.Add(a, b.constant)) return {};
  for (const LinearSum::Term& y : b.terms) {
    if (a.constant != 0) {
      auto coefficient = FoldInt(ExprKind::kMul, y.coefficient, a.constant);
      if (!coefficient || !result.AddTerm(y.expr, *coefficient)) return {};
    }
    for (const LinearSum::Term& x : a.terms) {
      auto coefficient = FoldInt(ExprKind::kMul, x.coefficient, y.coefficient);
      if (!coefficient || !result.AddTerm(x.expr * y.expr, *coefficient)) return {};
    }
  }
  if (result.terms.size() > kMaxExpandedTerms) return {};
  return result;
}

std::optional<LinearSum> ExpandTerm(const Expr& term) {
  LinearSum sum;
  sum.constant = 1;
  auto product = Product::Of(term);
  if (!product) return {};
  for (const Expr& factor : product->factors) {
    auto expanded = LinearSum::Of(factor);
    auto next = expanded ? Multiply(sum, *expanded) : std::nullopt;
    if (!next) return {};
    sum = std::move(*next);
  }
  LinearSum result;
  if (!result.Add(sum, product->coefficient)) return {};
  return result;
}

}  // namespace

Expr AsInt64(const Expr& expr) { return CastNode::Make(DataType::Int(64), expr, expr.span()); }

std::optional<LinearSum> LinearSum::Of(const Expr& expr) {
  if (!IsIndexType(expr.dtype())) return {};
  LinearSum sum;
  if (!Collect(expr, 1, &sum)) return {};
  return sum;
}

std::optional<LinearSum> LinearSum::OfSameType(const Expr& expr) {
  if (!IsIndexType(expr.dtype())) return {};
  LinearSum sum;
  sum.dtype = expr.dtype();
  if (!Collect(expr, 1, &sum)) return {};
  return sum;
}

std::optional<LinearSum> LinearSum::Expanded(const Expr& expr) {
  auto sum = Of(expr);
  if (!sum) return {};
  LinearSum result;
  result.constant = sum->constant;
  for (const Term& term : sum->terms) {
    auto expanded = term.expr.As<MulNode>() ? ExpandTerm(term.expr) : std::nullopt;
    bool added = expanded ? result.Add(*expanded, term.coefficient)
                          : result.AddTerm(term.expr, term.coefficient);
    if (!added) return {};
  }
  return result;
}

bool LinearSum::AddConstant(int64_t value) {
  auto total = FoldInt(ExprKind::kAdd, constant, value);
  if (total) constant = *total;
  return total.has_value();
}

bool LinearSum::Add(const LinearSum& other, int64_t factor) {
  auto product = FoldInt(ExprKind::kMul, other.constant, factor);
  if (!product || !AddConstant(*product)) return false;
  return std::all_of(other.terms.begin(), other.terms.end(), [&](const Term& term) {
    auto coefficient = FoldInt(ExprKind::kMul, term.coefficient, factor);
    return coefficient && AddTerm(term.expr, *coefficient);
  });
}

bool LinearSum::AddTerm(const Expr& expr, int64_t coefficient) {
  if (coefficient == 0) return true;
  auto known = std::find_if(terms.begin(), terms.end(),
                            [&](const Term& term) { return SameTerm(term.expr, expr); });
  if (known == terms.end()) {
    terms.push_back({expr, coefficient});
    return true;
  }
  auto total = FoldInt(ExprKind::kAdd, known->coefficient, coefficient);
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

int64_t LinearSum::CoefficientOf(const Expr& term) const {
  for (const Term& mine : terms)
    if (SameTerm(mine.expr, term)) return mine.coefficient;
  return 0;
}

Expr LinearSum::ToExpr() const {
  Expr result;
  bool fits = true;
  auto number = [&](int64_t value) {
    bool in_type = dtype.bits() == 64 || value == static_cast<int32_t>(value);
    fits &= in_type;
    return IntImmNode::Make(dtype, in_type ? value : 0);
  };
  auto add = [&](const Term& term) {
    // The smallest number has no opposite; it stays a factor.
    bool negative =
        result.get() && term.coefficient < 0 && term.coefficient != ConstBounds::kNegInf;
    int64_t factor = negative ? -term.coefficient : term.coefficient;
    Expr value = factor == 1 ? term.expr : term.expr * number(factor);
    result = !result ? value : negative ? result - value : result + value;
  };
  for (const Term& term : terms)
    if (term.coefficient > 0) add(term);
  bool constant_first = !result && constant != 0;
  if (constant_first) result = number(constant);
  for (const Term& term : terms)
    if (term.coefficient < 0) add(term);
  if (!result) {
    result = number(constant);
  } else if (constant != 0 && !constant_first) {
    bool negative = constant < 0 && constant != ConstBounds::kNegInf;
    result = negative ? result - number(-constant) : result + number(constant);
  }
  return fits ? result : Expr();
}

std::optional<Product> Product::Of(const Expr& expr) {
  Product product;
  bool fits = true;
  auto collect = [&](const auto& self, const Expr& part) -> void {
    if (std::optional<int64_t> value = AsConstInt(part)) {
      auto coefficient = FoldInt(ExprKind::kMul, product.coefficient, *value);
      fits &= coefficient.has_value();
      product.coefficient = coefficient.value_or(0);
    } else if (const auto* mul = part.As<MulNode>()) {
      self(self, mul->a);
      self(self, mul->b);
    } else {
      product.factors.push_back(part);
    }
  };
  collect(collect, expr);
  if (!fits) return {};
  return product;
}

std::optional<Product> Product::Without(const Product& other) const {
  Product rest = *this;
  if (FoldInt(ExprKind::kFloorMod, coefficient, other.coefficient) != 0) return {};
  rest.coefficient = coefficient / other.coefficient;
  for (const Expr& factor : other.factors) {
    auto it = std::find_if(rest.factors.begin(), rest.factors.end(),
                           [&](const Expr& mine) { return StructuralEqual(mine, factor); });
    if (it == rest.factors.end()) return {};
    rest.factors.erase(it);
  }
  return rest;
}

Expr Product::FactorsToExpr(DataType dtype) const {
  Expr result;
  for (const Expr& factor : factors) result = !result ? factor : result * factor;
  return result.get() ? result : IntImmNode::Make(dtype, 1);
}

bool ProveLessEqual(const Analyzer& analyzer, const Expr& a, const Expr& b) {
  auto difference = LinearSum::Expanded(analyzer.Simplify(b)),
       smaller = LinearSum::Expanded(analyzer.Simplify(a));
  return difference && smaller && difference->Add(*smaller, -1) &&
         analyzer.ProveNonNegative(*difference);
}

Expr SubtractSums(const Analyzer& analyzer, const Expr& a, const Expr& b) {
  auto difference = LinearSum::Of(analyzer.Simplify(a)),
       other = LinearSum::Of(analyzer.Simplify(b));
  if (!difference || !other || !difference->Add(*other, -1)) return AsInt64(a) - AsInt64(b);
  return analyzer.Simplify(difference->ToExpr());
}

}  // namespace tern::arith
