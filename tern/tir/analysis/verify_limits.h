// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_VERIFY_LIMITS_H_
#define TERN_TIR_ANALYSIS_VERIFY_LIMITS_H_

#include "tern/ir/module.h"

namespace tern::tir {

// Checks lowered functions against what their targets take: vectors, calls and memory of the
// target's kind, and for kernels the threads of a block and the shared and local memory that the
// target's attributes allow (max_threads, max_threads_x, _y, _z, max_shared_memory,
// max_local_memory; absent: no limit).
// Throws VerifyError with all mistakes, each with its function, its size and the limit.
void VerifyLimits(const ir::IRModule& module);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_VERIFY_LIMITS_H_
