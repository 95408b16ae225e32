// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_CALLS_INJECT_BOUNDS_CHECKS_H_
#define TERN_TIR_TRANSFORM_CALLS_INJECT_BOUNDS_CHECKS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Checks indices and integer divisions of host code at run time.
//
// Before:  A[i + 1] = x
// After:   assert i + 1 < n, IndexError, "index ", i + 1, " is out of bounds ..."   A[i + 1] = x
//
// Provable ones are not checked. Errors are those of the interpreter. Thread loops, which have no
// asserts, stay. Runs after lower_blocks and before flatten_buffers.
PrimFunc InjectBoundsChecks(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_CALLS_INJECT_BOUNDS_CHECKS_H_
