// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_CODEGEN_LLVM_SKIP_SLOW_PASSES_H_
#define TERN_CODEGEN_LLVM_SKIP_SLOW_PASSES_H_

namespace llvm {
class PassInstrumentationCallbacks;
}

namespace tern::codegen {

// Some of LLVM's passes compare all accesses of a loop, or all loops of a function, with each
// other. They are left out of functions so large that this would take more than a second or two,
// and where code is in vectors already; the others take time in proportion to the code.
void SkipSlowPasses(llvm::PassInstrumentationCallbacks* callbacks);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_SKIP_SLOW_PASSES_H_
