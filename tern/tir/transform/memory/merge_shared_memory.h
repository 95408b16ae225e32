// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MEMORY_MERGE_SHARED_MEMORY_H_
#define TERN_TIR_TRANSFORM_MEMORY_MERGE_SHARED_MEMORY_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Merges several dynamic shared allocations of a kernel into one, of which a launch gives the size.
//
// Before:  alloc T: float32[64] in shared.dynamic   f(T)   barrier("shared")
//          alloc U: float32[n] in shared.dynamic    g(U)
// After:   alloc dynamic: float32[n rounded up + 64] align(16) in shared.dynamic
//          buffer T: float32[64] in shared.dynamic at dynamic             f(T)   barrier("shared")
//          buffer U: float32[n] offset(64) in shared.dynamic at dynamic   g(U)
//
// Two of constant size share space where a barrier lies between the last use of one and the first
// use of the other on every path; one is put there where much space is saved. Memory whose size the
// kernel computes stays. Pieces of scope shared are merged alike where that saves much, and the
// target moves vectors between addresses. Runs after insert_barriers.
PrimFunc MergeSharedMemory(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MEMORY_MERGE_SHARED_MEMORY_H_
