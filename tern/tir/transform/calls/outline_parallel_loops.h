// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_CALLS_OUTLINE_PARALLEL_LOOPS_H_
#define TERN_TIR_TRANSFORM_CALLS_OUTLINE_PARALLEL_LOOPS_H_

#include "tern/ir/module.h"

namespace tern::tir {

// Outlines the bodies of outermost parallel loops for the thread pool.
//
// Before:  for i in 0..n parallel { S(i) }
// After:   parallel_for(env, "f_parallel", n, captures...)
//          func f_parallel(env, begin, end, captures) { for i in begin..end { S(i) } }
//
// The body has calling convention "parallel", and reads its captures from slots of 8 bytes. Inner
// parallel loops become serial, and so does a loop that captures a vector. Runs on packed
// functions.
//
// A loop of a dynamic size that may be shorter than the start of threads takes
// (operation_estimate.h) is one piece then, of `step` iterations:
//
//   parallel_for(env, "f_parallel", select(n * 20 < 32768, 1, n), captures..., select(..., n, 1))
//   func f_parallel(env, begin, end, captures) { for i in begin * step..end * step { S(i) } }
ir::IRModule OutlineParallelLoops(const ir::IRModule& module);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_CALLS_OUTLINE_PARALLEL_LOOPS_H_
