// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices by the operations of warps on tiles. The schedule is one; machines differ in
// what a MatrixUnit says.
#ifndef TERN_SCHEDULE_RULES_WARP_MATMUL_H_
#define TERN_SCHEDULE_RULES_WARP_MATMUL_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tern/schedule/rules/machine_facts.h"

namespace tern::schedule {

enum class Fragment { kSum, kLeft, kRight };

// What a block of threads computes, and how its warps share it.
struct WarpTiles {
  int64_t rows, columns, warp_rows, warp_columns;  // in elements; in warps
};

// How far a block goes at a time.
struct WarpPace {
  int64_t steps;                    // of the sum
  int64_t most_stages, fewest = 1;  // of steps that have memory at once: one is computed with
};

// What multiplies matrices of a type T, summed in float32. Its tensor intrinsics, where P is
// `prefix` and T what `types` calls the type:
//   P_fill                            a tile of sums is 0
//   P_load_a_T, P_load_b_T            a tile of shared memory becomes a left, a right fragment
//   P_load_at_T, P_load_bt_T          the same, of memory that has the operand's transpose
//   P_T                               sums += left * right
//   P_store_f32, P_store_T            sums go to memory, rounded to T
struct MatrixUnit {
  std::string prefix;
  int64_t tile;   // rows, columns and steps of one operation
  int64_t lanes;  // of a warp
  std::vector<std::pair<DataType, std::string>> types;
  // The map of transform_layout that makes a fragment of a matrix, or of its transpose; with
  // `batch`, of each of several.
  std::string (*layout)(Fragment fragment, bool transposed, bool batch);
  int64_t copy_lanes;  // that a thread takes to shared memory at once, at most; and up to 16 bytes
  bool stores_rounded = true;    // whether there is P_store_T
  std::vector<WarpTiles> tiles;  // to choose from, the best first
  std::vector<WarpPace> paces;
};

// A rule of that name for products whose sizes are known multiples of the tiles, in functions that
// say `reassociate`. Operands go to shared memory, by asynchronous copies where there are several
// stages.
void RegisterWarpMatmul(const std::string& name, const std::string& description,
                        std::function<bool(const MachineFacts&)> fits, MatrixUnit unit);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_WARP_MATMUL_H_
