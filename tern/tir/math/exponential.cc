// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/math/coefficients.h"
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/functions.h"

namespace tern::tir::math {
namespace {

constexpr double kLog2E = 1.4426950408889634;

bool IsFloat32(const Expr& x) { return x.dtype().bits() == 32; }

// x clamped to where the result is neither infinite nor zero, and a bit beyond.
Expr Clamp(const Expr& x, double low, double high) {
  return Max(Min(x, Const(x, high)), Const(x, low));
}

// x = n * ln(2) + rest with |rest| <= ln(2) / 2; n is an integer of the size of x.
struct Reduced {
  Expr rest, n;
};
Reduced ReduceByLn2(Lets& let, const Expr& x) {
  // n * high is exact: n has at most 11 bits.
  bool single = IsFloat32(x);
  double high = single ? 0x1.62ep-1 : 0x1.62e42feep-1;
  double low = single ? 0x1.0bfbe8e7bcd5ep-15 : 0x1.a39ef35793c76p-33;
  Expr to_integer = Const(x, FormatOf(x.dtype()).to_integer);
  Expr shifted = let(x * Const(x, kLog2E) + to_integer);
  Expr whole = let(shifted - to_integer);
  return {let((x - whole * Const(x, high)) - whole * Const(x, low)),
          let(IntegerInLowBits(shifted, to_integer))};
}

// x * 2^n in two steps, so that the result may be subnormal or infinite.
Expr Scale(Lets& let, const Expr& x, const Expr& n) {
  Expr half = let(ShiftRight(n, 1));
  return x * PowerOfTwo(x.dtype(), half) * PowerOfTwo(x.dtype(), n - half);
}

// exp(r) - 1 for |r| <= ln(2) / 2
Expr SmallExpm1(const Expr& r) { return r + r * r * Polynomial(r, IsFloat32(r) ? kExp32 : kExp64); }

// |x| > kLarge: exp(x) / 2 without overflow where the result has none.
constexpr double kLarge = 60;
Expr HalfOfLargeExp(Lets& let, const Expr& magnitude) {
  Expr root = let(Call("exp", {Const(magnitude, 0.5) * magnitude}));
  return Const(root, 0.5) * root * root;
}

}  // namespace

Expr Exp(const Expr& x) {
  Lets let;
  Expr clamped = let(IsFloat32(x) ? Clamp(x, -105, 89) : Clamp(x, -750, 710));
  auto [rest, n] = ReduceByLn2(let, clamped);
  return let.In(Select(x != x, x, Scale(let, SmallExpm1(rest) + Const(x, 1), n)));
}

Expr Exp2(const Expr& x) {
  Lets let;
  Expr clamped = let(IsFloat32(x) ? Clamp(x, -152, 129) : Clamp(x, -1080, 1025));
  Expr to_integer = Const(x, FormatOf(x.dtype()).to_integer);
  Expr shifted = let(clamped + to_integer);
  Expr rest = let(clamped - (shifted - to_integer));
  Expr n = let(IntegerInLowBits(shifted, to_integer));
  Expr power = rest * Polynomial(rest, IsFloat32(x) ? kExp2Of32 : kExp2Of64) + Const(x, 1);
  return let.In(Select(x != x, x, Scale(let, power, n)));
}

// 2^n * (exp(r) - 1) + (2^n - 1): nothing cancels.
Expr Expm1(const Expr& x) {
  Lets let;
  auto [rest, n] = ReduceByLn2(let, let(Clamp(x, -50, kLarge)));
  Expr power = let(PowerOfTwo(x.dtype(), n));
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

Expr Erf(const Expr& x) {
  Lets let;
  bool single = IsFloat32(x);
  double most = single ? 4 : 6, center = single ? 2.5 : 3;
  Expr magnitude = let(Call("abs", {x}));
  Expr square = let(magnitude * magnitude);
  Expr small = magnitude + magnitude * Polynomial(square, single ? kErfSmall32 : kErfSmall64);
  // 1 - erf(x) = exp(-P(x - center)); what is clamped differs from 1 by less than it shows.
  Expr t = let(Min(magnitude, Const(x, most)) - Const(x, center));
  Expr exponent = Polynomial(t, single ? kErfLarge32 : kErfLarge64);
  Expr large = Const(x, 1) - Call("exp", {Const(x, -1) * exponent});
  Expr result = Select(Less(magnitude, Const(x, 1)), small, large);
  return let.In(Select(x != x, x, Call("copysign", {result, x})));
}

}  // namespace tern::tir::math
