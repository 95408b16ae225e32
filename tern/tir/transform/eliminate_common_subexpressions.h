// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_ELIMINATE_COMMON_SUBEXPRESSIONS_H_
#define TERN_TIR_TRANSFORM_ELIMINATE_COMMON_SUBEXPRESSIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Common subexpression elimination.
//
// Before:  B[i * 4 + j] = exp(A[i * 4 + j])   C[i * 4 + j] = exp(A[i * 4 + j]) * 2
// After:   let k = i * 4 + j   let e = exp(A[k])   B[k] = e   C[k] = e * 2
//
// Nothing is evaluated that was not evaluated before, so nothing faults that did not. A load is the
// same value until something may write its memory: a store to the same memory, a barrier, a call
// made for its effect. Parameters may alias. What stays: constants, variables, casts of them,
// `x + 1`, ramps (code generators match them), and extents of thread loops, unrolled and vectorized
// loops.
PrimFunc EliminateCommonSubexpressions(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_ELIMINATE_COMMON_SUBEXPRESSIONS_H_
