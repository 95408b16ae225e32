// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_THREADS_LOWER_WARP_MEMORY_H_
#define TERN_TIR_TRANSFORM_THREADS_LOWER_WARP_MEMORY_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Lowers memory of scope warp, and fragments, to registers and shuffles.
//
// Before:  alloc T: float32[32] in warp    T[lane] = A[lane]   B[lane] = T[31 - lane]
// After:   alloc T: float32[1] in local    T[0] = A[lane]
//          B[lane] = warp_shuffle(T[0], 31 - lane)
//
// Where one index is the lane in every access, a lane holds that slice, without shuffles; with
// them, where the last index numbers the lanes and is the lane in every store. Otherwise
// lane l of L holds every L-th element from l on, or a contiguous block, whichever makes each lane
// write its own elements only. Throws where neither is proven, or where lanes read what is not
// theirs under divergence. Targets without warps keep the memory.
PrimFunc LowerWarpMemory(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_LOWER_WARP_MEMORY_H_
