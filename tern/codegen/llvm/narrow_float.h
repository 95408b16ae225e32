// SPDX-License-Identifier: Apache-2.0
//
// Conversions of float16 and bfloat16, kept as integers of 16 bits, in integer arithmetic, of
// scalars and vectors alike. Where a machine has no instruction for them, LLVM calls functions of a
// compiler's runtime library, which generated code has not. All round to nearest, ties to even; the
// results are those of tern/ffi/float16.h.
#ifndef TERN_CODEGEN_LLVM_NARROW_FLOAT_H_
#define TERN_CODEGEN_LLVM_NARROW_FLOAT_H_

#include <llvm/IR/IRBuilder.h>

namespace tern::codegen {

llvm::Value* HalfToFloat(llvm::IRBuilder<>& builder, llvm::Value* half);
llvm::Value* FloatToHalf(llvm::IRBuilder<>& builder, llvm::Value* value);
llvm::Value* BfloatToFloat(llvm::IRBuilder<>& builder, llvm::Value* bfloat);
llvm::Value* FloatToBfloat(llvm::IRBuilder<>& builder, llvm::Value* value);

// A float that rounds to the same float16 and the same bfloat16 as the double does: rounding twice
// would not.
llvm::Value* DoubleToFloatForNarrowing(llvm::IRBuilder<>& builder, llvm::Value* value);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_NARROW_FLOAT_H_
