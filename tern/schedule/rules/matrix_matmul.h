// SPDX-License-Identifier: Apache-2.0
//
// GEMM on matrix instructions of warps: tensor cores, matrix cores, SIMD-group matrices.
//
//   for batch, ib, jb                        blockIdx.z, .y, .x: tile_m x tile_n of C
//     for lo, blocks of tile_k, pipelined in `stages`
//       A_shared, B_shared = copies          asynchronous where the target has such copies
//       for iw, jw                           warps_m x warps_n: threadIdx.z, .y
//         for lk, it, jt                     fragments of 16 x 16 x 16
//           acc += A_fragment * B_fragment
//     C = epilogue(acc)                      through shared memory, where it does more than round
//
// What is around the multiplication is in device_gemm.h. Cycles of a tile: instructions * (1 +
// fragments loaded for each), or its copies. Declines without `reassociate`, and other types.
#ifndef TERN_SCHEDULE_RULES_MATRIX_MATMUL_H_
#define TERN_SCHEDULE_RULES_MATRIX_MATMUL_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tern/schedule/rules/target_info.h"

namespace tern::schedule {

// What a fragment has: memory of a warp, of scope fragment.*, one of whose indices is the lane.
enum class Fragment { kAccumulator, kA, kB };

// What a block of threads computes, and how its warps share it.
struct MatrixTiles {
  int64_t rows, columns, warp_rows, warp_columns;  // in elements; in warps
};

struct MatrixInstructions {
  std::string rule, description;  // of the rule
  // Of the rule for attention (matrix_attention.cc); "": there is none, for want of
  //   PREFIX_scale, PREFIX_divide          acc = acc * S[i], acc = acc / S[i], S a number for a row
  std::string attention = {};
  // For each of the types T there are the tensor intrinsics
  //   PREFIX_load_a_T, PREFIX_load_b_T     a tile of shared memory becomes a fragment
  //   PREFIX_load_at_T, PREFIX_load_bt_T   the same, of memory that has the operand's transpose
  //   PREFIX_T                             acc += A * B
  //   PREFIX_store_T                       memory = rounded acc
  // PREFIX_fill and PREFIX_store_f32 are of accumulators alone. Each contains the loop over the
  // lanes.
  std::string prefix;
  // Of the rule for weights that are unpacked in registers (packed_matmul.cc), and the prefix of
  //   PACKED_fill, PACKED_T                acc += B * A, 16 columns by 8 rows, 32 of K, 8 a lane
  // "": there are none.
  std::string packed_rule = {}, packed = {};
  int64_t lanes = 0;
  // Threads copy to shared memory without waiting for it.
  bool async_copies = false;
  // The map of transform_layout, "(i, j) -> (...)", that makes a fragment of a matrix, or of its
  // transpose.
  std::string (*layout)(Fragment fragment, bool transposed) = nullptr;
  // Whether the machine has all of this.
  std::function<bool(const TargetInfo&)> fits;

  int64_t tile = 16;  // rows, columns and steps of an instruction
  std::vector<std::pair<DataType, std::string>> types = {{DataType::Float(16), "f16"},
                                                         {DataType::Bfloat16(), "bf16"}};
  // Whether there is PREFIX_store_T, for an epilogue that rounds.
  bool stores_rounded = true;
  int64_t copy_lanes = 8;  // elements that a thread copies at once, of up to 16 bytes in all
  // To choose from, the largest first.
  std::vector<MatrixTiles> tiles = {
      {128, 128, 2, 2}, {128, 64, 2, 2}, {64, 128, 2, 2}, {64, 64, 2, 2},  {32, 64, 1, 4},
      {16, 128, 1, 4},  {16, 64, 1, 4},  {16, 32, 1, 2},  {128, 16, 4, 1}, {64, 16, 4, 1}};
};

// Registers the rules of such instructions.
void RegisterMatrixMatmul(const MatrixInstructions& instructions);
void RegisterMatrixAttention(const MatrixInstructions& instructions);  // by the other one
void RegisterPackedMatmul(const MatrixInstructions& instructions);     // too

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_MATRIX_MATMUL_H_
