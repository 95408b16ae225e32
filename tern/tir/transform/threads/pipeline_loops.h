// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_THREADS_PIPELINE_LOOPS_H_
#define TERN_TIR_TRANSFORM_THREADS_PIPELINE_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Annotations of a serial loop whose body is a row of statements, perhaps under lets and
// allocations.
namespace pipeline {
inline constexpr const char* kStages = "pipeline_stages";  // [int]: a stage for each statement
inline constexpr const char* kOrder = "pipeline_order";    // [int]: its place among those of a step
inline constexpr const char* kAsync = "pipeline_async";    // [0]: copies of stage 0 may be late
// [int, int, int]: copies are a warp's own role (split_roles.h), so many tiles ahead; so many
// thread blocks are launched, each of which computes one tile after another (0: one block for a
// tile); and so many groups of warps take these in turn (1: all threads compute each).
inline constexpr const char* kRoles = "pipeline_roles";
inline constexpr const char* kDoubleBuffer = "double_buffer";  // true: the stages are 0, 1, 1, ...
// Every stage is an iteration more that is under way, with its own versions of memory.
inline constexpr int64_t kMaxStage = 63;
// A group that takes turns has a share of the registers.
inline constexpr int64_t kMaxTurns = 3;
}  // namespace pipeline

bool IsPipelined(const ForNode* loop);

// Software pipelining of loops with the annotations above.
//
// Before:  for k in 0..n attrs {pipeline_stages = [0, 1]} { load(k)   use(k) }
// After:   load(0)   for k in 0..n - 1 { load(k + 1)   use(k) }   use(n - 1)
//
// A statement of stage s of iteration i runs at step i + s. Memory of one iteration is
// multi-buffered: iteration i uses version i % versions. Where the target keeps async_copy, the
// global-to-shared copies of an async stage are asynchronous, a group per step; the first stage
// that reads them waits for its group, and for the block. Multiplications of groups of warps that
// read such copies are asynchronous, too: each ends with the next step, matrix_wait(1), so its
// operands have a version more. Throws ValueError where the annotations
// do not fit the loop, or two statements would run in an order that changes the result.
//
// Kernels of loops with roles get a second version, for aligned tensors, where the target has bulk
// copies: there the loop stays as it is, with such copies, for split_roles.
PrimFunc PipelineLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_PIPELINE_LOOPS_H_
