// SPDX-License-Identifier: Apache-2.0
//
// The lines of the program for debuggers and profilers (DWARF). Names of files are as the spans
// have them, relative to wherever the debugger runs.
#ifndef TERN_CODEGEN_LLVM_DEBUG_INFO_H_
#define TERN_CODEGEN_LLVM_DEBUG_INFO_H_

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>

#include <memory>

#include "tern/ir/span.h"

namespace tern::codegen {

class DebugInfo {
 public:
  // Outlived by the module.
  explicit DebugInfo(llvm::Module* module);

  // What follows is code of `function`, whose definition starts at `span`.
  void EnterFunction(llvm::Function* function, const ir::Span& span, llvm::IRBuilder<>* builder);
  // What follows comes from `span`; where it is nowhere, from where the code before it came.
  void SetLocation(const ir::Span& span, llvm::IRBuilder<>* builder);
  void Finish() { builder_.finalize(); }

 private:
  llvm::DIFile* FileOf(const ir::Span& span);

  llvm::DIBuilder builder_;
  llvm::DICompileUnit* unit_ = nullptr;
  llvm::DISubprogram* function_ = nullptr;
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_DEBUG_INFO_H_
