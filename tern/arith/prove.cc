// SPDX-License-Identifier: Apache-2.0
//
// Proofs that a sum is not negative. A sum is made smaller step by step, until constants bound it.
#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/arith/fold.h"
#include "tern/arith/linear.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/visitor.h"

namespace tern::arith {

using namespace tern::ir;  // the node classes

class Prover {
 public:
  explicit Prover(const Analyzer& analyzer) : analyzer_(analyzer) {}

  bool NonNegative(const LinearSum& sum) {
    if (analyzer_.Bounds(sum, &cache_).lo >= 0) return true;
    if (sum.terms.empty() || --steps_left_ < 0) return false;
    for (const LinearSum::Term& term : sum.terms)
      if (std::optional<bool> proved = ByCases(sum, term)) return *proved;
    for (const VarNode* var : VariablesOf(sum))
      if (auto smaller = Eliminate(sum, var); smaller && NonNegative(*smaller)) return true;
    for (const LinearSum::Term& term : sum.terms)
      if (auto smaller = WithoutQuotient(sum, term)) {
        if (NonNegative(*smaller)) return true;
        break;
      }
    return ByFacts(sum);
  }

 private:
  static constexpr int kMaxSteps = 60, kMaxFacts = 2;

  // ---- Choices: min and max are one of two values.

  std::optional<bool> ByCases(const LinearSum& sum, const LinearSum::Term& term) {
    const auto* cast = term.expr.As<CastNode>();
    const Expr& expr = cast ? cast->value : term.expr;
    if (!IsIndexType(expr.dtype())) return {};
    const auto* least = expr.As<MinNode>();
    const auto* greatest = expr.As<MaxNode>();
    const auto* choice = expr.As<SelectNode>();
    if (!least && !greatest && !choice) return {};
    const Expr& a = least ? least->a : greatest ? greatest->a : choice->true_value;
    const Expr& b = least ? least->b : greatest ? greatest->b : choice->false_value;
    auto proves = [&](const Expr& value) {
      auto replaced = Replace(sum, term, value);
      return replaced && NonNegative(*replaced);
    };
    // min(a, b) is at most a, and at most b: where a larger value makes the sum smaller, one will
    // do.
    bool one_will_do = (least && term.coefficient < 0) || (greatest && term.coefficient > 0);
    return one_will_do ? proves(a) || proves(b) : proves(a) && proves(b);
  }

  static std::optional<LinearSum> Replace(const LinearSum& sum, const LinearSum::Term& term,
                                          const Expr& value) {
    LinearSum result = sum;
    auto replacement = LinearSum::Expanded(value);
    if (term.coefficient == ConstBounds::kNegInf || !replacement ||
        !result.AddTerm(term.expr, -term.coefficient) ||
        !result.Add(*replacement, term.coefficient))
      return {};
    return result;
  }

  // ---- Ranges: a variable is replaced by an end of its range.

  // Those that Bounds does not see all of, the one bound last first.
  std::vector<const VarNode*> VariablesOf(const LinearSum& sum) const {
    std::vector<std::pair<size_t, const VarNode*>> vars;
    for (const LinearSum::Term& term : sum.terms) {
      auto product = Product::Of(term.expr);
      if (!product) return {};
      for (const Expr& factor : product->factors) {
        const VarNode* var = AsWidenedVar(factor);
        auto range = var ? analyzer_.ranges_.find(var) : analyzer_.ranges_.end();
        if (range == analyzer_.ranges_.end()) continue;
        if (range->second.hi.get() || product->factors.size() > 1)
          vars.emplace_back(range->second.order, var);
      }
    }
    std::sort(vars.rbegin(), vars.rend());
    vars.erase(std::unique(vars.begin(), vars.end()), vars.end());
    std::vector<const VarNode*> result;
    for (auto [order, var] : vars) result.push_back(var);
    return result;
  }

  // The least that the sum can be as `var` runs over its range.
  std::optional<LinearSum> Eliminate(const LinearSum& sum, const VarNode* var) const {
    LinearSum result;
    result.constant = sum.constant;
    for (const LinearSum::Term& term : sum.terms) {
      auto product = Product::Of(term.expr);
      std::vector<Expr> others;
      for (const Expr& factor : product->factors)
        if (AsWidenedVar(factor) != var) others.push_back(factor);
      size_t power = product->factors.size() - others.size();
      bool added;
      if (power == 0) {
        added = result.AddTerm(term.expr, term.coefficient);
      } else {
        Expr rest = Product{1, others}.FactorsToExpr(DataType::Int(64));
        if (power > 1 || analyzer_.Bounds(rest).lo < 0) return {};
        Expr end = EndOf(var, term.coefficient > 0);
        auto least =
            end.get() ? LinearSum::Expanded(others.empty() ? end : end * rest) : std::nullopt;
        added = least && result.Add(*least, term.coefficient);
      }
      if (!added) return {};
    }
    return result;
  }

  Expr EndOf(const VarNode* var, bool lower) const {
    const Analyzer::SymbolicRange& range = analyzer_.ranges_.at(var);
    const Expr& end = lower ? range.lo : range.hi;
    if (end.get()) return end;
    ConstBounds bounds = analyzer_.Bounds(Var(var));
    int64_t value = lower ? bounds.lo : bounds.hi;
    bool finite = value != ConstBounds::kNegInf && value != ConstBounds::kPosInf;
    return finite ? Expr(value) : Expr();
  }

  // ---- Quotients: the sum times c, with c * (x // c) > x - c or <= x. A sum of integers is not
  // negative where c times it is more than -c.

  static std::optional<LinearSum> WithoutQuotient(const LinearSum& sum,
                                                  const LinearSum::Term& term) {
    const auto* cast = term.expr.As<CastNode>();
    const auto* division = (cast ? cast->value : term.expr).As<FloorDivNode>();
    std::optional<int64_t> divisor = division ? AsConstInt(division->b) : std::nullopt;
    if (!divisor || *divisor <= 1 || !IsIndexType(division->a.dtype())) return {};
    auto dividend = LinearSum::Expanded(division->a);
    auto scaled = FoldInt(ExprKind::kMul, term.coefficient, *divisor);
    LinearSum result;
    if (!dividend || !scaled || !result.Add(sum, *divisor) || *scaled == ConstBounds::kNegInf ||
        !result.AddTerm(term.expr, -*scaled) || !result.Add(*dividend, term.coefficient) ||
        !result.AddConstant(*divisor - 1))
      return {};
    auto slack = FoldInt(ExprKind::kMul, term.coefficient, 1 - *divisor);
    if (term.coefficient > 0 && (!slack || !result.AddConstant(*slack))) return {};
    return result;
  }

  // ---- Facts: as fact <= 0, adding a multiple of it only makes the sum smaller.

  bool ByFacts(const LinearSum& sum) {
    if (facts_used_ == kMaxFacts) return false;
    ++facts_used_;
    bool proved = std::any_of(analyzer_.facts_.begin(), analyzer_.facts_.end(),
                              [&](const LinearSum& fact) { return ByFact(sum, fact); });
    --facts_used_;
    return proved;
  }

  bool ByFact(const LinearSum& sum, const LinearSum& fact) {
    for (const LinearSum::Term& term : fact.terms) {
      int64_t coefficient = sum.CoefficientOf(term.expr);
      if (coefficient == 0 || (coefficient < 0) == (term.coefficient < 0)) continue;
      if (term.coefficient == ConstBounds::kNegInf || coefficient == ConstBounds::kNegInf) continue;
      // times * sum + others * fact has the term no more
      int64_t times = std::abs(term.coefficient), others = std::abs(coefficient);
      LinearSum rest;
      if (rest.Add(sum, times) && rest.Add(fact, others) && NonNegative(rest)) return true;
    }
    return false;
  }

  const Analyzer& analyzer_;
  Analyzer::BoundsCache cache_;
  int steps_left_ = kMaxSteps, facts_used_ = 0;
};

bool Analyzer::ProveNonNegative(const LinearSum& sum) const {
  return Prover(*this).NonNegative(sum);
}

}  // namespace tern::arith
