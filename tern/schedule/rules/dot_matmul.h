// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices of narrow numbers on hosts, by instructions that add several products to
// each of several wider sums.
#ifndef TERN_SCHEDULE_RULES_DOT_MATMUL_H_
#define TERN_SCHEDULE_RULES_DOT_MATMUL_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tern/schedule/rules/machine_facts.h"

namespace tern::schedule {

// The factors and sums of one instruction.
struct DotTypes {
  DataType left, right, sum;
  std::string name;  // in the names of its tensor intrinsics
  std::function<bool(const MachineFacts&)> fits;
  // What both factors are converted to when they are copied, where the instruction has them not.
  std::optional<DataType> wide = {};
};

// So many instructions beside each other.
struct DotTile {
  int64_t rows = 0, columns = 0;
};

// An instruction adds to `rows` x `columns` sums the products of as many steps as `step_bytes` of a
// factor are. Of the packed right factor, word_bytes along the sum lie side by side for each of its
// columns; what is more of a step is behind all columns.
//
// For each of the types T there are tensor intrinsics, whose sums are a row of numbers:
//   PREFIX_T          sums += left * right; the left factor as it lies in memory
// or, where there are tiles of R x C instructions, for all of the tile at once, since the compiler
// would load factors again for each instruction:
//   PREFIX_T_RxC, PREFIX_fill_T_RxC, PREFIX_store_T_RxC    sums = 0; memory = sums
// and for packing, where W steps of N columns are such a row:
//   interleave_TYPE_WxN, or interleave_TYPE_WIDE_WxN
struct DotInstructions {
  std::string rule, description;  // of the rule
  int priority = 0;
  std::string prefix;
  std::vector<DotTypes> types;
  int64_t rows = 1, columns = 0, step_bytes = 0, word_bytes = 0;
  // To choose from; none: as the vector registers have room for.
  std::vector<DotTile> tiles;
  // Vectors of the left factor are loaded before they are needed, so that each has a register.
  bool left_in_registers = false;
};

// The rule: products of known sizes whose factors are of one of the types. Floats only where the
// function says `reassociate`.
void RegisterDotMatmul(const DotInstructions& instructions);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_DOT_MATMUL_H_
