// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_SIMPLIFY_H_
#define TERN_TIR_TRANSFORM_SIMPLIFY_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Simplifies every expression with what is known of the variables in scope; drops branches that are
// never taken, loops without an iteration, and asserts that always hold.
PrimFunc Simplify(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_SIMPLIFY_H_
