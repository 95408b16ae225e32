// SPDX-License-Identifier: Apache-2.0
//
// Versions of a model for different extents (graph/versions.h) have kernels of their own for a
// weight, which mostly pack it in the same way: it is packed once for all of them.
#ifndef TERN_SHARE_PREPACKED_H_
#define TERN_SHARE_PREPACKED_H_

#include "tern/compile.h"
#include "tern/runtime/vm/program.h"

namespace tern {

// Before:  prepack f_prepare(W, p), g_prepare(W, q)       # functions that are equal
// After:   prepack f_prepare(W, p)                        # p is read where q was
// `kernels` are the functions as they are before they are scheduled.
void SharePrepacked(const ir::IRModule& kernels, const target::Target& target,
                    const CompileOptions& options, runtime::vm::Program* program);

}  // namespace tern

#endif  // TERN_SHARE_PREPACKED_H_
