// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MEMORY_REWRITE_STORAGE_H_
#define TERN_TIR_TRANSFORM_MEMORY_REWRITE_STORAGE_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Lets allocations that are not live at the same time share memory.
//
// Before:  alloc T: float32[64]   f(T)   alloc U: float32[32]   g(U)
// After:   alloc T: float32[64]   f(T)   buffer U: float32[32] at T   g(U)
//
// Only constant sizes: in scope local, and outside of launches in scope global; in launches only of
// one type. An elementwise statement whose input dies works in place. Arrays small enough for
// registers stay, and those that an instruction has in a register: a compiler keeps no tile of a
// matrix in one whose memory is another array's, too.
PrimFunc RewriteStorage(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MEMORY_REWRITE_STORAGE_H_
