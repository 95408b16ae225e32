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

#include "tern/target/target.h"

namespace tern::backend::cuda {

// mma_load_a_f16 and the others of schedule::MatrixInstructions, and its rule `tensor_core_matmul`.
// `has_instructions`: whether a target of the kind has them, and asynchronous copies.
void RegisterTensorCores(bool (*has_instructions)(const target::Target&));

// wgmma_nn_128_f16 and the others of schedule::GroupInstructions, and its rule `warp_group_matmul`.
void RegisterWarpGroups(bool (*has_instructions)(const target::Target&));

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_SCHEDULE_TENSOR_INTRINSICS_H_
