// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_HOIST_INVARIANTS_H_
#define TERN_TIR_TRANSFORM_HOIST_INVARIANTS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// What is the same in all iterations is done before them. Where the whole body of a loop is an
// `if`, the parts of its condition that do not depend on the loop stand around the loop; an `else`
// is a loop of its own then. No statement is copied: a body that is more than an `if` keeps it.
// Scalar values of some cost become a `let` before the loop. A loop may run no iteration: only what
// can neither fault nor overflow moves, or, of a condition, what the first iteration of a loop that
// surely runs would evaluate. Loads in values stay. Loops that contain a barrier or thread loops,
// and those of threads, stay as they are.
PrimFunc HoistInvariants(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_HOIST_INVARIANTS_H_
