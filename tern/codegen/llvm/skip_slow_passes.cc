// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/skip_slow_passes.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PassInstrumentation.h>

#include <algorithm>
#include <memory>

namespace tern::codegen {
namespace {

struct Size {
  size_t instructions = 0, accesses = 0;
  size_t tile = 0;  // vectors that one block loads or stores
};

// These compare all accesses of a loop, or all instructions of a block, with each other.
constexpr Size kLarge = {.instructions = 20000, .accesses = 2000};
constexpr llvm::StringLiteral kNotForLarge[] = {"LoopLoadEliminationPass", "LoopDistributePass",
                                                "SLPVectorizerPass"};
// Code in register tiles. LoopLoadElimination reuses what an iteration stored in the next one:
// recurrences, whose loops are short. SLPVectorizer makes vectors of scalars. Both find nothing in
// tiles, at a tenth of the time that all passes take.
constexpr size_t kTile = 24;
constexpr llvm::StringLiteral kNotForTiles[] = {"LoopLoadEliminationPass", "SLPVectorizerPass"};
// InstCombine is in LLVM 22's pipeline eight times. In tiles these runs find next to nothing: those
// before them have combined what there is, and the passes between change scalar code and loops.
constexpr llvm::StringLiteral kCombine = "InstCombinePass";
constexpr int kFirstIdleCombine = 5, kLastIdleCombine = 7;
// With so many instructions most passes take too long: those that walk all uses of an index for
// each of them, for one. These do not, and remain.
constexpr Size kHuge = {.instructions = 50000, .accesses = 50000};
constexpr llvm::StringLiteral kForHuge[] = {"SROAPass", "EarlyCSEPass", "SimplifyCFGPass",
                                            "ADCEPass"};

// At least that large, where it is huge.
Size SizeOf(const llvm::Function& function) {
  Size size;
  for (const llvm::BasicBlock& block : function) {
    size_t vectors = 0;
    for (const llvm::Instruction& instruction : block) {
      size.accesses += instruction.mayReadOrWriteMemory();
      if (llvm::getLoadStorePointerOperand(&instruction))
        vectors += llvm::getLoadStoreType(&instruction)->isVectorTy();
      if (++size.instructions > kHuge.instructions) return size;
    }
    size.tile = std::max(size.tile, vectors);
  }
  return size;
}

bool Contains(llvm::ArrayRef<llvm::StringLiteral> names, llvm::StringRef name) {
  return llvm::is_contained(names, name);
}

bool Exceeds(const Size& size, const Size& limit) {
  return size.instructions > limit.instructions || size.accesses > limit.accesses;
}

const llvm::Function* FunctionOf(const llvm::Any& ir) {
  if (const auto* function = llvm::any_cast<const llvm::Function*>(&ir)) return *function;
  if (const auto* loop = llvm::any_cast<const llvm::Loop*>(&ir))
    return (*loop)->getHeader()->getParent();
  return nullptr;
}

}  // namespace

void SkipSlowPasses(llvm::PassInstrumentationCallbacks* callbacks) {
  struct State {
    // Of the function at hand: passes of its loops, of which there are many, do not count anew.
    const llvm::Function* last = nullptr;
    Size size;
    llvm::DenseMap<const llvm::Function*, int> combines;
  };
  auto state = std::make_shared<State>();
  callbacks->registerShouldRunOptionalPassCallback([state](llvm::StringRef pass, llvm::Any ir) {
    const llvm::Function* function = FunctionOf(ir);
    if (!function || Contains(kForHuge, pass)) return true;
    bool is_of_loop = llvm::any_cast<const llvm::Loop*>(&ir) != nullptr;
    if (!is_of_loop || state->last != function) {
      state->last = function;
      state->size = SizeOf(*function);
    }
    const Size& size = state->size;
    int combines = pass == kCombine ? ++state->combines[function] : 0;
    bool finds_nothing = Contains(kNotForTiles, pass) ||
                         (combines >= kFirstIdleCombine && combines <= kLastIdleCombine);
    return !Exceeds(size, kHuge) && !(Exceeds(size, kLarge) && Contains(kNotForLarge, pass)) &&
           !(size.tile > kTile && finds_nothing);
  });
}

}  // namespace tern::codegen
