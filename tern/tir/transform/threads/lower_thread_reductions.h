// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_THREADS_LOWER_THREAD_REDUCTIONS_H_
#define TERN_TIR_TRANSFORM_THREADS_LOWER_THREAD_REDUCTIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Lowers reductions whose axes are bound to the threads of a block.
//
// Before:  for t bind(threadIdx.x) { block sum(vk: reduce(64) = t) { S[0] = S[0] + A[vk] } }
// After:   for t bind(threadIdx.x) { x = A[t]   x = x + warp_shuffle_down(x, 16) ...
//                                    if t == 0 { S[0] = x } }
//
// A result in memory of a thread that is allocated around the loops over the threads is one that
// each of them has a copy of: all threads get it.
//
// Each thread reduces its part in local memory. Parts are combined by warp shuffles where the
// target has warps and the lanes are adjacent, else as a tree in shared memory with barriers.
//
// Updates are S = S op f or S = f op S, op one of + * min max && ||, or keep the better of two
// candidates of several results, as argmax does that compares indices too. Integers do not overflow
// where the order as written does not. Floats are reassociated, so the function or a thread loop
// must say `reassociate = true`.
//
// In a kernel with such a reduction, a block outside of the loops over its threads that stores what
// the kernel does not read, as an epilogue does, is run by the first thread alone.
PrimFunc LowerThreadReductions(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_LOWER_THREAD_REDUCTIONS_H_
