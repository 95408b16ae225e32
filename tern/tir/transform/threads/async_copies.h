// SPDX-License-Identifier: Apache-2.0
//
// Copies from global to shared memory that need not be done when the next statement runs.
#ifndef TERN_TIR_TRANSFORM_THREADS_ASYNC_COPIES_H_
#define TERN_TIR_TRANSFORM_THREADS_ASYNC_COPIES_H_

#include <vector>

#include "tern/tir/function.h"

namespace tern::tir {

// Whether the code generator of the function's target keeps them.
bool TakesAsyncCopies(const PrimFunc& function);

// A statement whose copies are asynchronous, and the memory that they fill.
struct AsyncCopies {
  Stmt stmt;
  std::vector<Buffer> filled;
};
AsyncCopies MakeCopiesAsync(const Stmt& stmt);

// The copies since the last such statement are a group.
Stmt CommitCopies(const Span& span);
// Waits until no more than `groups` of the thread's are under way, and for the threads of the
// block.
std::vector<Stmt> AwaitCopies(int64_t groups, const Span& span);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_ASYNC_COPIES_H_
