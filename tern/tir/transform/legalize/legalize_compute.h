// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LEGALIZE_LEGALIZE_COMPUTE_H_
#define TERN_TIR_TRANSFORM_LEGALIZE_LEGALIZE_COMPUTE_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Computes 8- and 16-bit floats in float32 where the target lacks them (TargetKind::computes).
//
// Before:  C[i] = A[i] * B[i]                                              float16
// After:   C[i] = float16(float32(A[i]) * float32(B[i]))
//
// Each operation is rounded to its type, which gives the bits of the operation in that type.
// Afterwards values of such types are only moved, selected and cast.
PrimFunc LegalizeCompute(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LEGALIZE_LEGALIZE_COMPUTE_H_
