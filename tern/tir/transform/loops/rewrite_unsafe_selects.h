// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOOPS_REWRITE_UNSAFE_SELECTS_H_
#define TERN_TIR_TRANSFORM_LOOPS_REWRITE_UNSAFE_SELECTS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Makes both values of every `select` safe to evaluate.
//
// Before:  select(i > 0, A[i - 1], 0)
// After:   if_then_else(i > 0, A[i - 1], 0)
//
// A scalar `select` with a value that may fault becomes `if_then_else`, which evaluates one value;
// an `if_then_else` that cannot fault becomes `select`.
PrimFunc RewriteUnsafeSelects(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOOPS_REWRITE_UNSAFE_SELECTS_H_
