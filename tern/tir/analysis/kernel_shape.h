// SPDX-License-Identifier: Apache-2.0
//
// The thread loops of a kernel, and what its threads must do together.
#ifndef TERN_TIR_ANALYSIS_KERNEL_SHAPE_H_
#define TERN_TIR_ANALYSIS_KERNEL_SHAPE_H_

#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tern/tir/stmt.h"

namespace tern::tir {

// threadIdx.x, .y, .z, then blockIdx.x, .y, .z
inline constexpr int kNumThreadAxes = 6, kNumThreadAxesOfBlock = 3;
int ThreadAxisNumber(const std::string& axis);
const char* ThreadAxisName(int axis);
// Of virtual threads: the iterations of one thread, interleaved.
inline constexpr std::array kVirtualThreadAxes = {"vthread.x", "vthread.y", "vthread.z"};
bool IsVirtualThreadAxis(const std::string& axis);
bool IsVirtualThread(const ForNode* loop);

// Loops that bind an axis which a loop around them binds already: a thread has one index along it,
// so that such a nest would run its diagonal alone.
std::vector<const ForNode*> FindReboundAxes(const Stmt& stmt);

// A thread's place in its launch, by axis.
using ThreadIndex = std::array<int64_t, kNumThreadAxes>;

// An outermost thread loop is a kernel: each thread runs all of it, and the thread loops in it say
// where the thread finds its index. Loops over virtual threads are no part of that.
struct KernelShape {
  std::vector<const ForNode*> loops;
  // Statements that contain a barrier, a warp operation, a use of a warp's memory, an allocation of
  // memory that threads share, or a reduction along threads.
  std::unordered_set<const StmtNode*> collective;
  bool exchanges = false;  // whether there are warp operations
  // Blocks with a reduction axis along threads of a block, virtual or not.
  struct Reduction {
    std::unordered_set<const VarNode*> written;  // addresses
    bool is_virtual;                             // along no others
  };
  std::unordered_map<const BlockNode*, Reduction> reductions;
};

// Throws ValueError where a thread loop does not start at 0 or its extent depends on what the
// kernel computes.
KernelShape FindKernelShape(const ForNode* outermost);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_KERNEL_SHAPE_H_
