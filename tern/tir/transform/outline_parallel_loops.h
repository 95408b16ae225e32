// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_OUTLINE_PARALLEL_LOOPS_H_
#define TERN_TIR_TRANSFORM_OUTLINE_PARALLEL_LOOPS_H_

#include "tern/ir/module.h"

namespace tern::tir {

// Before: packed functions with parallel loops.
// After: an outermost parallel loop is a call of parallel_for, which runs iterations on the threads
// of the environment. Its body is a function of calling convention "parallel", with parameters
// (env, begin, end, captures): a loop over begin..end of its iterations, which reads the variables
// it needs from slots of 8 bytes behind `captures`. Loops inside of it are serial, and so is a loop
// that needs a vector from outside.
ir::IRModule OutlineParallelLoops(const ir::IRModule& module);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_OUTLINE_PARALLEL_LOOPS_H_
