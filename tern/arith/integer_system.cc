// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/integer_system.h"

#include <algorithm>
#include <array>
#include <limits>

#include "tern/arith/fold.h"
#include "tern/arith/linear.h"
#include "tern/ir/structural.h"

namespace tern::arith {

using namespace tern::ir;  // the node classes

IntegerSystem::Sum IntegerSystem::Combine(const Sum& a, const Sum& b, int64_t factor) {
  Sum out = a;
  auto add = [&](int64_t* to, int64_t value) {
    int64_t product;
    overflows_ |=
        __builtin_mul_overflow(value, factor, &product) || __builtin_add_overflow(*to, product, to);
  };
  add(&out.constant, b.constant);
  for (auto [unknown, coefficient] : b.terms) add(&out.terms[unknown], coefficient);
  std::erase_if(out.terms, [](const auto& term) { return term.second == 0; });
  return out;
}

IntegerSystem::Sum IntegerSystem::Unknown(const Expr& expr) {
  for (const auto& [other, sum] : known_)
    if (other.dtype() == expr.dtype() && StructuralEqual(other, expr)) return sum;
  Sum sum{{{NewUnknown(), 1}}, 0};
  known_.emplace_back(expr, sum);
  if (const auto* var = expr.As<VarNode>(); var && range_of_)
    if (std::optional<Range> range = range_of_(var)) {
      Sum first = Convert(range->min);
      AddNotNegative(Combine(sum, first, -1));
      Sum past = Combine(first, Convert(range->extent), 1);
      --past.constant;
      AddNotNegative(Combine(past, sum, -1));
    }
  bool is_max = expr.As<MaxNode>(), is_min = expr.As<MinNode>();
  if ((is_max || is_min) && IsIndexType(expr.dtype())) {
    const Expr &a = is_max ? expr.As<MaxNode>()->a : expr.As<MinNode>()->a,
               &b = is_max ? expr.As<MaxNode>()->b : expr.As<MinNode>()->b;
    for (const Expr& side : {a, b}) {
      Sum difference = Combine(sum, Convert(side), -1);
      AddNotNegative(is_max ? difference : Combine({}, difference, -1));
    }
  }
  return sum;
}

// value = divisor * quotient + remainder, 0 <= remainder < divisor
IntegerSystem::Sum IntegerSystem::Divide(const Expr& value, int64_t divisor, bool remainder) {
  Expr by = IntImmNode::Make(value.dtype(), divisor);
  std::array<Expr, 2> keys = {FloorDiv(value, by), FloorMod(value, by)};
  Sum dividend = Convert(value);
  for (const auto& [other, sum] : known_)
    if (other.dtype() == value.dtype() && StructuralEqual(other, keys[remainder])) return sum;
  std::array<Sum, 2> parts;
  for (size_t i : {0, 1}) {
    parts[i] = Sum{{{NewUnknown(), 1}}, 0};
    known_.emplace_back(keys[i], parts[i]);
  }
  AddZero(Combine(Combine(dividend, parts[0], -divisor), parts[1], -1));
  AddNotNegative(parts[1]);
  AddNotNegative(Combine({{}, divisor - 1}, parts[1], -1));
  return parts[remainder];
}

IntegerSystem::Sum IntegerSystem::Convert(const Expr& expr) {
  if (std::optional<int64_t> value = AsConstInt(expr); value && expr.dtype() != DataType::UInt(64))
    return {{}, *value};
  if (!IsIndexType(expr.dtype())) return Unknown(expr);
  if (const auto* sum = expr.As<AddNode>()) return Combine(Convert(sum->a), Convert(sum->b), 1);
  if (const auto* difference = expr.As<SubNode>())
    return Combine(Convert(difference->a), Convert(difference->b), -1);
  if (const auto* product = expr.As<MulNode>()) {
    Sum a = Convert(product->a), b = Convert(product->b);
    if (b.terms.empty()) return Combine({}, a, b.constant);
    if (a.terms.empty()) return Combine({}, b, a.constant);
    return Unknown(expr);
  }
  if (const auto* cast = expr.As<CastNode>();
      cast && IsIndexType(cast->value.dtype()) && cast->value.dtype().bits() <= expr.dtype().bits())
    return Convert(cast->value);
  const auto* quotient = expr.As<FloorDivNode>();
  const auto* remainder = expr.As<FloorModNode>();
  if (quotient || remainder) {
    std::optional<int64_t> divisor = AsConstInt(quotient ? quotient->b : remainder->b);
    if (divisor && *divisor > 0)
      return Divide(quotient ? quotient->a : remainder->a, *divisor, remainder != nullptr);
  }
  return Unknown(expr);
}

void IntegerSystem::AddEqual(const Expr& a, const Expr& b) {
  AddZero(Combine(Convert(a), Convert(b), -1));
}

void IntegerSystem::AddLess(const Expr& a, const Expr& b) {
  Sum difference = Combine(Convert(b), Convert(a), -1);
  --difference.constant;
  AddNotNegative(std::move(difference));
}

void IntegerSystem::AddCondition(const Expr& condition, bool holds) {
  if (const auto* negation = condition.As<NotNode>()) return AddCondition(negation->a, !holds);
  if (const auto* both = condition.As<AndNode>(); both && holds) {
    AddCondition(both->a, holds);
    return AddCondition(both->b, holds);
  }
  if (const auto* either = condition.As<OrNode>(); either && !holds) {
    AddCondition(either->a, holds);
    return AddCondition(either->b, holds);
  }
  auto compare = [&](const Expr& a, const Expr& b, bool less, bool equal) {
    if (!IsIndexType(a.dtype())) return;
    Sum difference = Combine(Convert(b), Convert(a), -1);
    if (!less) return AddZero(std::move(difference));
    if (!equal) --difference.constant;
    AddNotNegative(std::move(difference));
  };
  if (const auto* lt = condition.As<LTNode>())
    return holds ? compare(lt->a, lt->b, true, false) : compare(lt->b, lt->a, true, true);
  if (const auto* le = condition.As<LENode>())
    return holds ? compare(le->a, le->b, true, true) : compare(le->b, le->a, true, false);
  if (const auto* gt = condition.As<GTNode>())
    return holds ? compare(gt->b, gt->a, true, false) : compare(gt->a, gt->b, true, true);
  if (const auto* ge = condition.As<GENode>())
    return holds ? compare(ge->b, ge->a, true, true) : compare(ge->a, ge->b, true, false);
  if (const auto* eq = condition.As<EQNode>(); eq && holds)
    return compare(eq->a, eq->b, false, true);
  if (const auto* ne = condition.As<NENode>(); ne && !holds)
    return compare(ne->a, ne->b, false, true);
}

// ---- Elimination: equalities with a coefficient of 1 first, then Fourier and Motzkin's, each
// inequality rounded to the integers.

struct IntegerSystem::Solver {
  static constexpr size_t kMaxInequalities = 600;

  std::vector<Sum> equalities, inequalities;
  bool gave_up = false, infeasible = false;

  Sum Combine(const Sum& a, int64_t x, const Sum& b, int64_t y) {
    Sum out;
    auto add = [&](int64_t* to, int64_t value, int64_t factor) {
      int64_t product;
      gave_up |= __builtin_mul_overflow(value, factor, &product) ||
                 __builtin_add_overflow(*to, product, to);
    };
    add(&out.constant, a.constant, x);
    add(&out.constant, b.constant, y);
    for (auto [unknown, coefficient] : a.terms) add(&out.terms[unknown], coefficient, x);
    for (auto [unknown, coefficient] : b.terms) add(&out.terms[unknown], coefficient, y);
    std::erase_if(out.terms, [](const auto& term) { return term.second == 0; });
    return out;
  }

  static int64_t Divisor(const Sum& sum) {
    int64_t divisor = 0;
    for (auto [unknown, coefficient] : sum.terms) divisor = CommonDivisor(divisor, coefficient);
    return divisor;
  }

  // Notes a contradiction; drops what always holds.
  void Keep(std::vector<Sum>* to, Sum sum) {
    int64_t divisor = Divisor(sum);
    bool equality = to == &equalities;
    if (divisor == 0) {
      infeasible |= equality ? sum.constant != 0 : sum.constant < 0;
      return;
    }
    if (equality && sum.constant % divisor != 0) {
      infeasible = true;
      return;
    }
    for (auto& [unknown, coefficient] : sum.terms) coefficient /= divisor;
    sum.constant = FloorDivInt(sum.constant, divisor);
    to->push_back(std::move(sum));
  }

  // The unknown with coefficient 1 or -1, or -1.
  static int UnitOf(const Sum& sum) {
    for (auto [unknown, coefficient] : sum.terms)
      if (coefficient == 1 || coefficient == -1) return unknown;
    return -1;
  }

  void Substitute(std::vector<Sum>* in, const Sum& equality, int unknown) {
    std::vector<Sum> old = std::move(*in);
    in->clear();
    for (Sum& sum : old) {
      auto it = sum.terms.find(unknown);
      int64_t factor = it == sum.terms.end() ? 0 : -it->second * equality.terms.at(unknown);
      Keep(in, factor == 0 ? std::move(sum) : Combine(sum, 1, equality, factor));
    }
  }

  // Constant bounds of unknowns by themselves.
  struct Bounds {
    std::optional<int64_t> least, greatest;
  };
  std::map<int, Bounds> FindBounds() const {
    std::map<int, Bounds> bounds;
    for (const Sum& sum : inequalities) {
      if (sum.terms.size() != 1) continue;
      auto [unknown, coefficient] = *sum.terms.begin();
      Bounds& known = bounds[unknown];
      // Coefficients are 1 and -1: Keep divided by them.
      if (coefficient == 1)
        known.least = std::max(known.least.value_or(-sum.constant), -sum.constant);
      else if (coefficient == -1)
        known.greatest = std::min(known.greatest.value_or(sum.constant), sum.constant);
    }
    return bounds;
  }

  // What a sum is between; nullopt: unbounded, or beyond 64 bits.
  static std::optional<std::pair<int64_t, int64_t>> RangeOf(const Sum& sum,
                                                            const std::map<int, Bounds>& bounds) {
    int64_t low = sum.constant, high = sum.constant;
    for (auto [unknown, coefficient] : sum.terms) {
      auto it = bounds.find(unknown);
      if (it == bounds.end() || !it->second.least || !it->second.greatest) return {};
      int64_t least = *it->second.least, greatest = *it->second.greatest, first, last;
      if (coefficient < 0) std::swap(least, greatest);
      if (__builtin_mul_overflow(coefficient, least, &first) ||
          __builtin_mul_overflow(coefficient, greatest, &last) ||
          __builtin_add_overflow(low, first, &low) || __builtin_add_overflow(high, last, &high))
        return {};
    }
    return std::pair(low, high);
  }

  // An equality is two where some terms are multiples of a number, and the others are between two
  // of its multiples: of 8 * a + b = 0 with -8 < b < 8 both are 0.
  void SplitEqualities() {
    std::map<int, Bounds> bounds = FindBounds();
    for (size_t i = 0; i < equalities.size() && !infeasible && !gave_up; ++i) {
      std::vector<int64_t> sizes;
      for (auto [unknown, coefficient] : equalities[i].terms) sizes.push_back(Size(coefficient));
      std::sort(sizes.rbegin(), sizes.rend());
      sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
      for (size_t count = 1; count < sizes.size(); ++count) {
        Sum large, small;
        small.constant = equalities[i].constant;
        for (const auto& term : equalities[i].terms)
          (Size(term.second) >= sizes[count - 1] ? large : small).terms.insert(term);
        int64_t unit = Divisor(large);
        auto range = RangeOf(small, bounds);
        if (unit < 2 || !range) continue;
        // Its only multiple between the two.
        int64_t multiple = FloorDivInt(range->second, unit) * unit;
        if (multiple < range->first) infeasible = true;
        if (multiple - range->first >= unit) continue;
        large.constant = multiple;
        small.constant -= multiple;
        equalities.erase(equalities.begin() + static_cast<std::ptrdiff_t>(i));
        Keep(&equalities, std::move(large));
        Keep(&equalities, std::move(small));
        --i;
        break;
      }
    }
  }
  // The smallest number has no other sign, and is no coefficient that matters.
  static int64_t Size(int64_t coefficient) {
    return coefficient < 0 ? -std::max(coefficient, -std::numeric_limits<int64_t>::max())
                           : coefficient;
  }

  void EliminateEqualities() {
    std::vector<Sum> given = std::move(equalities);
    equalities.clear();
    for (Sum& sum : given) Keep(&equalities, std::move(sum));
    SplitEqualities();
    for (bool found = true; found && !infeasible && !gave_up;) {
      found = false;
      for (size_t i = 0; i < equalities.size() && !found; ++i) {
        int unknown = UnitOf(equalities[i]);
        if (unknown < 0) continue;
        Sum equality = equalities[i];
        equalities.erase(equalities.begin() + static_cast<std::ptrdiff_t>(i));
        Substitute(&equalities, equality, unknown);
        Substitute(&inequalities, equality, unknown);
        found = true;
      }
    }
    for (const Sum& sum : equalities) {
      Keep(&inequalities, sum);
      Keep(&inequalities, Combine(sum, -1, {}, 0));
    }
  }

  void EliminateUnknown(int unknown) {
    std::vector<Sum> lower, upper, rest;
    for (Sum& sum : inequalities) {
      auto it = sum.terms.find(unknown);
      auto& to = it == sum.terms.end() ? rest : it->second > 0 ? lower : upper;
      to.push_back(std::move(sum));
    }
    inequalities = std::move(rest);
    for (const Sum& a : lower)
      for (const Sum& b : upper) {
        Keep(&inequalities, Combine(a, -b.terms.at(unknown), b, a.terms.at(unknown)));
        if (infeasible || gave_up) return;
      }
    auto key = [](const Sum& sum) { return std::tie(sum.terms, sum.constant); };
    std::sort(inequalities.begin(), inequalities.end(),
              [&](const Sum& a, const Sum& b) { return key(a) < key(b); });
    // Of those that differ in the constant alone, the first is the strictest.
    inequalities.erase(std::unique(inequalities.begin(), inequalities.end(),
                                   [](const Sum& a, const Sum& b) { return a.terms == b.terms; }),
                       inequalities.end());
    gave_up |= inequalities.size() > kMaxInequalities;
  }

  bool Solve() {
    std::vector<Sum> given = std::move(inequalities);
    inequalities.clear();
    for (Sum& sum : given) Keep(&inequalities, std::move(sum));
    EliminateEqualities();
    while (!infeasible && !gave_up) {
      std::map<int, std::pair<int64_t, int64_t>> uses;  // as lower and as upper bound
      for (const Sum& sum : inequalities)
        for (auto [unknown, coefficient] : sum.terms)
          ++(coefficient > 0 ? uses[unknown].first : uses[unknown].second);
      if (uses.empty()) return false;
      auto cost = [](const auto& use) { return use.second.first * use.second.second; };
      auto cheapest = std::min_element(uses.begin(), uses.end(), [&](const auto& a, const auto& b) {
        return cost(a) < cost(b);
      });
      EliminateUnknown(cheapest->first);
    }
    return infeasible && !gave_up;
  }
};

bool IntegerSystem::IsInfeasible() const {
  if (overflows_) return false;
  Solver solver;
  solver.equalities = equalities_;
  solver.inequalities = inequalities_;
  return solver.Solve();
}

}  // namespace tern::arith
