// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_BIND_TASKS_H_
#define TERN_SCHEDULE_BIND_TASKS_H_

#include <optional>

#include "tern/tir/function.h"

namespace tern::schedule {

// For a device that is a processor: a function that the rules of hosts have scheduled becomes
// kernels of it. Nothing where memory that a kernel would own is of no constant size, or more than
// `max_local_memory` of the target.
//
// Before:  for i in 0..n parallel { allocate T: float32[64] { ... } }
// After:   for g in 0..n bind(blockIdx.x) { for t in 0..1 bind(threadIdx.x) {
//            let i = g { allocate T: float32[64] scope(local) { ... } } } }
//
// An iteration of a parallel loop is a thread block of one thread. A serial loop around one stays
// the host's, with a launch for each iteration; what has no parallel loop is one thread's.
std::optional<tir::PrimFunc> BindTasks(const tir::PrimFunc& function);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_BIND_TASKS_H_
