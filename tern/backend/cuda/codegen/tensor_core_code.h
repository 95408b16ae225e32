// SPDX-License-Identifier: Apache-2.0
//
// The instructions of tensor cores and asynchronous copies, as functions of CUDA C++. Each contains
// one `asm volatile` of one instruction.
#ifndef TERN_BACKEND_CUDA_CODEGEN_TENSOR_CORE_CODE_H_
#define TERN_BACKEND_CUDA_CODEGEN_TENSOR_CORE_CODE_H_

#include <string>

#include "tern/ir/expr.h"

namespace tern::backend::cuda {

struct Helper {
  std::string name, definition;
};

// (to, row): four registers of the thread at `to`, from the row at `row` in shared memory.
Helper LoadMatrixHelper(bool transposed);
// (to, c, a, b): of registers of the thread. The operands are float16 or bfloat16.
Helper MultiplyHelper(DataType operand);
// (to, from): so many bytes from global to shared memory, 4, 8 or 16.
Helper AsyncCopyHelper(int bytes);
// (to, from, there): the same, or zeros; what is not there is not read.
Helper AsyncCopyOrZeroHelper(int bytes);
Helper AsyncCommitHelper();
// (): waits until at most `groups` are under way.
Helper AsyncWaitHelper(int64_t groups);

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_CODEGEN_TENSOR_CORE_CODE_H_
