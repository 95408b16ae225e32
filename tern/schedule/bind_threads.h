// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_BIND_THREADS_H_
#define TERN_SCHEDULE_BIND_THREADS_H_

#include "tern/tir/function.h"

namespace tern::schedule {

// Makes any function legal on a device: binds what no rule and no schedule has bound.
//
// Before:  for i in 0..n { for j in 0..m { block b(vi: spatial(n) = i, ..) { .. } } }
// After:   for o in 0..(n * m + 255) // 256 bind(blockIdx.x) {
//            for t in 0..256 bind(threadIdx.x) { if o * 256 + t < n * m { block b(..) { .. } } } }
//
// Each top-level statement that touches memory becomes a launch. Loops whose iterations are
// independent are fused and spread over thread blocks: the outermost ones along spatial axes,
// parallel ones, and any that indexes all that is written, in a nest of several blocks or under a
// scan too. The last is along contiguous elements. A serial loop around such nests stays the
// host's, with a launch for each iteration; any other statement runs on one thread. Host functions,
// and functions that bind threads themselves, stay.
tir::PrimFunc BindThreads(const tir::PrimFunc& function);
// The same for the statements of a function for a device that do not bind threads, where others do.
tir::PrimFunc BindOtherThreads(const tir::PrimFunc& function);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_BIND_THREADS_H_
