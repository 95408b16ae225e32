// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/math/machine_power.h"

#include "tern/tir/math/coefficients.h"
#include "tern/tir/math/expr_builder.h"

namespace tern::tir::math {

// exp(x) = 2^n * 2^(x * log2(e) - n), n an integer from -126 to 126. The rest is at most 1/2 where
// n is not clamped, and makes the result what it is elsewhere: infinite, subnormal, 0 or NaN.
Expr ExpByPower(const Expr& x, const MachinePower& machine) {
  constexpr double kLog2E = 0x1.715476p0, kLog2ERest = 1.9259629911266175e-8;
  constexpr double kMost = 126, kRange = 2 * kMost;
  const FloatFormat& format = FormatOf(x.dtype());
  // Added, the low bits are the exponent of 2^n.
  double to_exponent = format.to_integer + (format.bias - kMost);
  Lets let;
  Expr part = machine.saturated_fma(x, Const(x, kLog2E / kRange), Const(x, 0.5));
  Expr shifted = let(Call("fma", {part, Const(x, kRange), Const(x, to_exponent)}));
  Expr n = shifted - Const(x, to_exponent + kMost);
  Expr rest = let(Call("fma", {x, Const(x, kLog2E), Const(x, -1) * n}));
  Expr exact = Call("fma", {x, Const(x, kLog2ERest), rest});
  Expr scale = Reinterpret(x.dtype(), ShiftLeft(Bits(shifted), format.mantissa_bits));
  return let.In(machine.power(exact) * scale);
}

// Beyond 4 the exponent still grows, so that the result is 1. The error of the power is that of a
// number below 1/5.
Expr ErfByPower(const Expr& x, const MachinePower& machine) {
  constexpr double kSmall = 0.92;
  Lets let;
  Expr magnitude = let(Call("abs", {x}));
  Expr small = Call("fma", {x, Polynomial(let(x * x), kErfShort32), x});
  Expr rest = machine.power(Const(x, -1) * Polynomial(magnitude, kErfcPower32));
  Expr large = Call("copysign", {Const(x, 1) - rest, x});
  return let.In(Select(Less(Const(x, kSmall), magnitude), large, small));
}

// 1 - 2 / (exp(2 x) + 1): where x is large, and the power off by more, the quotient is small.
Expr TanhByPower(const Expr& x, const MachinePower& machine) {
  constexpr double kSmall = 0.625, kTwoLog2E = 2.8853900817779268;
  Lets let;
  Expr magnitude = let(Call("abs", {x})), square = let(x * x);
  Expr small = Call("fma", {x * square, Polynomial(square, kTanh32), x});
  Expr power = machine.power(magnitude * Const(x, kTwoLog2E));
  Expr quotient = machine.reciprocal(power + Const(x, 1));
  Expr large = Call("copysign", {Call("fma", {Const(x, -2), quotient, Const(x, 1)}), x});
  return let.In(Select(Less(Const(x, kSmall), magnitude), large, small));
}

}  // namespace tern::tir::math
