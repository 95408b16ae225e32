// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/functions.h"

namespace tern::tir::math {
namespace {

// The low bits of `pattern`, which repeats in 64 bits.
Expr Pattern(DataType dtype, uint64_t pattern) {
  return IntConst(dtype, static_cast<int64_t>(pattern & (~uint64_t{0} >> (64 - dtype.bits()))));
}

}  // namespace

// Sums of neighbours: of single bits, of pairs, of fours; then of all bytes, in the highest one.
Expr PopCount(const Expr& x) {
  DataType bits = UIntOf(x.dtype());
  auto mask = [&](uint64_t pattern) { return Pattern(bits, pattern); };
  Expr count = Let(Cast(bits, x), [&](Expr v) {
    Expr pairs = v - And(ShiftRight(v, 1), mask(0x5555555555555555));
    return Let(pairs, [&](Expr p) {
      Expr fours =
          And(p, mask(0x3333333333333333)) + And(ShiftRight(p, 2), mask(0x3333333333333333));
      return Let(fours, [&](Expr f) {
        Expr bytes = And(f + ShiftRight(f, 4), mask(0x0f0f0f0f0f0f0f0f));
        if (bits.bits() == 8) return bytes;
        return ShiftRight(bytes * mask(0x0101010101010101), bits.bits() - 8);
      });
    });
  });
  return Cast(x.dtype(), count);
}

// With all bits below the highest one set, the zeros are those that lead.
Expr CountLeadingZeros(const Expr& x) {
  DataType bits = UIntOf(x.dtype());
  Expr filled = Cast(bits, x);
  for (int step = 1; step < bits.bits(); step *= 2)
    filled = Let(filled, [&](Expr v) { return Or(v, ShiftRight(v, step)); });
  return Cast(x.dtype(), Call("popcount", {Call("bit_not", {filled})}));
}

// x - 1 flips the trailing zeros.
Expr CountTrailingZeros(const Expr& x) {
  DataType bits = UIntOf(x.dtype());
  return Let(Cast(bits, x), [&](Expr v) {
    Expr below = And(Call("bit_not", {v}), v - IntConst(bits, 1));
    return Cast(x.dtype(), Call("popcount", {below}));
  });
}

}  // namespace tern::tir::math
