// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MERGE_SHARED_MEMORY_H_
#define TERN_TIR_TRANSFORM_MERGE_SHARED_MEMORY_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Merges the shared memory of a kernel into one allocation per scope (shared, shared.dynamic).
//
// Before:  alloc T: float32[64] in shared   f(T)   barrier("shared")
//          alloc U: float32[32] in shared   g(U)
// After:   alloc m: uint8[256] in shared    f(T)   barrier("shared")   g(U)
//          with T and U as views of m
//
// Two share space where a barrier lies between the last use of one and the first use of the other
// on every path. Memory whose size the kernel computes stays. Runs after insert_barriers.
PrimFunc MergeSharedMemory(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MERGE_SHARED_MEMORY_H_
