// SPDX-License-Identifier: Apache-2.0
//
// WebAssembly modules of host code. What the runtime is to other machines is here whoever
// instantiates the module: the environment table lies in the module as `__tern_env`, and its
// entries are imports from "tern" of the same names. The module exports its functions, its memory,
// `__heap_base` (where free memory begins) and its table (where parallel_for finds bodies).
#ifndef TERN_BACKEND_CPU_CODEGEN_LLVM_WASM_H_
#define TERN_BACKEND_CPU_CODEGEN_LLVM_WASM_H_

#include <string>
#include <string_view>
#include <vector>

#include "tern/codegen/llvm/llvm_target.h"

namespace tern::backend::cpu {

// Links an object that defines `functions` (TERN_SYMBOL_PREFIX symbols). `section` becomes the
// custom section runtime::kContainerSection; none where it is empty.
std::string LinkWasm(const codegen::LLVMTarget& target, const std::vector<std::string>& objects,
                     const std::vector<std::string>& functions, std::string_view section);

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_LLVM_WASM_H_
