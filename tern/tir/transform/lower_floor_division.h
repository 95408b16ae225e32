// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOWER_FLOOR_DIVISION_H_
#define TERN_TIR_TRANSFORM_LOWER_FLOOR_DIVISION_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Where both operands are known not to be negative, // and % become truncdiv and truncmod, which
// machines have. Comes after the last simplification that should see // and %, for which there are
// rules.
PrimFunc LowerFloorDivision(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOWER_FLOOR_DIVISION_H_
