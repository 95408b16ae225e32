// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOOPS_VECTORIZE_ACCESSES_H_
#define TERN_TIR_TRANSFORM_LOOPS_VECTORIZE_ACCESSES_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Vector loads and stores for targets that compute scalars but move vectors
// (TargetKind::move_bytes), as GPUs do.
//
// Before:  for j in 0..4 vectorized { B[i * 4 + j] = A[i * 4 + j] + 1 }
// After:   t = A[ramp(i * 4, 1, 4)]   for j in 0..4 { u[j] = t[j] + 1 }   B[ramp(i * 4, 1, 4)] = u
// What several iterations share, as A[(i * 4 + j) // 2], is read once.
//
// Where that needs aligned tensors, the function gets two bodies, and runs the one that fits.
// Functions for other targets stay.
PrimFunc VectorizeAccesses(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOOPS_VECTORIZE_ACCESSES_H_
