// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_REWRITE_STORAGE_H_
#define TERN_TIR_TRANSFORM_REWRITE_STORAGE_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Allocations of constant size that are never needed at the same time are views of one allocation:
// in scope local, and outside of launches in scope global; in launches only of one type. A
// statement that computes an array element by element from another one that is not needed
// afterwards works in place. The larger allocation is the one that stays; arrays small enough for
// registers are left alone.
PrimFunc RewriteStorage(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_REWRITE_STORAGE_H_
