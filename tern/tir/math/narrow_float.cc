// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/math/narrow_float.h"

#include <algorithm>
#include <cmath>

#include "tern/tir/math/expr_builder.h"

namespace tern::tir::math {
namespace {

constexpr int64_t kFloat32Infinity = 0x7f800000, kFloat32NaN = 0x7fc00000;
constexpr int kFloat32Mantissa = 23, kFloat32Bias = 127;

struct NarrowFormat {
  int bits, mantissa_bits, bias;
  int64_t infinity;  // its bits; 0 where the type has none
  int64_t nan;       // of a type without one, the bits of the largest number
  // The largest bits of a float32, without its sign, that round to a number.
  int64_t last_float32;
  // There is no negative zero: its bits are the only NaN (the fnuz types).
  bool is_nan_negative_zero = false;
  // There is no NaN and no infinity: what is beyond the largest number becomes that, and NaN 0.
  bool saturates = false;

  int shift() const { return kFloat32Mantissa - mantissa_bits; }
  // What the exponent lacks to be that of a float32, in its place.
  int64_t rebias() const { return int64_t{kFloat32Bias - bias} << kFloat32Mantissa; }
  int64_t sign() const { return int64_t{1} << (bits - 1); }
  // Subnormals are multiples of it.
  double unit() const { return std::ldexp(1, 1 - bias - mantissa_bits); }
};

const NarrowFormat& FormatOfNarrow(DataType dtype) {
  static const NarrowFormat kHalf = {16, 10, 15, 0x7c00, 0x7e00, 0x477fefff};
  static const NarrowFormat kE5M2 = {8, 2, 15, 0x7c, 0x7e, 0x476fffff};
  static const NarrowFormat kE4M3FN = {8, 3, 7, 0, 0x7f, 0x43e80000};
  static const NarrowFormat kE5M2Fnuz = {8, 2, 16, 0, 0x80, 0x476fffff, true};
  static const NarrowFormat kE4M3Fnuz = {8, 3, 8, 0, 0x80, 0x4377ffff, true};
  static const NarrowFormat kE2M1FN = {4, 1, 1, 0, 7, 0x40a00000, false, true};
  TERN_ICHECK(dtype.is_narrow_float() && !dtype.is_bfloat16()) << dtype.str();
  switch (dtype.code()) {
    case kTernTypeFloat8E5M2:
      return kE5M2;
    case kTernTypeFloat8E4M3FN:
      return kE4M3FN;
    case kTernTypeFloat8E5M2FNUZ:
      return kE5M2Fnuz;
    case kTernTypeFloat8E4M3FNUZ:
      return kE4M3Fnuz;
    case kTernTypeFloat4E2M1FN:
      return kE2M1FN;
    default:
      return kHalf;
  }
}

}  // namespace

Expr WidenBits(DataType from, const Expr& bits) {
  DataType wide = DataType::UInt(32, from.lanes()), result = DataType::Float(32, from.lanes());
  if (from.is_bfloat16()) return Reinterpret(result, ShiftLeft(Cast(wide, bits), 16));
  Lets let;
  const NarrowFormat& format = FormatOfNarrow(from);
  auto constant = [&](int64_t value) { return IntConst(wide, value); };
  Expr all = let(Cast(wide, bits));
  Expr magnitude = let(And(all, constant(format.sign() - 1)));
  Expr shifted = let(ShiftLeft(magnitude, format.shift()));
  Expr normal = shifted + constant(format.rebias());
  Expr count = Cast(result, magnitude);
  Expr subnormal = Bits(count * Const(count, format.unit()));
  Expr is_subnormal = Less(magnitude, constant(int64_t{1} << format.mantissa_bits));
  Expr special = format.infinity ? Or(shifted, constant(kFloat32Infinity)) : constant(kFloat32NaN);
  Expr last_finite = constant((format.infinity ? format.infinity : format.nan) - 1);
  Expr value = Select(is_subnormal, subnormal, normal);
  if (!format.saturates) value = Select(Less(last_finite, magnitude), special, value);
  Expr sign = ShiftLeft(And(all, constant(format.sign())), 32 - format.bits);
  Expr with_sign = Or(value, sign);
  if (format.is_nan_negative_zero)
    with_sign = Select(Equal(all, constant(format.nan)), constant(kFloat32NaN), with_sign);
  return let.In(Reinterpret(result, with_sign));
}

Expr NarrowToBits(DataType to, const Expr& value) {
  Lets let;
  DataType wide = DataType::UInt(32, to.lanes()),
           result = DataType::UInt(std::max(to.bits(), 8), to.lanes());
  auto constant = [&](int64_t bits) { return IntConst(wide, bits); };
  Expr bits = let(Bits(value));
  Expr magnitude = let(And(bits, constant(0x7fffffff)));
  Expr is_nan = Less(constant(kFloat32Infinity), magnitude);
  if (to.is_bfloat16()) {
    Expr odd = And(ShiftRight(bits, 16), constant(1));
    Expr rounded = ShiftRight(bits + constant(0x7fff) + odd, 16);
    Expr quiet = Or(ShiftRight(bits, 16), constant(0x40));
    return let.In(Cast(result, Select(is_nan, quiet, rounded)));
  }
  const NarrowFormat& format = FormatOfNarrow(to);
  int shift = format.shift();
  Expr odd = And(ShiftRight(magnitude, shift), constant(1));
  Expr below_half = constant((int64_t{1} << (shift - 1)) - 1);
  // Where the exponent is too small the difference wraps, and is not used.
  Expr normal = ShiftRight(magnitude + below_half + odd - constant(format.rebias()), shift);
  // Adding a number whose last digit is the unit of subnormals leaves them rounded at its end.
  Expr base = Const(value, format.unit() * std::ldexp(1, kFloat32Mantissa));
  Expr subnormal = Bits(Reinterpret(value.dtype(), magnitude) + base) - Bits(base);
  Expr least_normal = constant(format.rebias() + (int64_t{1} << kFloat32Mantissa));
  Expr finite = Select(Less(magnitude, least_normal), subnormal, normal);
  Expr special = format.infinity ? Select(is_nan, constant(format.nan), constant(format.infinity))
                                 : constant(format.nan);
  Expr fits = Less(magnitude, constant(format.last_float32 + 1));
  Expr sign = And(ShiftRight(bits, 32 - format.bits), constant(format.sign()));
  if (format.is_nan_negative_zero) {
    finite = let(finite);
    Expr with_sign = Select(Equal(finite, constant(0)), finite, Or(finite, sign));
    return let.In(Cast(result, Select(fits, with_sign, special)));
  }
  Expr with_sign = Or(Select(fits, finite, special), sign);
  if (format.saturates) with_sign = Select(is_nan, constant(0), with_sign);
  return let.In(Cast(result, with_sign));
}

Expr Float32ForNarrowing(const Expr& value) {
  // Twelve bits of the mantissa, the last of which says whether anything was cut off, decide every
  // rounding to eleven bits or fewer; a float32 holds them wherever the narrow result is not zero.
  constexpr int64_t kCut = int64_t{1} << 40;
  Lets let;
  DataType wide = UIntOf(value.dtype()), result = DataType::Float(32, value.dtype().lanes());
  Expr bits = let(Bits(value)), zero = IntConst(wide, 0);
  Expr is_exact = Equal(And(bits, IntConst(wide, kCut - 1)), zero);
  Expr kept = Or(And(bits, IntConst(wide, -kCut)), Select(is_exact, zero, IntConst(wide, kCut)));
  return let.In(Cast(result, Reinterpret(value.dtype(), kept)));
}

}  // namespace tern::tir::math
