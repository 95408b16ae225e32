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

// Before: loops may be marked `vectorized`; blocks are lowered. Buffers still have their
// dimensions: they show that iterations touch different elements, which a flat index hides. After:
// no loop is marked. The iterations of each run on the lanes of vectors, as far as they are proven
// independent, the statements have a vector form and the function's target (any, where it has none)
// takes it, or combine values to one in an order that is free (of floats, where the function says
// `reassociate`); the rest runs in serial loops. Throws where the extent is not a constant from 2
// to 64, unless the loop says how many lanes it wants (`attrs {lanes = 8}`): then it runs in steps
// of as many iterations, and those that remain run in a serial loop.
PrimFunc VectorizeLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_VECTORIZE_LOOPS_H_
