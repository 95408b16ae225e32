// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOOPS_VECTORIZE_LOOPS_H_
#define TERN_TIR_TRANSFORM_LOOPS_VECTORIZE_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

namespace attr {
// Int, of a vectorized loop: how many iterations run at once.
inline constexpr const char* kLanes = "lanes";
// String, of a loop that a split made: its tail strategy. Without one partition_loops makes a loop
// of full tiles and a tail.
inline constexpr const char* kTail = "tail";
inline constexpr const char* kGuardTail = "guard";  // one loop, with the predicate inside
inline constexpr const char* kMaskTail = "mask";  // vectors are masked, where the target has masks
}  // namespace attr

// Whether the loop has that tail strategy.
bool HasTail(const ForNode* loop, const char* tail);
// Whether the function's target has masked vectors; true where it names none.
bool TakesMasks(const PrimFunc& function);

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
// a loop with `attrs {lanes = 8}` may have any extent, and leaves a serial tail. With
// `attrs {tail = "mask"}`, what only some lanes do is masked where the target has masked vectors:
//
// Before:  for j in 0..8 vectorized attrs {tail = "mask"} { if i + j < n { B[i + j] = A[i + j] } }
// After:   let mask = ramp(0, 1, 8) < broadcast(min(n - i, 8), 8)
//          B[ramp(i, 1, 8) where mask] = A[ramp(i, 1, 8) where mask]
//
// So are loads of a `select` that may be none of the lane's, if lanes are neighbours in memory:
// select(j <= i, A[j], 0).
//
// Runs after lower_blocks and before flatten_buffers: dimensions show that iterations are
// independent.
PrimFunc VectorizeLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOOPS_VECTORIZE_LOOPS_H_
