// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_REWRITE_UNSAFE_SELECTS_H_
#define TERN_TIR_TRANSFORM_REWRITE_UNSAFE_SELECTS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// A `select` whose condition is a scalar, and one of whose values may fault, becomes
// `if_then_else`; an `if_then_else` whose values cannot fault becomes `select`. Afterwards both
// values of every `select` may be evaluated.
PrimFunc RewriteUnsafeSelects(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_REWRITE_UNSAFE_SELECTS_H_
