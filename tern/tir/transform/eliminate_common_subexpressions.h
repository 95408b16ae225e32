// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_ELIMINATE_COMMON_SUBEXPRESSIONS_H_
#define TERN_TIR_TRANSFORM_ELIMINATE_COMMON_SUBEXPRESSIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// A value is computed once where it was computed again under the same conditions: the first
// computation becomes a `let` around its statement and those as far as the last use (or inside of
// the operand that may not be evaluated otherwise). Nothing is evaluated that was not evaluated
// before, so nothing faults that did not. A load counts as the same value until something may have
// written its memory: a store to the same memory, a barrier, a call made for its effect. Parameters
// may be one memory. Constants, variables, casts of them and `x + 1` stay as they are, and so do
// ramps, which code generators look for, and the extents of loops of threads (launches compute
// them), of unrolled and of vectorized loops (they must be constant).
PrimFunc EliminateCommonSubexpressions(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_ELIMINATE_COMMON_SUBEXPRESSIONS_H_
