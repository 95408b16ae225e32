// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "tern/tir/analysis/has_float64.h"
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/functions.h"
#include "tern/tir/math/narrow_float.h"

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
  Lets let;
  Expr limit = Const(x, std::ldexp(1, FormatOf(x.dtype()).mantissa_bits));
  Expr magnitude = let(Call("abs", {x}));
  // Adding the limit leaves no room for such digits.
  Expr nearest = let(Call("copysign", {(magnitude + limit) - limit, x}));
  Expr whole = Call("copysign", {adjust(nearest), x});
  return let.In(Select(Less(magnitude, limit), whole, x));
}

// x + y = sum + lost, exactly.
struct ExactSum {
  Expr sum, lost;
};
ExactSum AddExactly(Lets& let, const Expr& x, const Expr& y) {
  Expr sum = let(x + y);
  Expr part = let(sum - x);
  return {sum, let((x - (sum - part)) + (y - part))};
}

// The sum of x and y in their type: where it is inexact, of the two neighbours the one with an odd
// last bit, which rounds to any narrower type as the sum itself does. Infinities and NaN stay.
Expr AddToOdd(Lets& let, const Expr& x, const Expr& y) {
  auto [sum, lost] = AddExactly(let, x, y);
  Expr bits = let(Bits(sum)), one = IntConst(bits.dtype(), 1), zero = Const(sum, 0);
  Expr is_even = Equal(And(bits, one), IntConst(bits.dtype(), 0));
  // A NaN, of a sum that is infinite, is neither less nor more than zero.
  Expr is_inexact = Less(lost, zero) || Less(zero, lost);
  Expr towards_zero = Less(lost, zero) != Less(sum, zero);
  Expr moved = Select(towards_zero, bits - one, bits + one);
  return Reinterpret(sum.dtype(), Select(is_inexact && is_even, moved, bits));
}

// What taking a float of 32 or 64 bits apart depends on.
struct FmaFormat {
  int shift;                 // makes a subnormal number normal
  int64_t exponent;          // the bits of the exponent, at the lowest place
  int64_t all_but_exponent;  // the other bits
  double halves;             // 1 + 2^n: splits a mantissa into two of half the digits
  int far_above, far_below;  // exponents of an addend beyond which it is all, or only a sign
  int least, largest;        // exponents of results, and somewhat beyond
};
const FmaFormat& FmaFormatOf(DataType dtype) {
  static const FmaFormat k32 = {25, 0xff, 0x807fffff, 0x1p12 + 1, 100, -80, -320, 270};
  static const FmaFormat k64 = {
      54, 0x7ff, static_cast<int64_t>(0x800fffffffffffffU), 0x1p27 + 1, 300, -200, -2400, 2100};
  return dtype.bits() == 32 ? k32 : k64;
}

// A float that is finite and not zero is mantissa * 2^exponent, the mantissa in [1, 2) or its
// negative; the exponent is an integer of the float's size.
struct Parts {
  Expr mantissa, exponent;
};
Parts SplitFloat(Lets& let, const Expr& x) {
  DataType integer = IntOf(x.dtype()), bits_type = UIntOf(x.dtype());
  const FloatFormat& format = FormatOf(x.dtype());
  const FmaFormat& parts = FmaFormatOf(x.dtype());
  Expr is_subnormal = let(Less(Call("abs", {x}), Const(x, std::ldexp(1, 1 - format.bias))));
  Expr normal = let(Select(is_subnormal, x * Const(x, std::ldexp(1, parts.shift)), x));
  Expr biased = And(ShiftRight(Reinterpret(integer, normal), format.mantissa_bits),
                    IntConst(integer, parts.exponent));
  Expr bias = Select(is_subnormal, IntConst(integer, format.bias + parts.shift),
                     IntConst(integer, format.bias));
  Expr mantissa = Or(And(Bits(normal), IntConst(bits_type, parts.all_but_exponent)),
                     IntConst(bits_type, int64_t{format.bias} << format.mantissa_bits));
  return {let(Reinterpret(x.dtype(), mantissa)), let(biased - bias)};
}

// x * y = product + lost, exactly, for mantissas: halves of their digits have exact products.
ExactSum MultiplyExactly(Lets& let, const Expr& x, const Expr& y) {
  auto upper_half = [&](const Expr& value) {
    Expr scaled = let(value * Const(value, FmaFormatOf(value.dtype()).halves));
    return let(scaled - (scaled - value));
  };
  Expr product = let(x * y);
  Expr x_high = upper_half(x), y_high = upper_half(y);
  Expr x_low = let(x - x_high), y_low = let(y - y_high);
  Expr lost = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low;
  return {product, let(lost)};
}

// x * 2^exponent, the exponent in FmaFormat's range: in three steps, each of which is a number.
Expr ScaleFar(Lets& let, const Expr& x, const Expr& exponent) {
  Expr third = let(ir::TruncDivNode::Make(exponent, Const(exponent, 3)));
  Expr step = let(PowerOfTwo(x.dtype(), third));
  return x * PowerOfTwo(x.dtype(), exponent - third - third) * step * step;
}

// a * b + c of float64, and of float32 where there is no float64. The product is taken apart into
// two numbers whose sum is exact; of three numbers the two smaller ones are added with rounding to
// odd, so that the last addition rounds as if it were the only one.
Expr FmaByParts(const Expr& a, const Expr& b, const Expr& c) {
  Lets let;
  DataType integer = IntOf(a.dtype());
  const FmaFormat& format = FmaFormatOf(a.dtype());
  Parts x = SplitFloat(let, a), y = SplitFloat(let, b), z = SplitFloat(let, c);
  Expr exponent = let(x.exponent + y.exponent);
  // c relative to the product: so far above it is the result, so far below only its sign counts.
  Expr distance = let(z.exponent - exponent);
  Expr near =
      Max(Min(distance, IntConst(integer, format.far_above)), IntConst(integer, format.far_below));
  Expr addend = Select(Equal(c, Const(c, 0)), c, z.mantissa * PowerOfTwo(c.dtype(), near));

  ExactSum product = MultiplyExactly(let, x.mantissa, y.mantissa);
  ExactSum low = AddExactly(let, let(addend), product.lost);
  ExactSum high = AddExactly(let, product.sum, low.sum);
  Expr sum = let(high.sum + AddToOdd(let, low.lost, high.lost));
  Expr bounded =
      let(Max(Min(exponent, IntConst(integer, format.largest)), IntConst(integer, format.least)));
  Expr result =
      Select(Less(IntConst(integer, format.far_above), distance), c, ScaleFar(let, sum, bounded));

  Expr are_finite = Call("isfinite", {a}) && Call("isfinite", {b}) && Call("isfinite", {c});
  Expr is_special = ir::NotNode::Make(are_finite) || Equal(a, Const(a, 0)) || Equal(b, Const(b, 0));
  return let.In(Select(is_special, a * b + c, result));
}

}  // namespace

Expr Round(const Expr& x) {
  return RoundAndAdjust(x, [](Expr nearest) { return nearest; });
}
Expr Floor(const Expr& x) {
  return RoundAndAdjust(
      x, [&](Expr nearest) { return Select(Less(x, nearest), nearest - Const(x, 1), nearest); });
}
Expr Ceil(const Expr& x) {
  return RoundAndAdjust(
      x, [&](Expr nearest) { return Select(Less(nearest, x), nearest + Const(x, 1), nearest); });
}
Expr Trunc(const Expr& x) { return Call("copysign", {Call("floor", {Call("abs", {x})}), x}); }

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
  bool has_wider = dtype.bits() < 64 && HasFloat64(target::CurrentTarget());
  if (dtype.bits() == 64 || (dtype.bits() == 32 && !has_wider)) return FmaByParts(a, b, c);
  // Of narrow floats float32 holds the product too, unless it is beyond the range of bfloat16.
  if (!has_wider) wide = DataType::Float(32, dtype.lanes());
  // The wide type has at least twice the digits: the product is exact.
  Lets let;
  Expr product = let(Cast(wide, a) * Cast(wide, b)), addend = let(Cast(wide, c));
  return let.In(Cast(dtype, AddToOdd(let, product, addend)));
}

Expr Float32ForNarrowingOfInteger(const Expr& value) {
  Lets let;
  DataType dtype = value.dtype(), bits = UIntOf(dtype);
  DataType wide = DataType::Float(32, dtype.lanes());
  Expr zero = IntConst(dtype, 0), magnitude = Cast(bits, value);
  if (dtype.is_int())
    magnitude = Select(Less(value, zero), IntConst(bits, 0) - magnitude, magnitude);
  magnitude = let(magnitude);
  // Parts that float32 holds, from the lowest on.
  const int width = dtype.bits() == 64 ? 22 : 16;
  Expr mask = IntConst(bits, (int64_t{1} << width) - 1);
  Expr sum = let(Cast(wide, And(magnitude, mask)));
  for (int at = width; at < dtype.bits(); at += width) {
    Expr part = Cast(wide, And(ShiftRight(magnitude, at), mask));
    sum = let(AddToOdd(let, let(part * Const(part, std::ldexp(1, at))), sum));
  }
  return let.In(dtype.is_int() ? Select(Less(value, zero), Const(sum, 0) - sum, sum) : sum);
}

}  // namespace tern::tir::math
