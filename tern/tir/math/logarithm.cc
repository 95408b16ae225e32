// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "tern/tir/analysis/has_float64.h"
#include "tern/tir/math/coefficients.h"
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/functions.h"

namespace tern::tir::math {
namespace {

// A logarithm of base b: log_b(2) as the sum of two numbers, the first with zeros at its end so
// that its product with an exponent is exact, and log_b(e).
struct Base {
  double high, low, scale;
};

const Base& Natural(DataType dtype) {
  static const Base k32 = {0x1.62ep-1, 0x1.0bfbe8e7bcd5ep-15, 1};
  static const Base k64 = {0x1.62e42feep-1, 0x1.a39ef35793c76p-33, 1};
  return dtype.bits() == 32 ? k32 : k64;
}
const Base& Two(DataType) {
  static const Base kTwo = {1, 0, 1.4426950408889634};
  return kTwo;
}
const Base& Ten(DataType dtype) {
  static const Base k32 = {0x1.344p-2, 0x1.3509f79fef312p-18, 0.43429448190325176};
  static const Base k64 = {0x1.34413508p-2, 0x1.f79fef311f12bp-34, 0.43429448190325176};
  return dtype.bits() == 32 ? k32 : k64;
}

// x = 2^k * m with m near 1, log(x) = k * log(2) + log(m).
Expr LogOf(const Expr& x, const Base& base) {
  Lets let;
  DataType dtype = x.dtype(), bits_type = UIntOf(dtype), integer = IntOf(dtype);
  const FloatFormat& format = FormatOf(dtype);
  bool single = dtype.bits() == 32;
  Expr is_tiny = let(Less(x, Const(x, std::ldexp(1, 1 - format.bias))));
  Expr normal = Select(is_tiny, x * Const(x, std::ldexp(1, format.mantissa_bits)), x);

  // The bits of sqrt(1/2): m is between it and its double.
  Expr root = IntConst(bits_type, single ? 0x3f3504f3 : 0x3fe6a09e667f3bcd);
  Expr bits = let(Bits(normal));
  Expr k = let(ShiftRight(Reinterpret(integer, bits - root), format.mantissa_bits));
  Expr m = Reinterpret(dtype, bits - ShiftLeft(Reinterpret(bits_type, k), format.mantissa_bits));

  // log(1 + f) = 2 atanh(s), written so that what is rounded is small.
  Expr f = let(m - Const(x, 1));
  Expr s = let(f / (f + Const(x, 2)));
  Expr z = let(s * s);
  Expr half_square = let(Const(x, 0.5) * f * f);
  Expr series = z * Polynomial(z, single ? kLog32 : kLog64);
  Expr log_m = f - (half_square - s * (half_square + series));
  if (base.scale != 1) log_m = log_m * Const(x, base.scale);

  Expr shift = Select(is_tiny, Const(k, format.mantissa_bits), Const(k, 0));
  Expr count = let(Cast(dtype, k - shift));
  Expr low = base.low == 0 ? log_m : log_m + count * Const(x, base.low);
  Expr result = count * Const(x, base.high) + low;

  double infinity = std::numeric_limits<double>::infinity();
  Expr positive = Select(Less(x, Const(x, infinity)), result, x);
  Expr other = Select(Equal(x, Const(x, 0)), Const(x, -infinity), Const(x, NAN));
  return let.In(Select(Less(Const(x, 0), x), positive, other));
}

}  // namespace

Expr Log(const Expr& x) { return LogOf(x, Natural(x.dtype())); }
Expr Log2(const Expr& x) { return LogOf(x, Two(x.dtype())); }
Expr Log10(const Expr& x) { return LogOf(x, Ten(x.dtype())); }

// log(1 + x), and what rounding took from 1 + x.
Expr Log1p(const Expr& x) {
  Lets let;
  Expr one = Const(x, 1), infinity = Const(x, std::numeric_limits<double>::infinity());
  Expr sum = let(x + one);
  Expr log = let(Call("log", {sum}));
  Expr corrected = log + (x - (sum - one)) / sum;
  // Where 1 + x is 1 the result is x; at -1 and infinity there is nothing to correct.
  Expr has_rest = Less(Const(x, 0), sum) && Less(sum, infinity);
  return let.In(Select(Equal(sum, one), x, Select(has_rest, corrected, log)));
}

Expr Pow(const Expr& x, const Expr& y) {
  DataType dtype = x.dtype();
  if (dtype.bits() == 32 && HasFloat64(target::CurrentTarget())) {
    DataType wide = DataType::Float(64, dtype.lanes());
    return Cast(dtype, Call("pow", {Cast(wide, x), Cast(wide, y)}));
  }
  Lets let;
  Expr zero = Const(x, 0), infinity = Const(x, std::numeric_limits<double>::infinity());
  Expr magnitude = let(Call("abs", {x}));
  // 1 to the power of anything, and anything to the power of 0, is 1.
  Expr is_one = Equal(magnitude, Const(x, 1)) || Equal(y, zero);
  Expr power = let(Call("exp2", {Select(is_one, zero, y * Call("log2", {magnitude}))}));

  Expr half = let(Const(y, 0.5) * y);
  Expr is_integer = let(Equal(Call("floor", {y}), y));
  Expr is_odd = is_integer && Call("floor", {half}) != half;
  Expr with_sign = Select(is_odd, Call("copysign", {power, x}), power);
  // A finite negative number has no power that is not an integer.
  Expr has_none = Less(x, zero) && Less(magnitude, infinity) && ir::NotNode::Make(is_integer);
  Expr is_nan = x != x && y != zero;
  return let.In(Select(has_none || is_nan, Const(x, NAN), with_sign));
}

}  // namespace tern::tir::math
