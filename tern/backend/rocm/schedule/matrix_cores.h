// SPDX-License-Identifier: Apache-2.0
//
// Matrix cores as tensor intrinsics: MFMA, of waves of 64 lanes, and WMMA, of waves of 32.
//
// A fragment has tiles of 16 x 16, [..., L, n], of which lane l of L has the slice [..., l, 0..n],
// n = 256 / L. Element (i, k) of a left operand is at [k // n * 16 + i, k % n], (k, j) of a right
// one at [k // n * 16 + j, k % n], and (i, j) of sums at [i // n * 16 + j, i % n].
#ifndef TERN_BACKEND_ROCM_SCHEDULE_MATRIX_CORES_H_
#define TERN_BACKEND_ROCM_SCHEDULE_MATRIX_CORES_H_

namespace tern::backend::rocm {

// mfma_* and wmma_* of schedule::MatrixInstructions, and the rules `mfma_matmul` and `wmma_matmul`.
void RegisterMatrixCores();

}  // namespace tern::backend::rocm

#endif  // TERN_BACKEND_ROCM_SCHEDULE_MATRIX_CORES_H_
