// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LEGALIZE_COMPUTE_H_
#define TERN_TIR_TRANSFORM_LEGALIZE_COMPUTE_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Float types of 8 and 16 bits that the target does not compute with (TargetKind::computes) are
// only moved, chosen between, and converted from and to float32: every operation on them is done in
// float32 and rounded to the type, which gives the bits that the operation in the type itself
// gives.
PrimFunc LegalizeCompute(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LEGALIZE_COMPUTE_H_
