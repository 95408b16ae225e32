// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_WRITTEN_MEMORY_H_
#define TERN_TIR_ANALYSIS_WRITTEN_MEMORY_H_

#include <unordered_set>

#include "tern/tir/function.h"

namespace tern::tir {

// Memory that a function changes, by its address variables.
struct WrittenMemory {
  std::unordered_set<const VarNode*> stored;  // by stores, here and in the kernels it launches
  std::unordered_set<const VarNode*> given;   // to others, who may write: what they do is not known
};
WrittenMemory FindWrittenMemory(const ir::IRModule& module, const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_WRITTEN_MEMORY_H_
