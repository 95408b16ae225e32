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
Expr Quantized(DataType dtype, const Expr& value, const Expr& zero_point);

// A float as a float8. What is too large becomes the largest number with `saturate`, and otherwise
// infinity, or NaN where the type has none.
Expr ToFloat8(DataType dtype, const Expr& value, bool saturate);

}  // namespace tern::op

#endif  // TERN_OP_QUANTIZE_H_
