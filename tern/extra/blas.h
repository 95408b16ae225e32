// SPDX-License-Identifier: Apache-2.0
//
// Matrix products by the machine's BLAS, found at the first call.
#ifndef TERN_EXTRA_BLAS_H_
#define TERN_EXTRA_BLAS_H_

#include "tern/ffi/c_abi.h"

namespace tern::extra {

// extra.gemm_float32(A, B, C, n, m, k): C = A * B, with A of n x k, B of k x m, C of n x m elements
// in rows. extra.gemm_float64 likewise.
// extra.gemm_add_float32, of the same arguments: C += A * B.
int GemmFloat32(void*, const TernAny* args, int32_t num_args, TernAny* result);
int GemmFloat64(void*, const TernAny* args, int32_t num_args, TernAny* result);
int GemmAddFloat32(void*, const TernAny* args, int32_t num_args, TernAny* result);

}  // namespace tern::extra

#endif  // TERN_EXTRA_BLAS_H_
