// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOOPS_SCALARIZE_VECTORS_H_
#define TERN_TIR_TRANSFORM_LOOPS_SCALARIZE_VECTORS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Lowers vectors that the target lacks to loops over lanes.
//
// Before:  B[ramp(0, 1, 4)] = A[ramp(0, 1, 4)] * 2.0
// After:   for lane in 0..4 { B[lane] = A[lane] * 2.0 }
//
// Before:  B[ramp(0, 1, 4) where p] = x
// After:   for lane in 0..4 { if p[lane] { B[lane] = x[lane] } }
//
// All vectors of a function go, unless its target takes all of them. Shuffles become a statement
// per lane, vector variables local arrays. A function without a target keeps its vectors only if
// they are scalable. Throws on scalable vectors that a target lacks.
PrimFunc ScalarizeVectors(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOOPS_SCALARIZE_VECTORS_H_
