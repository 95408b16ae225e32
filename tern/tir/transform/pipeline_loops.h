// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_PIPELINE_LOOPS_H_
#define TERN_TIR_TRANSFORM_PIPELINE_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Annotations of a serial loop whose body is a row of statements, perhaps under lets and
// allocations.
namespace pipeline {
inline constexpr const char* kStages = "pipeline_stages";  // [int]: a stage for each statement
inline constexpr const char* kOrder = "pipeline_order";    // [int]: its place among those of a step
inline constexpr const char* kAsync = "pipeline_async";    // [0]: copies of stage 0 may be late
inline constexpr const char* kDoubleBuffer = "double_buffer";  // true: the stages are 0, 1, 1, ...
// Every stage is an iteration more that is under way, with its own versions of memory.
inline constexpr int64_t kMaxStage = 63;
}  // namespace pipeline

bool IsPipelined(const ForNode* loop);

// Loops with these annotations become a prologue, a loop and an epilogue in which a statement of
// stage s of iteration i runs at step i + s. Memory that one iteration has to itself exists in as
// many versions as iterations are under way that use it; iteration i uses version i % versions.
// In kernels for targets that keep async_copy, copies of an async stage from global to shared
// memory are such, a group in each step; the first stage that reads them begins with a wait for its
// group, and a barrier. Other annotations of the loop stay. Throws ValueError, at its place, where
// the annotations do not fit the loop or the steps would run two statements in an order that
// changes what they compute.
PrimFunc PipelineLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_PIPELINE_LOOPS_H_
