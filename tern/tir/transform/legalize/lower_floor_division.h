// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LEGALIZE_LOWER_FLOOR_DIVISION_H_
#define TERN_TIR_TRANSFORM_LEGALIZE_LOWER_FLOOR_DIVISION_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Lowers floor division to the truncating division that machines have.
//
// Before:  A[i // 4, i % 4]
// After:   A[truncdiv(i, 4), truncmod(i, 4)]
//
// Only where both operands are known not to be negative. Runs after the last simplification that
// should see // and %.
PrimFunc LowerFloorDivision(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LEGALIZE_LOWER_FLOOR_DIVISION_H_
