// SPDX-License-Identifier: Apache-2.0
//
// GEMM on matrix instructions of groups of four warps, whose operands are in shared memory.
//
//   for batch, tile                          blockIdx.z, .x: tile_m x tile_n of C, eight rows of
//                                            tiles at a time, column by column, for L2
//     for lo, blocks of 128 bytes of K, pipelined in `stages`
//       A_shared, B_shared = copies          asynchronous; blocks of 64 rows of 128 bytes
//       for ig                               groups of 64 rows: threadIdx.z
//         acc += A_shared * B_shared         64 x tile_n x tile_k; done when the next step ends
//     acc_rows = acc                         exchanged among lanes: each has 8 neighbours of a row
//     C = epilogue(acc_rows)                 by each lane of its own, 16 bytes at once
//
// With roles (split_roles.h), where sizes are constant: copies are bulk copies of a warp of its
// own, which wait for empty tiles as the others wait for full ones; as many thread blocks as there
// are multiprocessors compute one tile of C after another, and copy beside the stores. Or, where
// the epilogue is long beside K, two groups take tiles in turn, and one multiplies beside the
// stores.
//
// Where N is dynamic or no multiple of 8, or not contiguous in the result, lanes store the pairs
// that they have, with conditions.
//
// Operands of 16 bits may lie transposed. Others are read along K alone: one that is not
// K-contiguous is transposed by a kernel of its own before. float32 is multiplied as tf32 where the
// function says allow_tf32.
//
// 3 to 32 rows of 16-bit elements are bound by memory, which reads B. They have swapped operands:
// the transpose of C is the transpose of B times that of A, so that 64 columns are the rows of an
// instruction, and 8, 16 or 32 rows its columns:
//
//   for batch, part, tile                    tile_m of 8, 16 or 32 x tile_n of 64 or 128
//     for lo, blocks of 128 bytes of K       a warp copies, in as many stages as shared memory has
//       for ig                               groups of 64 columns: threadIdx.z
//         acc += B_shared * A_shared         64 x tile_m x tile_k
//     C = epilogue(acc), transposed
//
// always with roles, so A and B are tensors of the function. Of few tiles K may be in parts.
//
// What is around the multiplication is in device_gemm.h. Cycles of a tile: those of the
// instructions, or of its copies, and of its start and its stores, which two thread blocks on a
// multiprocessor hide in part: of a short K. Of few rows
//
//   start + max(bytes of a multiprocessor / 40, all bytes / 2400) + 500 for each of its tiles
//         + a second kernel for parts of K
//
// which must not be more than 4500 + all bytes / 2400 / 0.67, what instructions of single warps
// take.
// Declines floats without `reassociate`, other types, and what else has less than 64 rows, columns
// or steps: matrix_matmul.h has smaller tiles.
#ifndef TERN_SCHEDULE_RULES_GROUP_MATMUL_H_
#define TERN_SCHEDULE_RULES_GROUP_MATMUL_H_

#include <functional>
#include <string>

#include "tern/schedule/rules/target_info.h"

namespace tern::schedule {

struct GroupInstructions {
  std::string rule, description;  // of the rule
  std::string attention;          // the name of that of group_attention.cc
  // For the types T of tir::kGroupTypes, N of 64, 128, 192 and 256 and the layouts of
  // warp_matrix_multiply_group there are the tensor intrinsics PREFIX_LAYOUT_N_T: acc += A * B; of
  // 16-bit types also N of tir::kNarrowColumns.
  // PREFIX_rows_N (PREFIX_rows_N_s32 of int32) makes fragments of SetGroupRowLayout of those of
  // SetGroupFragmentLayout.
  std::string prefix;
  int64_t multiprocessors;  // of the machines that have them
  // Whether the machine has them, and asynchronous copies.
  std::function<bool(const TargetInfo&)> fits;
};

// Registers the rules of such instructions.
void RegisterGroupMatmul(const GroupInstructions& instructions);
void RegisterGroupAttention(const GroupInstructions& instructions);  // by the other one

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_GROUP_MATMUL_H_
