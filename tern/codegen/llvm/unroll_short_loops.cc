// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/unroll_short_loops.h"

#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

namespace tern::codegen {

llvm::PreservedAnalyses UnrollShortLoops::run(llvm::Loop& loop, llvm::LoopAnalysisManager&,
                                              llvm::LoopStandardAnalysisResults& results,
                                              llvm::LPMUpdater&) {
  constexpr size_t kMostInstructions = 512;
  size_t iterations = results.SE.getSmallConstantTripCount(&loop), size = 0;
  if (iterations <= 1 || !loop.isInnermost()) return llvm::PreservedAnalyses::all();
  for (const llvm::BasicBlock* block : loop.blocks()) size += block->size();
  if (iterations <= kMostInstructions / size)
    llvm::addStringMetadataToLoop(&loop, "llvm.loop.unroll.full");
  return llvm::PreservedAnalyses::all();
}

}  // namespace tern::codegen
