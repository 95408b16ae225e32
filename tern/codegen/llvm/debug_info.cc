// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/debug_info.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Module.h>

namespace tern::codegen {

DebugInfo::DebugInfo(llvm::Module* module) : builder_(*module) {
  module->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module->addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
}

llvm::DIFile* DebugInfo::FileOf(const ir::Span& span) {
  return builder_.createFile(span ? span.source->name : "<unknown>", ".");
}

void DebugInfo::EnterFunction(llvm::Function* function, const ir::Span& span,
                              llvm::IRBuilder<>* builder) {
  llvm::DIFile* file = FileOf(span);
  if (!unit_)
    unit_ = builder_.createCompileUnit(llvm::dwarf::DW_LANG_C99, file, "Tern",
                                       /*isOptimized=*/true, "", 0);
  auto line = static_cast<unsigned>(span.line);
  function_ = builder_.createFunction(
      file, function->getName(), function->getName(), file, line,
      builder_.createSubroutineType(builder_.getOrCreateTypeArray({})), line,
      llvm::DINode::FlagPrototyped,
      llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  function->setSubprogram(function_);
  // A location of the function before is none of this one.
  builder->SetCurrentDebugLocation(llvm::DebugLoc());
  SetLocation(span, builder);
}

void DebugInfo::SetLocation(const ir::Span& span, llvm::IRBuilder<>* builder) {
  if (!span && builder->getCurrentDebugLocation()) return;
  builder->SetCurrentDebugLocation(
      llvm::DILocation::get(builder->getContext(), static_cast<unsigned>(span.line),
                            static_cast<unsigned>(span.column), function_));
}

}  // namespace tern::codegen
