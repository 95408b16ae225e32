// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tern/tir/analysis/has_float64.h"
#include "tern/tir/math/coefficients.h"
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/functions.h"

namespace tern::tir::math {
namespace {

constexpr double kPi = 3.141592653589793, kPiLow = 0x1.1a62633145c07p-53;
// pi / 2 in pieces. Times an integer of up to 20 bits the first two, of 33 bits, are exact.
constexpr double kHalfPi[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};
constexpr double kTwoOverPi = 0.6366197723675814;

// As SinOfTurned, where float32 is all there is: pieces of pi / 2 of 14 bits, whose products with
// the two halves of n, of 10 bits each, are exact. n stays a float, of which two bits count.
Expr SinOfTurnedInFloat32(const Expr& x, int quarter_turns) {
  constexpr double kPieces[] = {0x1.9218p+0, 0x1.ed5p-14, 0x1.10b4611a6p-30};
  Lets let;
  auto times = [&](const Expr& value, double factor) { return value * Const(x, factor); };
  auto is_odd = [&](const Expr& whole) {
    Expr half = let(times(whole, 0.5));
    return Call("floor", {half}) != half;
  };
  Expr n = let(Call("round", {times(x, kTwoOverPi)}));
  Expr high = let(times(Call("round", {times(n, 1.0 / 1024)}), 1024));
  Expr low = let(n - high);
  Expr rest = let(x - times(high, kPieces[0]));
  rest = let(rest - times(low, kPieces[0]));
  rest = let(rest - times(high, kPieces[1]));
  rest = let(rest - times(low, kPieces[1]));
  rest = let(rest - times(n, kPieces[2]));
  // Far away from zero, where the reduction is not exact, the result still is a sine.
  Expr r = let(Max(Min(rest, Const(x, 1)), Const(x, -1)));
  Expr z = let(r * r);
  Expr sine = r + r * z * Polynomial(z, kSin32);
  Expr cosine = (Const(x, 1) - times(z, 0.5)) + z * z * Polynomial(z, kCos32);
  Expr turns = let(n + Const(x, quarter_turns));
  Expr value = let(Select(is_odd(turns), cosine, sine));
  Expr result = Select(is_odd(let(Call("floor", {times(turns, 0.5)}))), times(value, -1), value);
  return let.In(Select(Call("isfinite", {x}), result, Const(x, NAN)));
}

// sin(x + quarter_turns * pi / 2). Computed in float64 for float32 too, which keeps the reduction
// exact; x = n * pi / 2 + rest with |rest| <= pi / 4.
Expr SinOfTurned(const Expr& x, int quarter_turns) {
  Lets let;
  DataType wide = DataType::Float(64, x.dtype().lanes()), bits_type = UIntOf(wide);
  bool single = x.dtype().bits() == 32;
  if (single && !HasFloat64(target::CurrentTarget())) return SinOfTurnedInFloat32(x, quarter_turns);
  Expr y = let(Cast(wide, x));
  Expr to_integer = Const(y, FormatOf(wide).to_integer);
  Expr shifted = let(y * Const(y, kTwoOverPi) + to_integer);
  Expr n = let(shifted - to_integer);

  Expr first = let(y - n * Const(y, kHalfPi[0]));
  Expr step = let(n * Const(y, kHalfPi[1]));
  Expr second = let(first - step);
  Expr back = let(second - first);
  Expr lost = (first - (second - back)) - (step + back);  // what the subtraction rounded away
  Expr rest = let(second + (lost - n * Const(y, kHalfPi[2])));
  // Far away from zero, where the reduction is not exact, the result still is a sine.
  Expr r = let(Max(Min(rest, Const(y, 1)), Const(y, -1)));

  Expr z = let(r * r);
  Expr sine = r + r * z * Polynomial(z, single ? kSin32 : kSin64);
  Expr cosine = (Const(y, 1) - Const(y, 0.5) * z) + z * z * Polynomial(z, single ? kCos32 : kCos64);
  Expr quadrant = let(Bits(shifted) + IntConst(bits_type, quarter_turns));
  auto has_bit = [&](int64_t bit) {
    return And(quadrant, IntConst(bits_type, bit)) != IntConst(bits_type, 0);
  };
  Expr value = let(Select(has_bit(1), cosine, sine));
  Expr result = Select(has_bit(2), Const(y, -1) * value, value);
  return let.In(Select(Call("isfinite", {x}), Cast(x.dtype(), result), Const(x, NAN)));
}

// asin(x) for 0 <= x <= 1/2
Expr SmallAsin(Lets& let, const Expr& x) {
  Expr z = let(x * x);
  return let(x + x * z * Polynomial(z, x.dtype().bits() == 32 ? kAsin32 : kAsin64));
}

// sqrt((1 - |x|) / 2): acos(x) is twice its asin.
Expr HalfAngle(const Expr& magnitude) {
  return Call("sqrt", {Const(magnitude, 0.5) * (Const(magnitude, 1) - magnitude)});
}

// high + low - value, where high + low is a number with more digits than its type has.
Expr SubtractFrom(double high, double low, const Expr& value) {
  if (value.dtype().bits() == 32) {
    auto rounded = static_cast<double>(static_cast<float>(high));
    low = high - rounded;
    high = rounded;
  }
  return Const(value, high) - (value - Const(value, low));
}
Expr AddTo(double high, double low, const Expr& value) {
  return Const(value, -1) * SubtractFrom(-high, -low, value);
}

// atan(x) for 0 <= x <= 1
Expr AtanBelowOne(Lets& let, const Expr& x) {
  constexpr double kTanEighth = 0.4142135623730951;  // tan(pi / 8)
  // atan(x) = pi / 4 + atan((x - 1) / (x + 1))
  Expr is_large = let(Less(Const(x, kTanEighth), x));
  Expr t = let(Select(is_large, (x - Const(x, 1)) / (x + Const(x, 1)), x));
  Expr z = let(t * t);
  Expr small = let(t + t * z * Polynomial(z, x.dtype().bits() == 32 ? kAtan32 : kAtan64));
  return let(Select(is_large, AddTo(kPi / 4, kPiLow / 4, small), small));
}

}  // namespace

Expr Sin(const Expr& x) { return SinOfTurned(x, 0); }
Expr Cos(const Expr& x) { return SinOfTurned(x, 1); }
Expr Tan(const Expr& x) { return Call("sin", {x}) / Call("cos", {x}); }

Expr Asin(const Expr& x) {
  Lets let;
  Expr magnitude = let(Call("abs", {x}));
  Expr is_large = let(Less(Const(x, 0.5), magnitude));
  Expr angle = SmallAsin(let, let(Select(is_large, HalfAngle(magnitude), magnitude)));
  Expr large = SubtractFrom(kPi / 2, kPiLow / 2, angle + angle);
  return let.In(Call("copysign", {Select(is_large, large, angle), x}));
}

Expr Acos(const Expr& x) {
  Lets let;
  Expr magnitude = let(Call("abs", {x}));
  Expr is_large = let(Less(Const(x, 0.5), magnitude)), is_negative = let(Less(x, Const(x, 0)));
  Expr angle = SmallAsin(let, let(Select(is_large, HalfAngle(magnitude), magnitude)));
  Expr twice = let(angle + angle);
  Expr large = Select(is_negative, SubtractFrom(kPi, kPiLow, twice), twice);
  Expr with_sign = let(Select(is_negative, Const(x, -1) * angle, angle));
  Expr small = SubtractFrom(kPi / 2, kPiLow / 2, with_sign);
  return let.In(Select(is_large, large, small));
}

Expr Atan(const Expr& x) {
  Lets let;
  Expr magnitude = let(Call("abs", {x}));
  Expr is_large = let(Less(Const(x, 1), magnitude));
  Expr angle = AtanBelowOne(let, let(Select(is_large, Const(x, 1) / magnitude, magnitude)));
  Expr result = Select(is_large, SubtractFrom(kPi / 2, kPiLow / 2, angle), angle);
  return let.In(Call("copysign", {result, x}));
}

// The angle of (|x|, |y|), turned into the quadrant of (x, y).
Expr Atan2(const Expr& y, const Expr& x) {
  Lets let;
  Expr width = let(Call("abs", {x})), height = let(Call("abs", {y}));
  Expr is_steep = let(Less(width, height));
  Expr small = let(Select(is_steep, width, height)), large = let(Select(is_steep, height, width));
  // Of two zeros the ratio counts as 0, of two infinities as 1.
  Expr ratio = Select(Equal(large, Const(x, 0)), Const(x, 0),
                      Select(Equal(small, large), Const(x, 1), small / large));
  Expr angle = AtanBelowOne(let, let(ratio));
  Expr quarter = let(Select(is_steep, SubtractFrom(kPi / 2, kPiLow / 2, angle), angle));
  Expr is_left = Less(Call("copysign", {Const(x, 1), x}), Const(x, 0));
  Expr half = Select(is_left, SubtractFrom(kPi, kPiLow, quarter), quarter);
  return let.In(Select(x != x || y != y, x + y, Call("copysign", {half, y})));
}

}  // namespace tern::tir::math
