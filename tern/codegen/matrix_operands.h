// SPDX-License-Identifier: Apache-2.0
//
// The operands of operations on matrices: rows in memory.
#ifndef TERN_CODEGEN_MATRIX_OPERANDS_H_
#define TERN_CODEGEN_MATRIX_OPERANDS_H_

#include <optional>

#include "tern/arith/analyzer.h"
#include "tern/ir/mutator.h"
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
  // How many elements one row starts behind another one of its buffer; nothing where that is not
  // known.
  std::optional<int64_t> Distance(const ir::BufferLoadNode* from,
                                  const ir::BufferLoadNode* to) const;

 private:
  arith::Analyzer known_;  // of the variables of the kernel
  ir::VarMap defined_;     // those of integers
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_MATRIX_OPERANDS_H_
