// SPDX-License-Identifier: Apache-2.0
#include <limits>

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

// x = n * ln(2) + r with |r| <= ln(2) / 2; `body` gets r and n, an integer of the size of x.
template <class Body>
Expr ReduceByLn2(const Expr& x, Body&& body) {
  // n * high is exact: n has at most 11 bits.
  bool single = IsFloat32(x);
  double high = single ? 0x1.62ep-1 : 0x1.62e42feep-1;
  double low = single ? 0x1.0bfbe8e7bcd5ep-15 : 0x1.a39ef35793c76p-33;
  double to_integer = FormatOf(x.dtype()).to_integer;
  return Let(x * Const(x, kLog2E) + Const(x, to_integer), [&](Expr shifted) {
    return Let(shifted - Const(x, to_integer), [&](Expr whole) {
      Expr rest = (x - whole * Const(x, high)) - whole * Const(x, low);
      DataType integer = IntOf(x.dtype());
      Expr n = Reinterpret(integer, shifted) - Reinterpret(integer, Const(x, to_integer));
      return Let(rest,
                 [&](Expr r) { return Let(n, [&](Expr exponent) { return body(r, exponent); }); });
    });
  });
}

// x * 2^n in two steps, so that the result may be subnormal or infinite.
Expr Scale(const Expr& x, const Expr& n) {
  return Let(ShiftRight(n, 1), [&](Expr half) {
    return x * PowerOfTwo(x.dtype(), half) * PowerOfTwo(x.dtype(), n - half);
  });
}

// exp(r) - 1 for |r| <= ln(2) / 2
Expr SmallExpm1(const Expr& r) { return r + r * r * Polynomial(r, IsFloat32(r) ? kExp32 : kExp64); }

// |x| > kLarge: exp(x) / 2 without overflow where the result has none.
constexpr double kLarge = 60;
Expr HalfOfLargeExp(const Expr& magnitude) {
  return Let(Call("exp", {Const(magnitude, 0.5) * magnitude}),
             [&](Expr root) { return Const(root, 0.5) * root * root; });
}

}  // namespace

Expr Exp(const Expr& x) {
  Expr clamped = IsFloat32(x) ? Clamp(x, -105, 89) : Clamp(x, -750, 710);
  return Let(clamped, [&](Expr y) {
    Expr result =
        ReduceByLn2(y, [&](Expr r, Expr n) { return Scale(SmallExpm1(r) + Const(r, 1), n); });
    return Select(x != x, x, result);
  });
}

Expr Exp2(const Expr& x) {
  Expr clamped = IsFloat32(x) ? Clamp(x, -152, 129) : Clamp(x, -1080, 1025);
  double to_integer = FormatOf(x.dtype()).to_integer;
  return Let(clamped, [&](Expr y) {
    return Let(y + Const(x, to_integer), [&](Expr shifted) {
      return Let(y - (shifted - Const(x, to_integer)), [&](Expr r) {
        DataType integer = IntOf(x.dtype());
        Expr n = Reinterpret(integer, shifted) - Reinterpret(integer, Const(x, to_integer));
        Expr power = r * Polynomial(r, IsFloat32(x) ? kExp2Of32 : kExp2Of64) + Const(x, 1);
        return Let(n, [&](Expr exponent) { return Select(x != x, x, Scale(power, exponent)); });
      });
    });
  });
}

// 2^n * (exp(r) - 1) + (2^n - 1): nothing cancels.
Expr Expm1(const Expr& x) {
  return Let(Clamp(x, -50, kLarge), [&](Expr y) {
    Expr small = ReduceByLn2(y, [&](Expr r, Expr n) {
      return Let(PowerOfTwo(x.dtype(), n),
                 [&](Expr power) { return power * SmallExpm1(r) + (power - Const(x, 1)); });
    });
    // Zeros and NaN are their own results.
    return Select(Less(Const(x, kLarge), x), Call("exp", {x}),
                  Select(Less(Const(x, 0), Call("abs", {x})), small, x));
  });
}

Expr Sigmoid(const Expr& x) {
  return Let(Call("exp", {Const(x, -1) * Call("abs", {x})}), [&](Expr e) {
    return Select(Less(x, Const(x, 0)), e, Const(x, 1)) / (Const(x, 1) + e);
  });
}

Expr Sinh(const Expr& x) {
  return Let(Call("abs", {x}), [&](Expr magnitude) {
    return Let(Call("expm1", {magnitude}), [&](Expr e) {
      Expr small = Const(x, 0.5) * (e + e / (e + Const(x, 1)));
      Expr result = Select(Less(Const(x, kLarge), magnitude), HalfOfLargeExp(magnitude), small);
      return Call("copysign", {result, x});
    });
  });
}

Expr Cosh(const Expr& x) {
  return Let(Call("abs", {x}), [&](Expr magnitude) {
    return Let(Call("exp", {magnitude}), [&](Expr e) {
      Expr small = Const(x, 0.5) * e + Const(x, 0.5) / e;
      return Select(Less(Const(x, kLarge), magnitude), HalfOfLargeExp(magnitude), small);
    });
  });
}

Expr Tanh(const Expr& x) {
  return Let(Call("abs", {x}), [&](Expr magnitude) {
    return Let(magnitude * magnitude, [&](Expr square) {
      Expr small =
          magnitude + magnitude * square * Polynomial(square, IsFloat32(x) ? kTanh32 : kTanh64);
      Expr e = Call("exp", {magnitude + magnitude});
      Expr large = Const(x, 1) - Const(x, 2) / (e + Const(x, 1));
      Expr result = Select(Less(magnitude, Const(x, 0.625)), small, large);
      return Call("copysign", {result, x});
    });
  });
}

Expr Erf(const Expr& x) {
  bool single = IsFloat32(x);
  double most = single ? 4 : 6, center = single ? 2.5 : 3;
  return Let(Call("abs", {x}), [&](Expr magnitude) {
    return Let(magnitude * magnitude, [&](Expr square) {
      return Let(Min(magnitude, Const(x, most)) - Const(x, center), [&](Expr t) {
        Expr small = magnitude + magnitude * Polynomial(square, single ? kErfSmall32 : kErfSmall64);
        // 1 - erf(x) = exp(-P(x - center)); what is clamped differs from 1 by less than it shows.
        Expr exponent = Polynomial(t, single ? kErfLarge32 : kErfLarge64);
        Expr large = Const(x, 1) - Call("exp", {Const(x, -1) * exponent});
        Expr result = Select(Less(magnitude, Const(x, 1)), small, large);
        return Select(x != x, x, Call("copysign", {result, x}));
      });
    });
  });
}

}  // namespace tern::tir::math
