// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/math/coefficients.h"
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/functions.h"

namespace tern::tir::math {
namespace {

constexpr double kLog2E = 1.4426950408889634;

bool IsFloat32(const Expr& x) { return x.dtype().bits() == 32; }

// x clamped to where the result is neither infinite nor zero, and beyond. NaN stays NaN. The lowest
// x is that whose power of two has no bits set: a product with 0 is exact, where one that
// underflows takes a hundred cycles. So the exponentials of a mask's -inf cost what others do.
Expr Clamp(const Expr& x, double low, double high) {
  return Max(Const(x, low), Min(Const(x, high), x));
}

// The nearest integer n of `x * scale`, as a float and with `offset` in the low bits of another.
struct Whole {
  Expr n, shifted;
};
Whole RoundToWhole(Lets& let, const Expr& x, double scale, double offset) {
  Expr base = Const(x, FormatOf(x.dtype()).to_integer + offset);
  Expr shifted = let((scale == 1 ? x : x * Const(x, scale)) + base);
  return {let(shifted - base), shifted};
}

// x - n * ln(2) * times
Expr RestOfLn2(Lets& let, const Expr& x, const Expr& n, double times = 1) {
  // n * high is exact: n has at most 11 bits.
  bool single = IsFloat32(x);
  double high = times * (single ? 0x1.62ep-1 : 0x1.62e42feep-1);
  double low = times * (single ? 0x1.0bfbe8e7bcd5ep-15 : 0x1.a39ef35793c76p-33);
  return let((x - n * Const(x, high)) - n * Const(x, low));
}

// 2^n of the exponent, n + bias, in the low bits.
Expr PowerOfBits(DataType dtype, const Expr& bits) {
  return Reinterpret(dtype, ShiftLeft(bits, FormatOf(dtype).mantissa_bits));
}

// x * 2^n in two steps, so that the result may be subnormal or infinite. `shifted` is n with twice
// the bias.
Expr Scale(Lets& let, const Expr& x, const Expr& shifted) {
  Expr bits = let(Bits(shifted)), half = let(ShiftRight(bits, 1));
  return x * PowerOfBits(x.dtype(), half) * PowerOfBits(x.dtype(), bits - half);
}

// exp(r) - 1 for |r| <= ln(2) / 2, and for float32 |r| <= ln(2)
Expr SmallExpm1(const Expr& r) { return r + r * r * Polynomial(r, IsFloat32(r) ? kExp32 : kExp64); }

// |x| > kLarge: exp(x) / 2 without overflow where the result has none.
constexpr double kLarge = 60;
Expr HalfOfLargeExp(Lets& let, const Expr& magnitude) {
  Expr root = let(Call("exp", {Const(magnitude, 0.5) * magnitude}));
  return Const(root, 0.5) * root * root;
}

}  // namespace

namespace {

// x = 2 n ln(2) + rest: 2^n twice, so that the result may be subnormal or infinite, takes fewer
// instructions than two powers and a shorter polynomial.
Expr ExpOfFloat32(const Expr& x) {
  Lets let;
  Expr clamped = let(Clamp(x, -176, 89));
  auto [n, shifted] = RoundToWhole(let, clamped, kLog2E / 2, FormatOf(x.dtype()).bias);
  Expr rest = RestOfLn2(let, clamped, n, 2), one = Const(x, 1);
  Expr small = (Polynomial(rest, kExp32) * rest + one) * rest + one;
  Expr power = let(PowerOfBits(x.dtype(), Bits(shifted)));
  return let.In(small * power * power);
}

Expr ExpOfFloat64(const Expr& x) {
  Lets let;
  Expr clamped = let(Clamp(x, -1418, 710));
  auto [n, shifted] = RoundToWhole(let, clamped, kLog2E, 2 * FormatOf(x.dtype()).bias);
  Expr rest = RestOfLn2(let, clamped, n);
  return let.In(Scale(let, SmallExpm1(rest) + Const(x, 1), shifted));
}

}  // namespace

Expr Exp(const Expr& x) { return IsFloat32(x) ? ExpOfFloat32(x) : ExpOfFloat64(x); }

Expr Exp2(const Expr& x) {
  Lets let;
  Expr clamped = let(IsFloat32(x) ? Clamp(x, -254, 129) : Clamp(x, -2046, 1025));
  auto [n, shifted] = RoundToWhole(let, clamped, 1, 2 * FormatOf(x.dtype()).bias);
  Expr rest = let(clamped - n);
  Expr power = rest * Polynomial(rest, IsFloat32(x) ? kExp2Of32 : kExp2Of64) + Const(x, 1);
  return let.In(Scale(let, power, shifted));
}

// 2^n * (exp(r) - 1) + (2^n - 1): nothing cancels.
Expr Expm1(const Expr& x) {
  Lets let;
  Expr clamped = let(Clamp(x, -50, kLarge));
  auto [n, shifted] = RoundToWhole(let, clamped, kLog2E, FormatOf(x.dtype()).bias);
  Expr power = let(PowerOfBits(x.dtype(), Bits(shifted)));
  Expr rest = RestOfLn2(let, clamped, n);
  Expr small = power * SmallExpm1(rest) + (power - Const(x, 1));
  // Zeros and NaN are their own results.
  return let.In(Select(Less(Const(x, kLarge), x), Call("exp", {x}),
                       Select(Less(Const(x, 0), Call("abs", {x})), small, x)));
}

Expr Sigmoid(const Expr& x) {
  Lets let;
  Expr e = let(Call("exp", {Const(x, -1) * Call("abs", {x})}));
  return let.In(Select(Less(x, Const(x, 0)), e, Const(x, 1)) / (Const(x, 1) + e));
}

Expr Sinh(const Expr& x) {
  Lets let;
  Expr magnitude = let(Call("abs", {x}));
  Expr e = let(Call("expm1", {magnitude}));
  Expr small = Const(x, 0.5) * (e + e / (e + Const(x, 1)));
  Expr large = HalfOfLargeExp(let, magnitude);
  Expr result = Select(Less(Const(x, kLarge), magnitude), large, small);
  return let.In(Call("copysign", {result, x}));
}

Expr Cosh(const Expr& x) {
  Lets let;
  Expr magnitude = let(Call("abs", {x}));
  Expr e = let(Call("exp", {magnitude}));
  Expr small = Const(x, 0.5) * e + Const(x, 0.5) / e;
  Expr large = HalfOfLargeExp(let, magnitude);
  return let.In(Select(Less(Const(x, kLarge), magnitude), large, small));
}

Expr Tanh(const Expr& x) {
  Lets let;
  Expr magnitude = let(Call("abs", {x}));
  Expr square = let(magnitude * magnitude);
  Expr small =
      magnitude + magnitude * square * Polynomial(square, IsFloat32(x) ? kTanh32 : kTanh64);
  Expr e = Call("exp", {magnitude + magnitude});
  Expr large = Const(x, 1) - Const(x, 2) / (e + Const(x, 1));
  Expr result = Select(Less(magnitude, Const(x, 0.625)), small, large);
  return let.In(Call("copysign", {result, x}));
}

namespace {

// 1 - 2^y = (1 - 2^n) - 2^n * (2^(y - n) - 1) with y = log2(1 - erf(x)): nothing cancels. What is
// clamped differs from 1 by less than it shows.
Expr ErfOfFloat32(const Expr& x) {
  Lets let;
  Expr magnitude = let(Min(Const(x, 4), Call("abs", {x})));
  Expr y = let(magnitude * Polynomial(magnitude, kErfcRate32));
  auto [n, shifted] = RoundToWhole(let, y, 1, FormatOf(x.dtype()).bias);
  Expr rest = let(y - n), power = let(PowerOfBits(x.dtype(), Bits(shifted)));
  Expr small = rest * Polynomial(rest, kExp2Of32);
  return let.In(Call("copysign", {(Const(x, 1) - power) - power * small, x}));
}

Expr ErfOfFloat64(const Expr& x) {
  constexpr double kMost = 6, kCenter = 3;
  Lets let;
  Expr magnitude = let(Call("abs", {x}));
  Expr square = let(magnitude * magnitude);
  Expr small = magnitude + magnitude * Polynomial(square, kErfSmall64);
  // 1 - erf(x) = exp(-P(x - center)); what is clamped differs from 1 by less than it shows.
  Expr t = let(Min(Const(x, kMost), magnitude) - Const(x, kCenter));
  Expr large = Const(x, 1) - Call("exp", {Const(x, -1) * Polynomial(t, kErfLarge64)});
  Expr result = Select(Less(magnitude, Const(x, 1)), small, large);
  return let.In(Call("copysign", {result, x}));
}

}  // namespace

Expr Erf(const Expr& x) { return IsFloat32(x) ? ErfOfFloat32(x) : ErfOfFloat64(x); }

}  // namespace tern::tir::math
