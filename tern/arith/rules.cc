// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/rules.h"

#include <array>
#include <functional>
#include <optional>

#include "tern/arith/fold.h"
#include "tern/arith/linear.h"
#include "tern/ir/structural.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes

// ---- The table. Variables stand for anything of their kind: x, y, z for integers, a, b for
// constants, p, q for conditions, u, v for values of any type. What is written once occurs with the
// operands of +, *, min and max in either order; && and || keep theirs, as they are lazy.

struct Pattern {
  Var x{"x"}, y{"y"}, z{"z"}, a{"a"}, b{"b"};
  Var p{"p", DataType::Bool()}, q{"q", DataType::Bool()}, u{"u"}, v{"v"};

  bool is_constant(const VarNode* var) const { return var == a.node() || var == b.node(); }
  bool is_any(const VarNode* var) const { return var == u.node() || var == v.node(); }
};
const Pattern& Wildcards() {
  static const Pattern pattern;
  return pattern;
}

// What the constants of a match must be.
using Condition = bool (*)(int64_t a, int64_t b);
bool Always(int64_t, int64_t) { return true; }
bool Positive(int64_t a, int64_t b) { return a > 0 && b > 0; }
bool FirstPositive(int64_t a, int64_t) { return a > 0; }
bool Divisible(int64_t a, int64_t b) { return b > 0 && a > 0 && a % b == 0; }

struct Rule {
  Expr from, to;
  Condition condition = Always;
};

Expr Min(Expr a, Expr b) { return MinNode::Make(std::move(a), std::move(b)); }
Expr Max(Expr a, Expr b) { return MaxNode::Make(std::move(a), std::move(b)); }
Expr Not(Expr a) { return NotNode::Make(std::move(a)); }
Expr Select(Expr c, Expr a, Expr b) {
  return SelectNode::Make(std::move(c), std::move(a), std::move(b));
}
Expr LE(Expr a, Expr b) { return LENode::Make(std::move(a), std::move(b)); }
Expr GT(Expr a, Expr b) { return GTNode::Make(std::move(a), std::move(b)); }
Expr Bool(bool value) { return IntImmNode::Make(DataType::Bool(), value); }

std::vector<Rule> MakeRules() {
  const auto& [x, y, z, a, b, p, q, u, v] = Wildcards();
  return {
      // ---- min and max
      {Min(Min(x, a), b), Min(x, Min(a, b))},
      {Max(Max(x, a), b), Max(x, Max(a, b))},
      {Min(Min(x, y), x), Min(x, y)},
      {Max(Max(x, y), x), Max(x, y)},
      {Min(Max(x, y), x), x},
      {Max(Min(x, y), x), x},
      {Min(x + y, x + z), x + Min(y, z)},
      {Max(x + y, x + z), x + Max(y, z)},
      {Min(x - y, z - y), Min(x, z) - y},
      {Max(x - y, z - y), Max(x, z) - y},
      {Min(x - y, x - z), x - Max(y, z)},
      {Max(x - y, x - z), x - Min(y, z)},
      {Min(x * a, y * a), Min(x, y) * a, FirstPositive},
      {Max(x * a, y * a), Max(x, y) * a, FirstPositive},
      // ---- select
      {Select(Not(p), u, v), Select(p, v, u)},
      {Select(p, Bool(true), Bool(false)), p},
      {Select(p, Bool(false), Bool(true)), Not(p)},
      {Select(x < y, x, y), Min(x, y)},
      {Select(x < y, y, x), Max(x, y)},
      {Select(LE(x, y), x, y), Min(x, y)},
      {Select(LE(x, y), y, x), Max(x, y)},
      {Select(GT(x, y), x, y), Max(x, y)},
      {Select(GT(x, y), y, x), Min(x, y)},
      {Select(x >= y, x, y), Max(x, y)},
      {Select(x >= y, y, x), Min(x, y)},
      // ---- conditions
      {Not(x < y), x >= y},
      {Not(LE(x, y)), GT(x, y)},
      {Not(GT(x, y)), LE(x, y)},
      {Not(x >= y), x < y},
      {Not(x == y), x != y},
      {Not(x != y), x == y},
      {p && Not(p), Bool(false)},
      {Not(p) && p, Bool(false)},
      {p || Not(p), Bool(true)},
      {Not(p) || p, Bool(true)},
      // ---- // and %
      {FloorDiv(FloorDiv(x, a), b), FloorDiv(x, a * b), Positive},
      {FloorMod(FloorMod(x, a), b), FloorMod(x, b), Divisible},
      {FloorDiv(x, a) < b, x < a * b, FirstPositive},
      {FloorDiv(x, a) >= b, x >= a * b, FirstPositive},
      {LE(FloorDiv(x, a), b), x < a * b + a, FirstPositive},
      {GT(FloorDiv(x, a), b), x >= a * b + a, FirstPositive},
      {LE(b, FloorDiv(x, a)), LE(a * b, x), FirstPositive},
      {GT(b, FloorDiv(x, a)), GT(a * b, x), FirstPositive},
      {b < FloorDiv(x, a), LE(a * b + a, x), FirstPositive},
      {b >= FloorDiv(x, a), GT(a * b + a, x), FirstPositive},
  };
}

// ---- Matching.

class Match {
 public:
  bool operator()(const Expr& pattern, const Expr& expr) {
    if (const auto* var = pattern.As<VarNode>()) return Bind(var, expr);
    if (pattern->kind != expr->kind) return false;
    return DispatchExpr(pattern.get(), [&](auto* node) {
      using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
      const auto* other = static_cast<const T*>(expr.get());
      if constexpr (std::is_same_v<T, IntImmNode>) {
        return node->value == other->value && pattern.dtype() == expr.dtype();
      } else if constexpr (requires { node->a, node->b; }) {
        Match before = *this;
        if ((*this)(node->a, other->a) && (*this)(node->b, other->b)) return true;
        constexpr ExprKind kind = T::kKind;
        bool commutes = kind == ExprKind::kAdd || kind == ExprKind::kMul ||
                        kind == ExprKind::kMin || kind == ExprKind::kMax;
        *this = before;
        return commutes && (*this)(node->a, other->b) && (*this)(node->b, other->a);
      } else if constexpr (std::is_same_v<T, NotNode>) {
        return (*this)(node->a, other->a);
      } else if constexpr (std::is_same_v<T, SelectNode>) {
        return (*this)(node->condition, other->condition) &&
               (*this)(node->true_value, other->true_value) &&
               (*this)(node->false_value, other->false_value);
      } else {
        return false;
      }
    });
  }

  // The pattern with what it matched in it, constants folded; null where one overflows.
  Expr Fill(const Expr& pattern) const {
    if (const auto* var = pattern.As<VarNode>()) return *Find(var);
    return DispatchExpr(pattern.get(), [&](auto* node) -> Expr {
      using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
      if constexpr (requires { node->a, node->b; }) {
        Expr a = Fill(node->a), b = Fill(node->b);
        if (!a.get() || !b.get()) return {};
        std::optional<int64_t> first = AsConstInt(a), second = AsConstInt(b);
        if (!first || !second || a.dtype().is_bool()) return T::Make(a, b);
        auto value = FoldInt(T::kKind, *first, *second);
        bool fits = value && (a.dtype().bits() == 64 || *value == static_cast<int32_t>(*value));
        return fits ? IntImmNode::Make(a.dtype(), *value) : Expr();
      } else if constexpr (std::is_same_v<T, NotNode>) {
        return NotNode::Make(Fill(node->a));
      } else if constexpr (std::is_same_v<T, SelectNode>) {
        return SelectNode::Make(Fill(node->condition), Fill(node->true_value),
                                Fill(node->false_value));
      } else {
        return pattern;
      }
    });
  }

  int64_t constant(const Var& var) const {
    const Expr* value = Find(var.node());
    return value ? *AsConstInt(*value) : 1;
  }

 private:
  const Expr* Find(const VarNode* var) const {
    for (size_t i = 0; i < count_; ++i)
      if (bound_[i].first == var) return &bound_[i].second;
    return nullptr;
  }
  bool Bind(const VarNode* var, const Expr& expr) {
    if (const Expr* known = Find(var)) return known->same(expr) || StructuralEqual(*known, expr);
    const Pattern& wildcards = Wildcards();
    if (wildcards.is_constant(var) && !AsConstInt(expr)) return false;
    bool fits = wildcards.is_any(var)  ? expr.dtype().is_scalar()
                : var->dtype.is_bool() ? expr.dtype() == DataType::Bool()
                                       : IsIndexType(expr.dtype());
    if (!fits) return false;
    bound_[count_++] = {var, expr};
    return true;
  }

  std::array<std::pair<const VarNode*, Expr>, 6> bound_;
  size_t count_ = 0;
};

}  // namespace

Expr ApplyRules(const Expr& expr) {
  static const std::vector<Rule> rules = MakeRules();
  for (const Rule& rule : rules) {
    if (rule.from->kind != expr->kind) continue;
    Match match;
    if (!match(rule.from, expr)) continue;
    const Pattern& wildcards = Wildcards();
    if (!rule.condition(match.constant(wildcards.a), match.constant(wildcards.b))) continue;
    if (Expr result = match.Fill(rule.to); result.get()) return result;
  }
  return {};
}

}  // namespace tern::arith
