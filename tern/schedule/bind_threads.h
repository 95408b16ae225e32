// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_BIND_THREADS_H_
#define TERN_SCHEDULE_BIND_THREADS_H_

#include "tern/tir/function.h"

namespace tern::schedule {

// The generic rule that makes any function legal on a device: every top-level statement that
// touches memory becomes a nest of thread loops. The outermost loops that run along spatial axes of
// the block below are fused and spread over blocks of as many threads as the target allows; what
// has no such loops runs on one thread. Functions for a host, and functions that bind threads
// themselves, stay as they are.
tir::PrimFunc BindThreads(const tir::PrimFunc& function);
// The same for the statements of a function for a device that do not bind threads, where others do.
tir::PrimFunc BindOtherThreads(const tir::PrimFunc& function);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_BIND_THREADS_H_
