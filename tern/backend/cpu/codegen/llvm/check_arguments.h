// SPDX-License-Identifier: Apache-2.0
//
// The routine that checks arguments (tern/tir/argument_table.h), as LLVM IR for machines whose
// pointers have 8 and 4 bytes.
#ifndef TERN_BACKEND_CPU_CODEGEN_LLVM_CHECK_ARGUMENTS_H_
#define TERN_BACKEND_CPU_CODEGEN_LLVM_CHECK_ARGUMENTS_H_

#include <string_view>

namespace tern::backend::cpu {

extern const std::string_view kCheckArguments64, kCheckArguments32;

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_LLVM_CHECK_ARGUMENTS_H_
