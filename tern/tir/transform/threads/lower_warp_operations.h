// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_THREADS_LOWER_WARP_OPERATIONS_H_
#define TERN_TIR_TRANSFORM_THREADS_LOWER_WARP_OPERATIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Shuffles, votes and lane_index for targets without warps, by shared memory.
//
// Before:  for t in 0..64 bind(threadIdx.x) { B[t] = warp_shuffle_xor(A[t], 1) }
// After:   for t in 0..64 bind(threadIdx.x) {
//            alloc received: float32[1] in local
//            scope { alloc exchanged: float32[64] in shared
//                    exchanged[t] = A[t]                                     barrier("shared")
//                    received[0] = exchanged[t - t % 32 + (t % 32 ^ 1)]      barrier("shared") }
//            B[t] = received[0]
//          }
//
// On targets with warps, shuffles of a block whose last warp may be smaller get the lane that they
// read, the own one where the warp has no other. Operations on matrices stay, as do those in the
// condition of a while loop, or of a block whose size is not constant.
PrimFunc LowerWarpOperations(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_LOWER_WARP_OPERATIONS_H_
