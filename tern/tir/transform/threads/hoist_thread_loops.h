// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_THREADS_HOIST_THREAD_LOOPS_H_
#define TERN_TIR_TRANSFORM_THREADS_HOIST_THREAD_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Moves the thread loops of a kernel outermost, one per axis.
//
// Before:  for b bind(blockIdx.x) { for t bind(threadIdx.x) { S }   for u bind(threadIdx.x) { T } }
// After:   for b bind(blockIdx.x) { for t bind(threadIdx.x) { S   T } }
//
// A thread loop only says where a thread finds its index, so it may stand anywhere. Kernels in
// which an axis has several extents stay, and so do virtual threads.
PrimFunc HoistThreadLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_HOIST_THREAD_LOOPS_H_
