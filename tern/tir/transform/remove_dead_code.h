// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_REMOVE_DEAD_CODE_H_
#define TERN_TIR_TRANSFORM_REMOVE_DEAD_CODE_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Dead code elimination.
//
// Before:  alloc T: float32[4]   T[0] = A[0]   let x = A[1]   B[0] = 1
// After:   B[0] = 1
//
// Removes unused lets, stores that are never read, unused allocations, empty loops and branches.
// Asserts, calls made for their effect, and the thread loops of a launch stay. A fault in a value
// that is not needed is no longer reported. A loop without effect is assumed to end.
PrimFunc RemoveDeadCode(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_REMOVE_DEAD_CODE_H_
