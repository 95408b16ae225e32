// SPDX-License-Identifier: Apache-2.0
//
// Independent parts of a compilation on several threads.
#ifndef TERN_CODEGEN_PARALLEL_FOR_H_
#define TERN_CODEGEN_PARALLEL_FOR_H_

#include <cstddef>
#include <functional>

namespace tern::codegen {

// Calls body(0) to body(count - 1), on as many threads as parallel loops have (TERN_NUM_THREADS),
// and returns when all are done. The current target is that of the caller, the stack a deep one
// (tern/ir/deep_stack.h). All are called, even if
// one throws; the exception of the lowest index is thrown then, so that an error does not depend on
// the number of threads. Calls inside of `body` run on its thread.
//
// The threads are not those of parallel loops: a compilation would keep them from kernels that run
// beside it.
void ParallelFor(size_t count, const std::function<void(size_t)>& body);

// While it lives, `observe` is told how many calls of the body of an outermost loop are done, of
// how many: for tools that show progress. Called on any thread, by one at a time; the newest
// observer counts.
class ProgressObserver {
 public:
  explicit ProgressObserver(std::function<void(size_t done, size_t count)> observe);
  ~ProgressObserver();
  ProgressObserver(const ProgressObserver&) = delete;

 private:
  std::function<void(size_t, size_t)> previous_;
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_PARALLEL_FOR_H_
