// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/functions.h"

namespace tern::tir::math {
namespace {

Expr SignBit(DataType bits_type) {
  return bits_type.bits() == 64 ? IntConst(bits_type, std::numeric_limits<int64_t>::min())
                                : IntConst(bits_type, int64_t{1} << (bits_type.bits() - 1));
}
Expr AllButSign(DataType bits_type) {
  return IntConst(bits_type, std::numeric_limits<int64_t>::max() >> (64 - bits_type.bits()));
}

// The nearest integer, even of two, then moved to the side asked for by `adjust`. Numbers without
// digits behind the point, and NaN, stay.
template <class Adjust>
Expr RoundAndAdjust(const Expr& x, Adjust&& adjust) {
  Expr limit = Const(x, std::ldexp(1, FormatOf(x.dtype()).mantissa_bits));
  return Let(Call("abs", {x}), [&](Expr magnitude) {
    // Adding the limit leaves no room for such digits.
    Expr nearest = Call("copysign", {(magnitude + limit) - limit, x});
    return Let(nearest, [&](Expr near) {
      Expr whole = Call("copysign", {adjust(near), x});
      return Select(Less(magnitude, limit), whole, x);
    });
  });
}

// The sum of x and y as a double: where it is inexact, of the two neighbours the one with an odd
// last bit, which rounds to any narrower type as the sum itself does. Infinities and NaN stay.
Expr AddToOdd(const Expr& x, const Expr& y) {
  return Let(x + y, [&](Expr sum) {
    return Let(sum - x, [&](Expr part) {
      return Let((x - (sum - part)) + (y - part), [&](Expr lost) {
        return Let(Bits(sum), [&](Expr bits) {
          DataType type = bits.dtype();
          Expr one = IntConst(type, 1), zero = Const(sum, 0);
          Expr is_even = Equal(And(bits, one), IntConst(type, 0));
          // A NaN, of a sum that is infinite, is neither less nor more than zero.
          Expr is_inexact = Less(lost, zero) || Less(zero, lost);
          Expr towards_zero = Less(lost, zero) != Less(sum, zero);
          Expr moved = Select(towards_zero, bits - one, bits + one);
          return Reinterpret(sum.dtype(), Select(is_inexact && is_even, moved, bits));
        });
      });
    });
  });
}

// x = mantissa * 2^exponent with the mantissa in [1, 2), for x that is finite and not zero;
// `body` gets both, the exponent as int64.
template <class Body>
Expr SplitFloat64(const Expr& x, Body&& body) {
  constexpr int kShift = 54;
  Expr is_subnormal = Less(Call("abs", {x}), Const(x, 0x1p-1022));
  return Let(Select(is_subnormal, x * Const(x, 0x1p54), x), [&](Expr normal) {
    DataType integer = IntOf(x.dtype());
    Expr biased = And(ShiftRight(Reinterpret(integer, normal), 52), IntConst(integer, 0x7ff));
    Expr exponent =
        biased - Select(is_subnormal, IntConst(integer, 1023 + kShift), IntConst(integer, 1023));
    return Let(exponent, [&](Expr e) {
      Expr fraction =
          And(Bits(normal), IntConst(UIntOf(x.dtype()), static_cast<int64_t>(0x800fffffffffffffU)));
      Expr mantissa = Or(fraction, IntConst(UIntOf(x.dtype()), 0x3ff0000000000000));
      return Let(Reinterpret(x.dtype(), mantissa), [&](Expr m) { return body(m, e); });
    });
  });
}

// The upper half of the digits: products of two such numbers are exact.
Expr UpperHalf(const Expr& x) {
  return Reinterpret(x.dtype(), And(Bits(x), IntConst(UIntOf(x.dtype()), -int64_t{1} << 27)));
}

// a * b + c of float64: the operands are scaled to mantissas, the product is taken apart into two
// numbers whose sum is exact, and the last but one addition rounds to odd.
Expr FmaOfFloat64(const Expr& a, const Expr& b, const Expr& c) {
  DataType integer = IntOf(a.dtype());
  Expr result = SplitFloat64(a, [&](Expr x, Expr x_exponent) {
    return SplitFloat64(b, [&](Expr y, Expr y_exponent) {
      return SplitFloat64(c, [&](Expr z, Expr z_exponent) {
        return Let(x_exponent + y_exponent, [&](Expr exponent) {
          // c relative to the product. Beyond these bounds only the larger one, or the sign of the
          // smaller one, counts.
          Expr distance =
              Max(Min(z_exponent - exponent, IntConst(integer, 300)), IntConst(integer, -200));
          Expr addend = Select(Equal(c, Const(c, 0)), c, z * PowerOfTwo(c.dtype(), distance));
          Expr high = x * y;
          return Let(addend, [&](Expr t) {
            return Let(high, [&](Expr upper) {
              Expr low = Let(UpperHalf(x), [&](Expr xh) {
                return Let(UpperHalf(y), [&](Expr yh) {
                  Expr xl = x - xh, yl = y - yh;
                  return ((xh * yh - upper) + xh * yl + xl * yh) + xl * yl;
                });
              });
              return Let(low, [&](Expr lower) {
                // t + lower = s + s_lost, upper + s = v + v_lost: exact.
                return Let(t + lower, [&](Expr s) {
                  Expr s_part = s - t;
                  Expr s_lost = (t - (s - s_part)) + (lower - s_part);
                  return Let(s_lost, [&](Expr s_rest) {
                    return Let(upper + s, [&](Expr v) {
                      Expr v_part = v - upper;
                      Expr v_lost = (upper - (v - v_part)) + (s - v_part);
                      return Let(v_lost, [&](Expr v_rest) {
                        return Let(v + AddToOdd(s_rest, v_rest), [&](Expr sum) {
                          // In three steps: the exponent may be far beyond those of the type.
                          return Let(
                              Max(Min(exponent, IntConst(integer, 2100)), IntConst(integer, -2400)),
                              [&](Expr e) {
                                Expr third = ir::TruncDivNode::Make(e, IntConst(integer, 3));
                                return Let(third, [&](Expr n) {
                                  Expr step = PowerOfTwo(c.dtype(), n);
                                  Expr last = PowerOfTwo(c.dtype(), e - n - n);
                                  return Let(step, [&](Expr p) { return sum * last * p * p; });
                                });
                              });
                        });
                      });
                    });
                  });
                });
              });
            });
          });
        });
      });
    });
  });
  // Where c is so much larger than the product that it is the result.
  Expr product = a * b;
  Expr is_special =
      ir::NotNode::Make(Call("isfinite", {a}) && Call("isfinite", {b}) && Call("isfinite", {c})) ||
      Equal(a, Const(a, 0)) || Equal(b, Const(b, 0));
  return Select(is_special, product + c, result);
}

}  // namespace

Expr Round(const Expr& x) {
  return RoundAndAdjust(x, [](Expr near) { return near; });
}
Expr Floor(const Expr& x) {
  return RoundAndAdjust(x,
                        [&](Expr near) { return Select(Less(x, near), near - Const(x, 1), near); });
}
Expr Ceil(const Expr& x) {
  return RoundAndAdjust(x,
                        [&](Expr near) { return Select(Less(near, x), near + Const(x, 1), near); });
}
Expr Trunc(const Expr& x) {
  return Let(Call("floor", {Call("abs", {x})}),
             [&](Expr magnitude) { return Call("copysign", {magnitude, x}); });
}

Expr Abs(const Expr& x) {
  DataType dtype = x.dtype();
  if (dtype.is_uint()) return x;
  if (dtype.is_int()) return Select(Less(x, Const(x, 0)), Const(x, 0) - x, x);
  return Reinterpret(dtype, And(Bits(x), AllButSign(UIntOf(dtype))));
}

Expr CopySign(const Expr& x, const Expr& sign) {
  DataType bits = UIntOf(x.dtype());
  return Reinterpret(x.dtype(), Or(And(Bits(x), AllButSign(bits)), And(Bits(sign), SignBit(bits))));
}

Expr Fma(const Expr& a, const Expr& b, const Expr& c) {
  DataType dtype = a.dtype(), wide = DataType::Float(64, dtype.lanes());
  if (dtype.bits() == 64) return FmaOfFloat64(a, b, c);
  // float64 has more than twice the digits: the product is exact.
  return Let(Cast(wide, a) * Cast(wide, b), [&](Expr product) {
    return Let(Cast(wide, c), [&](Expr addend) { return Cast(dtype, AddToOdd(product, addend)); });
  });
}

}  // namespace tern::tir::math
