// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOWER_BLOCKS_H_
#define TERN_TIR_TRANSFORM_LOWER_BLOCKS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Before: blocks anywhere. After: none; a block's axes are replaced by their bindings, and its init
// stands before its body, under the condition that all its reduction axes are at 0. Reductions that
// may be empty are initialised as InitializeEmptyReductions does it.
PrimFunc LowerBlocks(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOWER_BLOCKS_H_
