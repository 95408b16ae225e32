// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_VECTORIZE_LOOPS_H_
#define TERN_TIR_TRANSFORM_VECTORIZE_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

namespace attr {
// Int, of a vectorized loop: how many iterations run at once.
inline constexpr const char* kLanes = "lanes";
}  // namespace attr

// The extents that a vectorized loop may have.
inline constexpr int64_t kMinLanes = 2, kMaxLanes = 128;

// Turns loops marked `vectorized` into vector code.
//
// Before:  for j in 0..8 vectorized { B[j] = A[j] * 2 }
// After:   B[ramp(0, 1, 8)] = A[ramp(0, 1, 8)] * 2
//
// Iterations become lanes where they are proven independent, the statement has a vector form, and
// the target takes it; or where they are a reduction in any order (floats: with `reassociate`). The
// rest runs in serial loops. Throws unless the extent is a constant from kMinLanes to kMaxLanes;
// a loop with `attrs {lanes = 8}` may have any extent, and leaves a serial tail. Runs after
// lower_blocks and before flatten_buffers: dimensions show that iterations are independent.
PrimFunc VectorizeLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_VECTORIZE_LOOPS_H_
