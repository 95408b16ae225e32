// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/math/expr_builder.h"
#include "tern/tir/math/functions.h"

namespace tern::tir::math {

// Sums of neighbours: of single bits, of pairs, of fours; then of all bytes, in the highest one.
Expr PopCount(const Expr& x) {
  Lets let;
  DataType bits = UIntOf(x.dtype());
  auto mask = [&](uint64_t pattern) {
    return IntConst(bits, static_cast<int64_t>(pattern & (~uint64_t{0} >> (64 - bits.bits()))));
  };
  Expr all = let(Cast(bits, x));
  Expr pairs = let(all - And(ShiftRight(all, 1), mask(0x5555555555555555)));
  Expr even = mask(0x3333333333333333);
  Expr fours = let(And(pairs, even) + And(ShiftRight(pairs, 2), even));
  Expr bytes = And(fours + ShiftRight(fours, 4), mask(0x0f0f0f0f0f0f0f0f));
  if (bits.bits() > 8) bytes = ShiftRight(bytes * mask(0x0101010101010101), bits.bits() - 8);
  return let.In(Cast(x.dtype(), bytes));
}

// With all bits below the highest one set, the zeros are those that lead.
Expr CountLeadingZeros(const Expr& x) {
  Lets let;
  Expr filled = let(Cast(UIntOf(x.dtype()), x));
  for (int step = 1; step < x.dtype().bits(); step *= 2)
    filled = let(Or(filled, ShiftRight(filled, step)));
  return let.In(Cast(x.dtype(), Call("popcount", {Call("bit_not", {filled})})));
}

// x - 1 flips the trailing zeros.
Expr CountTrailingZeros(const Expr& x) {
  Lets let;
  Expr bits = let(Cast(UIntOf(x.dtype()), x));
  Expr zeros = And(Call("bit_not", {bits}), bits - Const(bits, 1));
  return let.In(Cast(x.dtype(), Call("popcount", {zeros})));
}

}  // namespace tern::tir::math
