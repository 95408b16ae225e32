// SPDX-License-Identifier: Apache-2.0
//
// GEMM of low precision (int8, int16, bfloat16, float16) on hosts, by dot-product instructions:
// VNNI, AMX, sdot, mmla.
//
//   A_rows = A, K-contiguous                  where A is M-contiguous
//   B_packed = K-interleaved panels of B      prepacked where B is constant; or below, for a block
//   for ib, jb, in parallel                   block_m x block_n; jb outside where B is packed in it
//     for io, jo, tiles of a block
//       acc[tile_m, tile_n] = 0               vector or tile registers
//       for lo, K of an instruction
//         acc += A * B_packed                 tile_m * tile_n instructions
//       C = epilogue(acc)
//
// Cycles: those of packed_matmul, in instructions. M, N and K are padded with zeros to whole tiles,
// B while it is packed, an M-contiguous A while it is transposed. Of several M axes the outer ones
// are a batch. Declines types without instructions, floats without `reassociate`, fewer than 4 rows
// of a B that is not constant, and padding that is more than 4 times the work.
#ifndef TERN_SCHEDULE_RULES_DOT_MATMUL_H_
#define TERN_SCHEDULE_RULES_DOT_MATMUL_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tern/schedule/rules/target_info.h"
#include "tern/schedule/schedule.h"

namespace tern::schedule {

// Operands and accumulators of one instruction.
struct DotTypes {
  DataType left, right, sum;
  std::string name;  // in the names of its tensor intrinsics
  std::function<bool(const TargetInfo&)> fits;
  // The type that A and B are converted to when they are packed, if not theirs.
  std::optional<DataType> wide = {};
};

// So many instructions beside each other.
struct DotTile {
  int64_t rows = 0, columns = 0;
};

// An instruction adds to `rows` x `columns` accumulators, over as much K as `step_bytes` of an
// operand are. Of packed B, word_bytes along K are contiguous for each column; what is more of a
// step follows behind all columns.
//
// For each of the types T there are tensor intrinsics:
//   PREFIX_T          acc += A * B; A as it is in memory
// or, where there are tiles of R x C instructions, for the whole tile, since the compiler would
// load operands again for each instruction:
//   PREFIX_T_RxC, PREFIX_fill_T_RxC, PREFIX_store_T_RxC    acc = 0; memory = acc
// and for packing W elements of K of N columns:
//   interleave_TYPE_WxN, or interleave_TYPE_WIDE_WxN
struct DotInstructions {
  std::string rule, description;  // of the rule
  int priority = 0;
  std::string prefix;
  std::vector<DotTypes> types;
  int64_t rows = 1, columns = 0, step_bytes = 0, word_bytes = 0;
  // To choose from; none: as the vector registers have room for.
  std::vector<DotTile> tiles;
  double tile_cycles = 16;  // of an instruction on a tile
  // Vectors of A are loaded before they are needed, so that each has a register.
  bool left_in_registers = false;
};

// Registers the rule of such instructions.
void RegisterDotMatmul(const DotInstructions& instructions);
// Their names, in the order in which they are asked.
std::vector<std::string> DotMatmulRules();
// The fields of their plans.
std::vector<std::string> DotPlanFields();
// A GEMM whose batch other blocks will share, by the first of these rules that takes it: its loops,
// those of the batch outermost and serial, with all copies inside, where they can be. The steps
// that are left are done in their order, once loops are shared: later ones do not follow what
// instructions do with addresses. Nothing where no rule takes it.
struct DotMatmulSteps {
  std::function<void()> pack, multiply;
};
std::optional<DotMatmulSteps> PrepareDotMatmul(Schedule* schedule, const BlockRef& block,
                                               const TargetInfo& target);
// Whether one of them is for the target.
bool HasDotMatmul(const target::Target& target);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_DOT_MATMUL_H_
