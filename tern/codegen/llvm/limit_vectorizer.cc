// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/limit_vectorizer.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/LoopIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <unordered_map>

namespace tern::codegen {
namespace {

constexpr uint64_t kMostPaths = 1 << 16;
// The vectorizer compares all accesses of a loop with each other.
constexpr size_t kMostAccesses = 512;
// Its plans are walked once for each of their steps.
constexpr size_t kMostInstructions = 5000;

bool IsTooLarge(const llvm::Loop& loop) {
  size_t accesses = 0, instructions = 0;
  for (const llvm::BasicBlock* block : loop.blocks())
    for (const llvm::Instruction& instruction : *block) {
      ++instructions;
      accesses += instruction.mayReadOrWriteMemory();
    }
  return accesses > kMostAccesses || instructions > kMostInstructions;
}

// Whether some value that is the same in all iterations has more paths to it than that.
bool HasTooManyPaths(const llvm::Loop& loop, const llvm::LoopInfo& info) {
  // Paths to what the loop computes and does not vary; 0 for what varies.
  std::unordered_map<const llvm::Value*, uint64_t> paths;
  llvm::LoopBlocksRPO blocks(const_cast<llvm::Loop*>(&loop));
  blocks.perform(&info);
  for (const llvm::BasicBlock* block : blocks)
    for (const llvm::Instruction& instruction : *block) {
      uint64_t count = llvm::isa<llvm::PHINode>(instruction) ? 0 : 1;
      for (const llvm::Value* operand : instruction.operands()) {
        auto it = paths.find(operand);
        if (it == paths.end()) continue;  // from outside of the loop
        count = count == 0 || it->second == 0 ? 0 : count + it->second;
      }
      if (count > kMostPaths) return true;
      paths[&instruction] = count;
    }
  return false;
}

}  // namespace

llvm::PreservedAnalyses LimitVectorizer::run(llvm::Function& function,
                                             llvm::FunctionAnalysisManager& analyses) {
  const llvm::LoopInfo& info = analyses.getResult<llvm::LoopAnalysis>(function);
  for (llvm::Loop* loop : info.getLoopsInPreorder())
    if (IsTooLarge(*loop) || HasTooManyPaths(*loop, info))
      llvm::addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
  return llvm::PreservedAnalyses::all();
}

}  // namespace tern::codegen
