// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

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
  DataType dtype = x.dtype(), bits_type = UIntOf(dtype), integer = IntOf(dtype);
  const FloatFormat& format = FormatOf(dtype);
  bool single = dtype.bits() == 32;
  double least_normal = std::ldexp(1, 1 - format.bias);
  // The bits of sqrt(1/2): m is between it and its double.
  Expr root = IntConst(bits_type, single ? 0x3f3504f3 : 0x3fe6a09e667f3bcd);
  Expr is_tiny = Less(x, Const(x, least_normal));
  Expr normal = Select(is_tiny, x * Const(x, std::ldexp(1, format.mantissa_bits)), x);

  Expr result = Let(Bits(normal), [&](Expr bits) {
    Expr exponent = ShiftRight(Reinterpret(integer, bits - root), format.mantissa_bits);
    return Let(exponent, [&](Expr k) {
      Expr mantissa =
          Reinterpret(dtype, bits - ShiftLeft(Reinterpret(bits_type, k), format.mantissa_bits));
      Expr shift = Select(is_tiny, Const(k, format.mantissa_bits), Const(k, 0));
      return Let(mantissa - Const(x, 1), [&](Expr f) {
        return Let(f / (f + Const(x, 2)), [&](Expr s) {
          return Let(s * s, [&](Expr z) {
            return Let(Const(x, 0.5) * f * f, [&](Expr half_square) {
              Expr series = z * Polynomial(z, single ? kLog32 : kLog64);
              Expr log_m = f - (half_square - s * (half_square + series));
              if (base.scale != 1) log_m = log_m * Const(x, base.scale);
              return Let(Cast(dtype, k - shift), [&](Expr count) {
                Expr low = base.low == 0 ? log_m : log_m + count * Const(x, base.low);
                return count * Const(x, base.high) + low;
              });
            });
          });
        });
      });
    });
  });
  double infinity = std::numeric_limits<double>::infinity();
  Expr positive = Select(Less(x, Const(x, infinity)), result, x);
  Expr other = Select(Equal(x, Const(x, 0)), Const(x, -infinity), Const(x, NAN));
  return Select(Less(Const(x, 0), x), positive, other);
}

}  // namespace

Expr Log(const Expr& x) { return LogOf(x, Natural(x.dtype())); }
Expr Log2(const Expr& x) { return LogOf(x, Two(x.dtype())); }
Expr Log10(const Expr& x) { return LogOf(x, Ten(x.dtype())); }

// log(1 + x), and what rounding took from 1 + x.
Expr Log1p(const Expr& x) {
  return Let(x + Const(x, 1), [&](Expr u) {
    Expr lost = (x - (u - Const(x, 1))) / u;
    Expr result = Call("log", {u}) + lost;
    // Where 1 + x is 1 the result is x; at -1 and infinity there is nothing to correct.
    Expr infinity = Const(x, std::numeric_limits<double>::infinity());
    Expr uncorrected = Less(Const(x, 0), u) && Less(u, infinity);
    return Select(Equal(u, Const(x, 1)), x, Select(uncorrected, result, Call("log", {u})));
  });
}

Expr Pow(const Expr& x, const Expr& y) {
  DataType dtype = x.dtype();
  if (dtype.bits() == 32) {
    DataType wide = DataType::Float(64, dtype.lanes());
    return Cast(dtype, Call("pow", {Cast(wide, x), Cast(wide, y)}));
  }
  Expr zero = Const(x, 0), one = Const(x, 1);
  return Let(Call("abs", {x}), [&](Expr magnitude) {
    // 1 to the power of anything, and anything to the power of 0, is 1.
    Expr is_one = Equal(magnitude, one) || Equal(y, zero);
    Expr exponent = Select(is_one, zero, y * Call("log2", {magnitude}));
    return Let(Call("exp2", {exponent}), [&](Expr power) {
      return Let(Const(y, 0.5) * y, [&](Expr half) {
        Expr is_integer = Equal(Call("floor", {y}), y);
        Expr is_odd = is_integer && Call("floor", {half}) != half;
        Expr of_negative = Select(is_odd, Call("copysign", {power, x}), power);
        // A finite negative number has no power that is not an integer. A NaN to a power is one.
        Expr has_none = Less(x, zero) &&
                        Less(Const(x, -std::numeric_limits<double>::infinity()), x) &&
                        ir::NotNode::Make(is_integer);
        Expr signed_power = Select(has_none, Const(x, NAN), of_negative);
        Expr is_nan = x != x && y != zero;
        return Select(is_nan, x, signed_power);
      });
    });
  });
}

}  // namespace tern::tir::math
