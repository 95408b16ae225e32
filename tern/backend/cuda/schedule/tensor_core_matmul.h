// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_BACKEND_CUDA_SCHEDULE_TENSOR_CORE_MATMUL_H_
#define TERN_BACKEND_CUDA_SCHEDULE_TENSOR_CORE_MATMUL_H_

#include "tern/target/target.h"

namespace tern::backend::cuda {

// The rule `tensor_core_matmul`: products of float16 or bfloat16 matrices that are summed in
// float32 run on tensor cores, where sizes are known multiples of the tiles and the function says
// `reassociate`. Operands go to shared memory by asynchronous copies, several steps ahead.
// `has_instructions`: whether a target of the kind has both.
void RegisterTensorCoreMatmul(bool (*has_instructions)(const target::Target&));

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_SCHEDULE_TENSOR_CORE_MATMUL_H_
