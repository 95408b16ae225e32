// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_VECTORIZE_ACCESSES_H_
#define TERN_TIR_TRANSFORM_VECTORIZE_ACCESSES_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Before: loops may be vectorized, and the target computes with scalars but moves vectors between
// memories (TargetKind::move_bytes). After: what the iterations of such a loop read and write side
// by side is read before and written behind them, as vectors; the iterations follow each other.
// Where that needs tensors to be aligned, the function has two bodies, and runs the one that fits.
// Functions for other targets stay as they are.
PrimFunc VectorizeAccesses(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_VECTORIZE_ACCESSES_H_
