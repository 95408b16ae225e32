// SPDX-License-Identifier: Apache-2.0
//
// Floats of 16 bits or fewer by their bits, as unsigned integers (of 8 bits for float4_e2m1fn), in
// bit operations and float32 arithmetic. The results are those of tern/ffi/float16.h, float8.h and
// float4.h.
#ifndef TERN_TIR_MATH_NARROW_FLOAT_H_
#define TERN_TIR_MATH_NARROW_FLOAT_H_

#include "tern/ir/expr.h"

namespace tern::tir::math {

// The float32 that the bits mean as a `from`.
ir::Expr WidenBits(DataType from, const ir::Expr& bits);
// The bits of the `to` nearest to a float32, even of two.
ir::Expr NarrowToBits(DataType to, const ir::Expr& value);
// A float32 that rounds to every narrower type as the float64 does: rounding to nearest twice would
// not.
ir::Expr Float32ForNarrowing(const ir::Expr& value);
// The same of an integer of 32 or 64 bits, without float64.
ir::Expr Float32ForNarrowingOfInteger(const ir::Expr& value);

}  // namespace tern::tir::math

#endif  // TERN_TIR_MATH_NARROW_FLOAT_H_
