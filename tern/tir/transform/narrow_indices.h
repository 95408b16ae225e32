// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_NARROW_INDICES_H_
#define TERN_TIR_TRANSFORM_NARROW_INDICES_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Indices, comparisons, definitions and loop variables that are int64 are int32 where every value
// on the way provably fits. What is not bounded, like an extent that only the caller knows, stays
// wide.
PrimFunc NarrowIndices(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_NARROW_INDICES_H_
