// SPDX-License-Identifier: Apache-2.0
//
// Mathematical functions written with operators, bit operations and sqrt, for kinds of targets that
// have none of their own. They need no library and vectorize. docs/numerics.md states their errors;
// functions_test.cc measures them.
//
// All take float32 and float64; none faults on any argument, in the interpreter either.
#ifndef TERN_TIR_MATH_FUNCTIONS_H_
#define TERN_TIR_MATH_FUNCTIONS_H_

#include "tern/ir/expr.h"

namespace tern::tir::math {

using ir::Expr;

// exponential.cc
Expr Exp(const Expr& x);
Expr Exp2(const Expr& x);
Expr Expm1(const Expr& x);
Expr Sigmoid(const Expr& x);
Expr Sinh(const Expr& x);
Expr Cosh(const Expr& x);
Expr Tanh(const Expr& x);
Expr Erf(const Expr& x);

// logarithm.cc
Expr Log(const Expr& x);
Expr Log2(const Expr& x);
Expr Log10(const Expr& x);
Expr Log1p(const Expr& x);
Expr Pow(const Expr& x, const Expr& y);

// trigonometric.cc
Expr Sin(const Expr& x);
Expr Cos(const Expr& x);
Expr Tan(const Expr& x);
Expr Asin(const Expr& x);
Expr Acos(const Expr& x);
Expr Atan(const Expr& x);
Expr Atan2(const Expr& y, const Expr& x);

// rounding.cc: exact
Expr Floor(const Expr& x);
Expr Ceil(const Expr& x);
Expr Trunc(const Expr& x);
Expr Round(const Expr& x);
Expr Abs(const Expr& x);  // of integers too
Expr CopySign(const Expr& x, const Expr& sign);
// Rounded once; of types narrower than float32 too. A float64 result that is subnormal may be off
// by its last bit.
Expr Fma(const Expr& a, const Expr& b, const Expr& c);

// bit_count.cc: of integers
Expr PopCount(const Expr& x);
Expr CountLeadingZeros(const Expr& x);
Expr CountTrailingZeros(const Expr& x);

// A lane-wise intrinsic on floats of 8 or 16 bits: computed in float32, and rounded to the type.
Expr OfNarrowFloats(const ir::CallNode* call);

// Makes them, and what follows from them, the lowering rules for all target kinds
// (intrinsic_rules.h).
void RegisterMathRules();

}  // namespace tern::tir::math

#endif  // TERN_TIR_MATH_FUNCTIONS_H_
