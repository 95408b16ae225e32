// SPDX-License-Identifier: Apache-2.0
//
// dot4: instructions that add the products of four bytes, unsigned and signed ones, to each lane of
// a vector of int32.
#ifndef TERN_CODEGEN_LLVM_BYTE_DOTS_H_
#define TERN_CODEGEN_LLVM_BYTE_DOTS_H_

#include <llvm/IR/IRBuilder.h>

#include "tern/codegen/llvm/llvm_target.h"

namespace tern::codegen {

// Whether there is one for vectors of so many lanes, or for parts of them.
bool HasByteDots(const LLVMTarget& target, int lanes);
llvm::Value* EmitByteDots(llvm::IRBuilder<>& builder, const LLVMTarget& target, llvm::Value* a,
                          llvm::Value* b, llvm::Value* sum);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_BYTE_DOTS_H_
