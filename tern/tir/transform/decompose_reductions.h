// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_DECOMPOSE_REDUCTIONS_H_
#define TERN_TIR_TRANSFORM_DECOMPOSE_REDUCTIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Before: blocks with an init. After: where the loops right around such a block are those of its
// reduction axes, the init is a block of its own (`<name>_init`) before them, under the condition
// that they run at all where that is not certain; the innermost loop asks nothing. Other blocks
// keep their init, for lower_blocks.
PrimFunc DecomposeReductions(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_DECOMPOSE_REDUCTIONS_H_
