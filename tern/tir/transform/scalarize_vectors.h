// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_SCALARIZE_VECTORS_H_
#define TERN_TIR_TRANSFORM_SCALARIZE_VECTORS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Before: loops are vectorized; the function may use any vectors. After: it uses none, unless its
// target takes all that it uses: a vector statement is a loop over its lanes, or, where lanes are
// shuffled, one statement per lane; a vector variable is an array in local memory. A function
// without a target keeps its vectors only if they are scalable. Throws where a target has none of
// those.
PrimFunc ScalarizeVectors(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_SCALARIZE_VECTORS_H_
