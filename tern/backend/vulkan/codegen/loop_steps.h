// SPDX-License-Identifier: Apache-2.0
//
// How many iterations the loops of an invocation have, all of them together. Some drivers end every
// loop once that is more than a limit of theirs (common/spirv.h), and the results are wrong.
//
// A driver for a CPU runs several invocations as the lanes of vectors. What counts for it is how
// often any lane iterates, and that loops are passed through where no lane does. So what is counted
// here is never less.
#ifndef TERN_BACKEND_VULKAN_CODEGEN_LOOP_STEPS_H_
#define TERN_BACKEND_VULKAN_CODEGEN_LOOP_STEPS_H_

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "tern/tir/function.h"

namespace tern::backend::vulkan {

struct LoopSteps {
  // In all, where every extent is constant.
  std::optional<uint64_t> total;
  // Whether all invocations of a block that are in a loop have the same number of iterations.
  bool is_uniform = true;
  // Loops, those that contain no others, whose bodies are to be written several times in a row, so
  // that the total is no more than spirv::kLoopLimit. Empty where it is not, or would be anyway.
  std::unordered_map<const tir::ForNode*, int64_t> copies;
  // Of a loop of the kernel, by its statement: how many loops it contains, and itself.
  std::unordered_map<const tir::StmtNode*, uint32_t> loops;
  uint32_t num_loops = 0;  // in the kernel
};

LoopSteps CountLoopSteps(const tir::PrimFunc& kernel);

}  // namespace tern::backend::vulkan

#endif  // TERN_BACKEND_VULKAN_CODEGEN_LOOP_STEPS_H_
