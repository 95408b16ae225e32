// SPDX-License-Identifier: Apache-2.0
//
// Tensor cores as tensor intrinsics.
//
// A fragment is memory of a warp, of scope fragment.*: tiles of 16 x 16, [..., 32, 8], of which
// lane l has the slice [..., l, 0..8]. Element (i, j) of a tile is at [i % 8 * 4 + j % 8 // 2, j //
// 8 * 4 + i // 8 * 2 + j % 2] in sums and left operands, and at [j % 8 * 4 + i % 8 // 2, j // 8 * 4
// + i // 8 * 2 + i % 2] in right ones. The operations are a warp's: each contains the loop over the
// 32 lanes, bound to threadIdx.x, so all threads of the warp come to it (docs/tir.md, "Warps").
#ifndef TERN_BACKEND_CUDA_SCHEDULE_TENSOR_INTRINSICS_H_
#define TERN_BACKEND_CUDA_SCHEDULE_TENSOR_INTRINSICS_H_

#include <string>

#include "tern/schedule/rules/warp_matmul.h"

namespace tern::backend::cuda {

// For T in f16 and bf16:
//   mma_load_a_T, mma_load_b_T     a tile of shared memory becomes a fragment
//   mma_load_at_T, mma_load_bt_T   the same, of memory that has the operand's transpose
//   mma_T                          sums += left * right, all of 16 x 16
//   mma_store_T                    sums, rounded, go to memory
// mma_fill and mma_store_f32 are of sums alone.
void RegisterTensorIntrinsics();

// MatrixUnit::layout.
std::string FragmentLayout(schedule::Fragment fragment, bool transposed, bool batch);

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_SCHEDULE_TENSOR_INTRINSICS_H_
