// SPDX-License-Identifier: Apache-2.0
//
// The instructions of bulk tensor copies (TMA), and of the barrier objects in shared memory that
// they complete on, as functions of CUDA C++.
#ifndef TERN_BACKEND_CUDA_CODEGEN_BULK_COPY_CODE_H_
#define TERN_BACKEND_CUDA_CODEGEN_BULK_COPY_CODE_H_

#include "tern/backend/cuda/codegen/tensor_core_code.h"

namespace tern::backend::cuda {

// The type of a kernel's parameter that describes a tensor.
inline constexpr const char* kTensorMapType = "tern_tensor_map";
Helper TensorMapHelper();

// (to, map, c0, c1, ..., barrier): a box to shared memory, its innermost coordinate first.
Helper BulkCopyHelper(size_t axes);
// (barrier, count)
Helper BarrierInitHelper();
// (barrier, bytes)
Helper BarrierExpectHelper();
// (barrier)
Helper BarrierArriveHelper();
// (barrier, parity)
Helper BarrierWaitHelper();
// (): threads of the warps of a group have so many registers from here on.
Helper RegistersHelper(int64_t registers, bool is_more);

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_CODEGEN_BULK_COPY_CODE_H_
