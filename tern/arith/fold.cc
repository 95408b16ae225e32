// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/fold.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tern::arith {

std::optional<int64_t> FoldInt(ir::ExprKind kind, int64_t a, int64_t b) {
  using ir::ExprKind;
  bool divides = kind >= ExprKind::kTruncDiv && kind <= ExprKind::kFloorMod;
  if (divides && (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())))
    return std::nullopt;
  int64_t result = 0;
  switch (kind) {
    case ExprKind::kAdd:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case ExprKind::kSub:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case ExprKind::kMul:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case ExprKind::kTruncDiv:
      return a / b;
    case ExprKind::kTruncMod:
      return a % b;
    case ExprKind::kFloorDiv:
      return FloorDivInt(a, b);
    case ExprKind::kFloorMod:
      return FloorModInt(a, b);
    case ExprKind::kMin:
      return std::min(a, b);
    case ExprKind::kMax:
      return std::max(a, b);
    case ExprKind::kEQ:
      return a == b;
    case ExprKind::kNE:
      return a != b;
    case ExprKind::kLT:
      return a < b;
    case ExprKind::kLE:
      return a <= b;
    case ExprKind::kGT:
      return a > b;
    case ExprKind::kGE:
      return a >= b;
    case ExprKind::kAnd:
      return a && b;
    case ExprKind::kOr:
      return a || b;
    default:
      return std::nullopt;
  }
}

int64_t CommonDivisor(int64_t a, int64_t b) {
  auto magnitude = [](int64_t number) {
    auto bits = static_cast<uint64_t>(number);
    return number < 0 ? 0 - bits : bits;
  };
  uint64_t common = std::gcd(magnitude(a), magnitude(b));
  constexpr uint64_t kLeast = uint64_t{1} << 63;
  return static_cast<int64_t>(common == kLeast ? kLeast / 2 : common);
}

}  // namespace tern::arith
