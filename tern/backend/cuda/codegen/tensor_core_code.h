// SPDX-License-Identifier: Apache-2.0
//
// The instructions of tensor cores and asynchronous copies, as functions of CUDA C++. Each contains
// one `asm volatile` of one instruction.
#ifndef TERN_BACKEND_CUDA_CODEGEN_TENSOR_CORE_CODE_H_
#define TERN_BACKEND_CUDA_CODEGEN_TENSOR_CORE_CODE_H_

#include <string>

#include "tern/ir/expr.h"
#include "tern/tir/group_intrinsics.h"

namespace tern::backend::cuda {

struct Helper {
  std::string name, definition;
};

// (to, row): four registers of the thread at `to`, from the row at `row` in shared memory.
Helper LoadMatrixHelper(bool transposed);
// (to, c, a, b): of registers of the thread. The operands are float16 or bfloat16.
Helper MultiplyHelper(DataType operand);
// Four warps. (c, a, b): of registers of the thread and two operands in shared memory, swizzled, of
// which b has so many columns; a may be in registers. `layout`: as that of
// warp_matrix_multiply_group. It is a group.
Helper GroupMultiplyHelper(const tir::GroupType& type, const std::string& layout, int columns);
// (index) -> where the element of so many bytes is: rows of 128 bytes have their groups of 16 in
// another order in each of 8 rows, so that neither rows nor columns of groups meet in one bank.
Helper SwizzleHelper(int bytes);
// (): waits until at most so many groups of multiplications are under way.
Helper MatrixWaitHelper(int64_t groups);
// (): what the thread wrote to shared memory is seen by such multiplications, behind a barrier.
Helper MatrixFenceHelper();
// Of operands in shared memory, in bytes: the swizzle is of addresses.
inline constexpr int64_t kGroupOperandAlignment = 1024;

// (to, from): so many bytes from global to shared memory, 4, 8 or 16.
Helper AsyncCopyHelper(int bytes);
// (to, from, there): the same, or zeros; what is not there is not read.
Helper AsyncCopyOrZeroHelper(int bytes);
Helper AsyncCommitHelper();
// (): waits until at most `groups` are under way.
Helper AsyncWaitHelper(int64_t groups);

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_CODEGEN_TENSOR_CORE_CODE_H_
