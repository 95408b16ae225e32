// SPDX-License-Identifier: Apache-2.0
//
// The operands of operations on matrices: rows in memory.
#ifndef TERN_CODEGEN_MATRIX_OPERANDS_H_
#define TERN_CODEGEN_MATRIX_OPERANDS_H_

#include "tern/arith/analyzer.h"
#include "tern/tir/function.h"

namespace tern::codegen {

class MatrixOperands {
 public:
  // What follows is of this kernel.
  void Begin(const tir::PrimFunc& kernel);
  // The row that the operand is. Throws unless it surely starts at a multiple of its size, or of 16
  // bytes.
  const ir::BufferLoadNode* Row(const ir::Expr& operand) const;

  // Whether a row surely starts at such a multiple of its buffer's start.
  bool IsAligned(const ir::BufferLoadNode* row, int64_t bytes) const;

 private:
  arith::Analyzer known_;  // of the variables of the kernel
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_MATRIX_OPERANDS_H_
