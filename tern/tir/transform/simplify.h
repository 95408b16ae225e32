// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_SIMPLIFY_H_
#define TERN_TIR_TRANSFORM_SIMPLIFY_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Simplifies every expression with what is known of the variables in scope.
//
// Before:  for i in 0..8 { if i < 10 { A[i * 4 // 4] = 0 } }
// After:   for i in 0..8 { A[i] = 0 }
//
// Removes branches never taken, loops without an iteration, and asserts that always hold.
PrimFunc Simplify(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_SIMPLIFY_H_
