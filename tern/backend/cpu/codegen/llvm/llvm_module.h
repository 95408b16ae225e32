// SPDX-License-Identifier: Apache-2.0
//
// Host code made by LLVM: runs here through the JIT, or becomes a shared object for its own
// machine.
#ifndef TERN_BACKEND_CPU_CODEGEN_LLVM_LLVM_MODULE_H_
#define TERN_BACKEND_CPU_CODEGEN_LLVM_LLVM_MODULE_H_

#include <string>

#include "tern/ffi/module.h"
#include "tern/ir/module.h"
#include "tern/target/target.h"

namespace tern::backend::cpu {

// `target.build.llvm`: a codegen::LinkableModule of kind "llvm" with the packed functions of
// `functions`.
ffi::Module BuildLLVM(const ir::IRModule& functions, const target::Target& target);

// `target.cache_key.llvm` (tern/codegen/compiled_function.h).
std::string LLVMCacheKey(const target::Target& target);

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_LLVM_LLVM_MODULE_H_
