// SPDX-License-Identifier: Apache-2.0
//
// The thread loops of a kernel, and what its threads must do together.
#ifndef TERN_TIR_ANALYSIS_KERNEL_SHAPE_H_
#define TERN_TIR_ANALYSIS_KERNEL_SHAPE_H_

#include <array>
#include <string>
#include <unordered_set>
#include <vector>

#include "tern/tir/stmt.h"

namespace tern::tir {

// threadIdx.x, .y, .z, then blockIdx.x, .y, .z
inline constexpr int kNumThreadAxes = 6, kNumThreadAxesOfBlock = 3;
int ThreadAxisNumber(const std::string& axis);
const char* ThreadAxisName(int axis);

// A thread's place in its launch, by axis.
using ThreadIndex = std::array<int64_t, kNumThreadAxes>;

// An outermost thread loop is a kernel: each thread runs all of it, and the thread loops in it say
// where the thread finds its index.
struct KernelShape {
  std::vector<const ForNode*> loops;
  // Statements that contain a barrier or an allocation of shared memory.
  std::unordered_set<const StmtNode*> collective;
};

// Throws ValueError where a thread loop does not start at 0 or its extent depends on what the
// kernel computes.
KernelShape FindKernelShape(const ForNode* outermost);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_KERNEL_SHAPE_H_
