// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices on instructions of warps that multiply tiles.
#ifndef TERN_SCHEDULE_RULES_MATRIX_MATMUL_H_
#define TERN_SCHEDULE_RULES_MATRIX_MATMUL_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tern/schedule/rules/machine_facts.h"

namespace tern::schedule {

// What a fragment has: memory of a warp, of scope fragment.*, one of whose indices is the lane.
enum class Fragment { kSum, kLeft, kRight };

// What a block of threads computes, and how its warps share it.
struct MatrixTiles {
  int64_t rows, columns, warp_rows, warp_columns;  // in elements; in warps
};

struct MatrixInstructions {
  std::string rule, description;  // of the rule
  // For each of the types T there are the tensor intrinsics
  //   PREFIX_load_a_T, PREFIX_load_b_T     a tile of shared memory becomes a fragment
  //   PREFIX_load_at_T, PREFIX_load_bt_T   the same, of memory that has the operand's transpose
  //   PREFIX_T                             sums += left * right
  //   PREFIX_store_T                       sums, rounded, go to memory
  // PREFIX_fill and PREFIX_store_f32 are of sums alone. Each contains the loop over the lanes.
  std::string prefix;
  int64_t lanes = 0;
  // Threads copy to shared memory without waiting for it.
  bool async_copies = false;
  // The map of transform_layout that makes a fragment of a matrix, or of its transpose; with
  // `batch`, of each of several.
  std::string (*layout)(Fragment fragment, bool transposed, bool batch) = nullptr;
  // Whether the machine has all of this.
  std::function<bool(const MachineFacts&)> fits;

  int64_t tile = 16;  // rows, columns and steps of an instruction
  std::vector<std::pair<DataType, std::string>> types = {{DataType::Float(16), "f16"},
                                                         {DataType::Bfloat16(), "bf16"}};
  // Whether there is PREFIX_store_T. Where not, a block that reads the sums has them from shared
  // memory.
  bool stores_rounded = true;
  int64_t copy_lanes = 8;  // elements that a thread copies at once, of up to 16 bytes in all
  // To choose from, the largest first.
  std::vector<MatrixTiles> tiles = {
      {128, 128, 2, 2}, {128, 64, 2, 2}, {64, 128, 2, 2}, {64, 64, 2, 2}};
};

// The rule: products of matrices of one of the types that are summed in float32 are done by the
// instructions, where sizes are known multiples of the tiles and the function says `reassociate`.
// Operands go through shared memory, several steps ahead where copies are asynchronous.
void RegisterMatrixMatmul(const MatrixInstructions& instructions);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_MATRIX_MATMUL_H_
