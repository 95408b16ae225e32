// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MERGE_SHARED_MEMORY_H_
#define TERN_TIR_TRANSFORM_MERGE_SHARED_MEMORY_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Before, the barriers are in place. Afterwards each kernel has one allocation of scope shared and
// one of scope shared.dynamic at most, and what was allocated before are views of it. Two of them
// share space where a barrier lies between the last use of one and the first use of the other,
// whichever way a thread goes. Memory whose size depends on what the kernel computes stays as it
// is.
PrimFunc MergeSharedMemory(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MERGE_SHARED_MEMORY_H_
