// SPDX-License-Identifier: Apache-2.0
//
// Elements of few bits.
#ifndef TERN_OP_QUANTIZE_H_
#define TERN_OP_QUANTIZE_H_

#include "tern/op/formulas.h"

namespace tern::op {

struct Range {
  double low, high;
};
// Of an integer type of at most 32 bits.
Range RangeOf(DataType dtype);
// Throws where it is no integer type of at most 16 bits.
void CheckQuantizedType(DataType dtype);

// A quotient, rounded to even, plus the zero point (or null), within the range of the type.
// With `bits`, of so many bits.
Expr Quantized(DataType dtype, const Expr& value, const Expr& zero_point, int64_t bits = 0);

// A float as a float8. What is too large becomes the largest number with `saturate`, and otherwise
// infinity, or NaN where the type has none.
Expr ToFloat8(DataType dtype, const Expr& value, bool saturate);

// A number as a type of few bits has it, as int8, uint8 or float32: integers modulo 2^bits, a
// float4e2m1 the nearest (the largest of what is beyond), a float8e8m0 a power of two.
// Throws where the type is none of int2, uint2, int4, uint4, float4e2m1 and float8e8m0.
// `round_mode`: of float8e8m0, up, down or nearest.
Expr Narrowed(const std::string& type, const Expr& value, bool saturate,
              const std::string& round_mode);

void RegisterMatMulNBits();  // by RegisterQuantizationOps

}  // namespace tern::op

#endif  // TERN_OP_QUANTIZE_H_
