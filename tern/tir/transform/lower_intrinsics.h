// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOWER_INTRINSICS_H_
#define TERN_TIR_TRANSFORM_LOWER_INTRINSICS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Calls of intrinsics are those that the code generator of the function's target takes: the rules
// of intrinsic_rules.h are applied, those of the target's kind first, until none changes anything.
PrimFunc LowerIntrinsics(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOWER_INTRINSICS_H_
