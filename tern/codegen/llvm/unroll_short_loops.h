// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_CODEGEN_LLVM_UNROLL_SHORT_LOOPS_H_
#define TERN_CODEGEN_LLVM_UNROLL_SHORT_LOOPS_H_

#include <llvm/Transforms/Scalar/LoopPassManager.h>

namespace tern::codegen {

// Asks LLVM to unroll loops of a known number of iterations wherever the result is still short: a
// GPU's thread has nothing else to do while it waits for memory than its own next iterations.
// LLVM's own limit counts on cores that look ahead.
struct UnrollShortLoops : llvm::PassInfoMixin<UnrollShortLoops> {
  llvm::PreservedAnalyses run(llvm::Loop& loop, llvm::LoopAnalysisManager& analyses,
                              llvm::LoopStandardAnalysisResults& results,
                              llvm::LPMUpdater& updater);
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_UNROLL_SHORT_LOOPS_H_
