// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LEGALIZE_LOWER_INTRINSICS_H_
#define TERN_TIR_TRANSFORM_LEGALIZE_LOWER_INTRINSICS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Lowers calls of intrinsics to those of the target's code generator.
//
// Before:  B[i] = sigmoid(A[i])
// After:   B[i] = 1.0 / (1.0 + exp(-A[i]))             as the rules of the target say
//
// The rules of intrinsic_rules.h are applied, those of the target's kind first, to a fixed point.
PrimFunc LowerIntrinsics(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LEGALIZE_LOWER_INTRINSICS_H_
