// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <numeric>

#include "tern/arith/analyzer.h"
#include "tern/arith/fold.h"
#include "tern/arith/linear.h"
#include "tern/ir/visitor.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes

// Of any numbers; what overflows says nothing.
ModularSet Make(std::optional<int64_t> coefficient, std::optional<int64_t> base) {
  if (!coefficient || !base || *coefficient == ConstBounds::kNegInf) return {};
  int64_t positive = std::abs(*coefficient);
  return {positive, positive == 0 ? *base : FloorModInt(*base, positive)};
}

std::optional<int64_t> Gcd(int64_t a, std::optional<int64_t> b) {
  if (!b || *b == ConstBounds::kNegInf) return {};
  return std::gcd(a, *b);
}

ModularSet Union(ModularSet a, ModularSet b) {
  auto difference = FoldInt(ExprKind::kSub, a.base, b.base);
  return Make(Gcd(std::gcd(a.coefficient, b.coefficient), difference), a.base);
}

// (p + x * k)(q + y * l) = p q + p y l + q x k + x y k l
ModularSet Multiply(ModularSet x, ModularSet y) {
  auto first = FoldInt(ExprKind::kMul, x.coefficient, y.base),
       second = FoldInt(ExprKind::kMul, y.coefficient, x.base),
       both = FoldInt(ExprKind::kMul, x.coefficient, y.coefficient);
  if (!first || !second || !both) return {};
  auto coefficient = Gcd(std::gcd(*both, 0), first);
  if (coefficient) coefficient = Gcd(*coefficient, second);
  return Make(coefficient, FoldInt(ExprKind::kMul, x.base, y.base));
}

ModularSet Combine(ExprKind kind, ModularSet a, ModularSet b) {
  switch (kind) {
    case ExprKind::kAdd:
    case ExprKind::kSub:
      return Make(std::gcd(a.coefficient, b.coefficient), FoldInt(kind, a.base, b.base));
    case ExprKind::kMul:
      return Multiply(a, b);
    case ExprKind::kMin:
    case ExprKind::kMax:
      return Union(a, b);
    case ExprKind::kFloorDiv:
      if (b.coefficient != 0 || b.base <= 0 || a.coefficient % b.base != 0) return {};
      return Make(a.coefficient / b.base, FloorDivInt(a.base, b.base));
    case ExprKind::kFloorMod:
      if (b.coefficient != 0 || b.base <= 0) return {};
      if (a.knows_remainder(b.base)) return {0, FloorModInt(a.base, b.base)};
      return Make(std::gcd(a.coefficient, b.base), a.base);
    default:
      return {};
  }
}

}  // namespace

ModularSet Analyzer::Modular(const Expr& expr) const {
  if (!IsIndexType(expr.dtype())) return {};
  return DispatchExpr(expr.get(), [&](auto* node) -> ModularSet {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
    if constexpr (std::is_same_v<T, IntImmNode>) {
      return {0, node->value};
    } else if constexpr (std::is_same_v<T, VarNode>) {
      auto it = modular_.find(node);
      return it == modular_.end() ? ModularSet{} : it->second;
    } else if constexpr (requires { node->a, node->b; }) {
      return Combine(T::kKind, Modular(node->a), Modular(node->b));
    } else if constexpr (std::is_same_v<T, SelectNode>) {
      return Union(Modular(node->true_value), Modular(node->false_value));
    } else if constexpr (std::is_same_v<T, CastNode>) {
      bool widens = node->value.dtype().bits() <= expr.dtype().bits();
      return widens ? Modular(node->value) : ModularSet{};
    } else {
      return {};
    }
  });
}

}  // namespace tern::arith
