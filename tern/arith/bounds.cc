// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/arith/fold.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/visitor.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes
constexpr int64_t kNegInf = ConstBounds::kNegInf, kPosInf = ConstBounds::kPosInf;

bool IsInf(int64_t x) { return x == kNegInf || x == kPosInf; }

// Sums of ends: an infinite end, or an overflow, is the infinity on the side asked for.
int64_t AddEnd(int64_t a, int64_t b, int64_t infinity) {
  int64_t result;
  if (IsInf(a) || IsInf(b) || __builtin_add_overflow(a, b, &result)) return infinity;
  return result;
}
int64_t NegateEnd(int64_t a) { return a == kNegInf ? kPosInf : a == kPosInf ? kNegInf : -a; }

int64_t MulEnd(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t infinity = (a < 0) == (b < 0) ? kPosInf : kNegInf, result;
  if (IsInf(a) || IsInf(b) || __builtin_mul_overflow(a, b, &result)) return infinity;
  return result;
}

// By a divisor > 0.
int64_t DivideEnd(int64_t a, int64_t divisor) {
  if (IsInf(divisor)) return a < 0 ? -1 : 0;
  return IsInf(a) ? a : FloorDivInt(a, divisor);
}

ConstBounds OfType(DataType dtype) {
  if (dtype.is_bool()) return {0, 1};
  if (dtype.bits() >= 64) return dtype.is_uint() ? ConstBounds{0, kPosInf} : ConstBounds{};
  if (dtype.is_uint()) return {0, (int64_t{1} << dtype.bits()) - 1};
  int64_t limit = int64_t{1} << (dtype.bits() - 1);
  return {-limit, limit - 1};
}

// The bounds of an operator's value, from those of its operands.
ConstBounds Combine(ExprKind kind, ConstBounds a, ConstBounds b) {
  // Nothing runs where conditions exclude each other.
  if (a.lo > a.hi || b.lo > b.hi) return {};
  switch (kind) {
    case ExprKind::kAdd:
      return {AddEnd(a.lo, b.lo, kNegInf), AddEnd(a.hi, b.hi, kPosInf)};
    case ExprKind::kSub:
      return {AddEnd(a.lo, NegateEnd(b.hi), kNegInf), AddEnd(a.hi, NegateEnd(b.lo), kPosInf)};
    case ExprKind::kMul: {
      auto [lo, hi] = std::minmax(
          {MulEnd(a.lo, b.lo), MulEnd(a.lo, b.hi), MulEnd(a.hi, b.lo), MulEnd(a.hi, b.hi)});
      return {lo, hi};
    }
    case ExprKind::kFloorDiv:
      // The quotient is nearest to 0 (or to -1) by the largest divisor.
      if (b.lo > 0)
        return {DivideEnd(a.lo, a.lo >= 0 ? b.hi : b.lo), DivideEnd(a.hi, a.hi >= 0 ? b.lo : b.hi)};
      return {};
    case ExprKind::kFloorMod:
      if (b.lo > 0) {
        int64_t hi = IsInf(b.hi) ? kPosInf : b.hi - 1;
        // Within one multiple of the divisor the remainder runs with its dividend.
        bool one_multiple = b.is_single() && !IsInf(a.lo) && !IsInf(a.hi) &&
                            FloorDivInt(a.lo, b.lo) == FloorDivInt(a.hi, b.lo);
        if (one_multiple) return {FloorModInt(a.lo, b.lo), FloorModInt(a.hi, b.lo)};
        return {0, a.lo >= 0 ? std::min(a.hi, hi) : hi};
      }
      return {};
    // On numbers that are not negative, truncating is flooring.
    case ExprKind::kTruncDiv:
    case ExprKind::kTruncMod:
      if (kind == ExprKind::kTruncMod && b.lo > 0 && a.lo < 0 && !IsInf(b.hi))
        return {std::max(a.lo, 1 - b.hi), std::max<int64_t>(0, std::min(a.hi, b.hi - 1))};
      if (a.lo < 0 || b.lo <= 0) return {};
      return Combine(kind == ExprKind::kTruncDiv ? ExprKind::kFloorDiv : ExprKind::kFloorMod, a, b);
    case ExprKind::kMin:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case ExprKind::kMax:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case ExprKind::kLT:
      if (a.hi < b.lo) return {1, 1};
      if (a.lo >= b.hi && !IsInf(a.lo)) return {0, 0};
      return {0, 1};
    case ExprKind::kLE:
      if (a.hi <= b.lo && !IsInf(a.hi)) return {1, 1};
      if (a.lo > b.hi) return {0, 0};
      return {0, 1};
    case ExprKind::kGT:
      return Combine(ExprKind::kLT, b, a);
    case ExprKind::kGE:
      return Combine(ExprKind::kLE, b, a);
    case ExprKind::kEQ:
      if (a.hi < b.lo || b.hi < a.lo) return {0, 0};
      if (a.is_single() && a == b) return {1, 1};
      return {0, 1};
    case ExprKind::kNE: {
      ConstBounds equal = Combine(ExprKind::kEQ, a, b);
      return {1 - equal.hi, 1 - equal.lo};
    }
    case ExprKind::kAnd:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case ExprKind::kOr:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    default:
      return {};
  }
}

ConstBounds Intersect(ConstBounds a, ConstBounds b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
}

}  // namespace

bool FitsType(ExprKind kind, ConstBounds a, ConstBounds b, DataType dtype) {
  ConstBounds type = OfType(dtype);
  for (int64_t x : {a.lo, a.hi})
    for (int64_t y : {b.lo, b.hi}) {
      std::optional<int64_t> value = IsInf(x) || IsInf(y) ? std::nullopt : FoldInt(kind, x, y);
      if (!value || *value < type.lo || *value > type.hi) return false;
    }
  return true;
}

// By the bounds of its parts, which `bounds_of` gives.
template <class F>
ConstBounds Analyzer::BoundsFrom(const Expr& expr, const F& bounds_of) const {
  DataType dtype = expr.dtype();
  if (!dtype.is_scalar() || !(dtype.is_integer() || dtype.is_bool())) return {};
  ConstBounds bounds = DispatchExpr(expr.get(), [&](auto* node) -> ConstBounds {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
    if constexpr (std::is_same_v<T, IntImmNode>) {
      if (dtype == DataType::UInt(64) && node->value < 0) return {};
      // The extreme values stand for "no bound", on their side only.
      return {std::min(node->value, kPosInf - 1), std::max(node->value, kNegInf + 1)};
    } else if constexpr (std::is_same_v<T, VarNode>) {
      auto it = bounds_.find(node);
      return it == bounds_.end() ? ConstBounds{} : it->second;
    } else if constexpr (requires { node->a, node->b; }) {
      DataType operand = node->a.dtype();
      // Unsigned and narrow arithmetic wraps; a float comparison is not about integers.
      bool wraps = operand.is_uint() || operand.bits() < 32;
      if (operand.is_float() || (wraps && !dtype.is_bool())) return {};
      return Combine(T::kKind, bounds_of(node->a), bounds_of(node->b));
    } else if constexpr (std::is_same_v<T, SelectNode>) {
      ConstBounds a = bounds_of(node->true_value), b = bounds_of(node->false_value);
      return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
    } else if constexpr (std::is_same_v<T, CallNode>) {
      if (!AsIfThenElse(expr)) return {};
      ConstBounds a = bounds_of(node->args[1]), b = bounds_of(node->args[2]);
      return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
    } else if constexpr (std::is_same_v<T, NotNode>) {
      ConstBounds a = bounds_of(node->a);
      return {1 - a.hi, 1 - a.lo};
    } else if constexpr (std::is_same_v<T, CastNode>) {
      DataType from = node->value.dtype();
      if (!from.is_integer() && !from.is_bool()) return {};
      ConstBounds value = bounds_of(node->value), type = OfType(dtype);
      // A uint64 without a bound may be beyond int64.
      if (from == DataType::UInt(64) && IsInf(value.hi) && !dtype.is_uint()) return {};
      if (dtype.is_bool() || value.lo < type.lo || value.hi > type.hi) return {};
      return value;
    } else {
      return {};
    }
  });
  return Intersect(bounds, OfType(dtype));
}

ConstBounds Analyzer::Bounds(const Expr& expr) const {
  return BoundsFrom(expr, [this](const Expr& part) { return Bounds(part); });
}

ConstBounds Analyzer::Bounds(const Expr& expr, BoundsCache* cache) const {
  // Leaves are looked at faster than they are found.
  if (expr.As<IntImmNode>() || expr.As<VarNode>()) return Bounds(expr);
  auto it = cache->known_.find(expr.get());
  if (it != cache->known_.end()) return it->second.second;
  ConstBounds bounds = BoundsFrom(expr, [&](const Expr& part) { return Bounds(part, cache); });
  cache->known_.emplace(expr.get(), std::pair(expr, bounds));
  return bounds;
}

ConstBounds Analyzer::Bounds(const LinearSum& sum, BoundsCache* cache) const {
  ConstBounds total{sum.constant, sum.constant};
  for (const LinearSum::Term& term : sum.terms) {
    ConstBounds value = cache ? Bounds(term.expr, cache) : Bounds(term.expr);
    value = Combine(ExprKind::kMul, value, {term.coefficient, term.coefficient});
    total = Combine(ExprKind::kAdd, total, value);
  }
  return total;
}

}  // namespace tern::arith
