// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_BACKEND_HEXAGON_CODEGEN_LLVM_BUILTINS_H_
#define TERN_BACKEND_HEXAGON_CODEGEN_LLVM_BUILTINS_H_

#include <string_view>

namespace tern::backend::hexagon {

// builtins.ll, what builtins.c is as LLVM IR.
extern const std::string_view kBuiltins;

}  // namespace tern::backend::hexagon

#endif  // TERN_BACKEND_HEXAGON_CODEGEN_LLVM_BUILTINS_H_
