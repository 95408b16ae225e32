// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "tern/tir/math/coefficients.h"
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/functions.h"

namespace tern::tir::math {
namespace {

constexpr double kPi = 3.141592653589793, kPiLow = 0x1.1a62633145c07p-53;
// pi / 2 in pieces. Times an integer of up to 20 bits the first two, of 33 bits, are exact.
constexpr double kHalfPi[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};
constexpr double kTwoOverPi = 0.6366197723675814;

DataType Wide(DataType dtype) { return DataType::Float(64, dtype.lanes()); }

// sin(x + quarter_turns * pi / 2). Computed in float64 for float32 too, which keeps the reduction
// exact; x = n * pi / 2 + r with |r| <= pi / 4.
Expr SinOfTurned(const Expr& x, int quarter_turns) {
  DataType wide = Wide(x.dtype());
  bool single = x.dtype().bits() == 32;
  double to_integer = FormatOf(wide).to_integer;
  return Let(Cast(wide, x), [&](Expr y) {
    return Let(y * Const(y, kTwoOverPi) + Const(y, to_integer), [&](Expr shifted) {
      return Let(shifted - Const(y, to_integer), [&](Expr n) {
        return Let(y - n * Const(y, kHalfPi[0]), [&](Expr first) {
          Expr step = n * Const(y, kHalfPi[1]);
          return Let(first - step, [&](Expr second) {
            // What the subtraction rounded away.
            Expr back = second - first;
            Expr lost = (first - (second - back)) - (step + back);
            Expr rest = second + (lost - n * Const(y, kHalfPi[2]));
            // Far away from zero, where the reduction is not exact, the result still is a sine.
            return Let(Max(Min(rest, Const(y, 1)), Const(y, -1)), [&](Expr r) {
              return Let(r * r, [&](Expr z) {
                Expr sine = r + r * z * Polynomial(z, single ? kSin32 : kSin64);
                Expr cosine = (Const(y, 1) - Const(y, 0.5) * z) +
                              z * z * Polynomial(z, single ? kCos32 : kCos64);
                Expr quadrant = Bits(shifted) + IntConst(UIntOf(wide), quarter_turns);
                return Let(quadrant, [&](Expr q) {
                  Expr zero = IntConst(UIntOf(wide), 0);
                  Expr is_cosine = And(q, IntConst(UIntOf(wide), 1)) != zero;
                  Expr is_negative = And(q, IntConst(UIntOf(wide), 2)) != zero;
                  return Let(Select(is_cosine, cosine, sine), [&](Expr value) {
                    Expr result = Select(is_negative, Const(value, -1) * value, value);
                    return Select(Call("isfinite", {x}), Cast(x.dtype(), result), Const(x, NAN));
                  });
                });
              });
            });
          });
        });
      });
    });
  });
}

// asin(x) for 0 <= x <= 1/2
Expr SmallAsin(const Expr& x) {
  return Let(x * x, [&](Expr z) {
    return x + x * z * Polynomial(z, x.dtype().bits() == 32 ? kAsin32 : kAsin64);
  });
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
Expr AtanBelowOne(const Expr& x) {
  constexpr double kTanEighth = 0.4142135623730951;  // tan(pi / 8)
  return Let(Less(Const(x, kTanEighth), x), [&](Expr is_large) {
    // atan(x) = pi / 4 + atan((x - 1) / (x + 1))
    Expr reduced = Select(is_large, (x - Const(x, 1)) / (x + Const(x, 1)), x);
    return Let(reduced, [&](Expr t) {
      return Let(t * t, [&](Expr z) {
        Expr small = t + t * z * Polynomial(z, x.dtype().bits() == 32 ? kAtan32 : kAtan64);
        return Let(small, [&](Expr value) {
          return Select(is_large, AddTo(kPi / 4, kPiLow / 4, value), value);
        });
      });
    });
  });
}

}  // namespace

Expr Sin(const Expr& x) { return SinOfTurned(x, 0); }
Expr Cos(const Expr& x) { return SinOfTurned(x, 1); }
Expr Tan(const Expr& x) { return Call("sin", {x}) / Call("cos", {x}); }

Expr Asin(const Expr& x) {
  return Let(Call("abs", {x}), [&](Expr magnitude) {
    return Let(Less(Const(x, 0.5), magnitude), [&](Expr is_large) {
      Expr argument = Select(is_large, HalfAngle(magnitude), magnitude);
      return Let(argument, [&](Expr t) {
        return Let(SmallAsin(t), [&](Expr angle) {
          Expr large = SubtractFrom(kPi / 2, kPiLow / 2, angle + angle);
          return Call("copysign", {Select(is_large, large, angle), x});
        });
      });
    });
  });
}

Expr Acos(const Expr& x) {
  return Let(Call("abs", {x}), [&](Expr magnitude) {
    return Let(Less(Const(x, 0.5), magnitude), [&](Expr is_large) {
      return Let(Select(is_large, HalfAngle(magnitude), magnitude), [&](Expr t) {
        return Let(SmallAsin(t), [&](Expr angle) {
          Expr is_negative = Less(x, Const(x, 0));
          Expr twice = angle + angle;
          Expr large = Select(is_negative, SubtractFrom(kPi, kPiLow, twice), twice);
          Expr signed_angle = Select(is_negative, Const(x, -1) * angle, angle);
          Expr small = Let(signed_angle,
                           [&](Expr value) { return SubtractFrom(kPi / 2, kPiLow / 2, value); });
          return Select(is_large, large, small);
        });
      });
    });
  });
}

Expr Atan(const Expr& x) {
  return Let(Call("abs", {x}), [&](Expr magnitude) {
    return Let(Less(Const(x, 1), magnitude), [&](Expr is_large) {
      Expr reduced = Select(is_large, Const(x, 1) / magnitude, magnitude);
      return Let(reduced, [&](Expr t) {
        return Let(AtanBelowOne(t), [&](Expr angle) {
          Expr result = Select(is_large, SubtractFrom(kPi / 2, kPiLow / 2, angle), angle);
          return Call("copysign", {result, x});
        });
      });
    });
  });
}

// The angle of (|x|, |y|), turned into the quadrant of (x, y).
Expr Atan2(const Expr& y, const Expr& x) {
  return Let(Call("abs", {x}), [&](Expr width) {
    return Let(Call("abs", {y}), [&](Expr height) {
      return Let(Less(width, height), [&](Expr is_steep) {
        Expr small = Select(is_steep, width, height), large = Select(is_steep, height, width);
        // Of two zeros the ratio counts as 0, of two infinities as 1.
        Expr ratio = Select(Equal(large, Const(x, 0)), Const(x, 0),
                            Select(Equal(small, large), Const(x, 1), small / large));
        return Let(ratio, [&](Expr t) {
          return Let(AtanBelowOne(t), [&](Expr angle) {
            Expr first = Select(is_steep, SubtractFrom(kPi / 2, kPiLow / 2, angle), angle);
            return Let(first, [&](Expr quarter) {
              Expr is_left = Less(Call("copysign", {Const(x, 1), x}), Const(x, 0));
              Expr half = Select(is_left, SubtractFrom(kPi, kPiLow, quarter), quarter);
              Expr result = Call("copysign", {half, y});
              return Select(x != x || y != y, x + y, result);
            });
          });
        });
      });
    });
  });
}

}  // namespace tern::tir::math
