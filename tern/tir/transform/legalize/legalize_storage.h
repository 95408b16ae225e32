// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LEGALIZE_LEGALIZE_STORAGE_H_
#define TERN_TIR_TRANSFORM_LEGALIZE_LEGALIZE_STORAGE_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Stores 8- and 16-bit floats as integers where the target lacks them (TargetKind::stores).
//
// Before:  B[i] = float32(A[i])                                            A: bfloat16
// After:   B[i] = reinterpret<float32>(shift_left(uint32(A[i]), 16))       A: uint16
//
// Runs after legalize_compute, which leaves only moves, selects and casts of such types.
PrimFunc LegalizeStorage(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LEGALIZE_LEGALIZE_STORAGE_H_
