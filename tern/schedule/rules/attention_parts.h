// SPDX-License-Identifier: Apache-2.0
//
// What the rules for attention on matrix instructions share: its blocks, padded to whole tiles, as
// one nest of batch, tiles of queries and tiles of keys.
#ifndef TERN_SCHEDULE_RULES_ATTENTION_PARTS_H_
#define TERN_SCHEDULE_RULES_ATTENTION_PARTS_H_

#include <string>
#include <vector>

#include "tern/schedule/rules/device_gemm.h"

namespace tern::schedule {

// The blocks of attention, in their order.
struct AttentionParts {
  std::string first, last;  // the GEMMs
  Schedule::Names between;
};
// Refuses where there is no first GEMM.
AttentionParts AttentionPartsOf(const Schedule& schedule, const BlockInfo& block);

// One of the two GEMMs, where heads may share an operand.
Gemm AttentionGemm(const Schedule& schedule, const std::string& name, const TargetInfo& target);

// A block between the GEMMs: the loops of its rows, and that along the keys.
struct RowBlock {
  Schedule::Names rows;
  std::string keys;
  bool reduces = false;
  tir::Buffer result;
};
RowBlock AttentionRows(const Schedule& schedule, const std::string& name, size_t rows);

// Refuses what no such rule takes.
void CheckAttention(const Schedule& schedule, const Gemm& scores, const Gemm& values,
                    const TargetInfo& target);

// Of the blocks that roll makes for a reduction of rows.
inline constexpr const char* kRowSuffixes[] = {"_init",   "_before", "_now",
                                               "_change", "_scale",  "_divide"};

// The steps that all such schedules have.
class AttentionScheduler {
 protected:
  using Names = Schedule::Names;

  AttentionScheduler(Schedule* schedule, const AttentionParts& parts, const TargetInfo& target)
      : schedule_(*schedule), parts_(parts), target_(target) {}

  // Whole tiles of queries, keys and head sizes; the GEMMs of those.
  void Pad(int64_t tile_m, int64_t tile_n, int64_t head);
  std::vector<RowBlock> RowBlocks() const;
  // A copy of an operand in shared memory. What pads an operand copies it, too.
  std::string CopyToShared(const std::string& block, const GemmOperand& operand,
                           const std::string& name);
  // The loops of a block are put in order, those of the batch first. Blocks of which that is done
  // are then in one nest of batch and tiles of queries, `loops`' first.
  void Order(const std::string& block, const Names& batch, const Names& loops);
  // Those between the GEMMs as tiles: BLOCK_ib, BLOCK_jo, BLOCK_ii, BLOCK_ji.
  void TileRows(const std::vector<RowBlock>& between, int64_t tile_m, int64_t tile_n);
  void FuseNests();
  // Of the fused nest; `ib` is its loop over tiles of queries.
  void BindGrid(const std::string& ib, int64_t tile_m);

  bool Exists(const std::string& block) const {
    return !schedule_.tree().BlocksNamed(block).empty();
  }

  Schedule& schedule_;
  const AttentionParts& parts_;
  const TargetInfo& target_;
  Gemm scores_, values_;

 private:
  void PadGemm(const std::string& name, const GemmMultiples& multiples);

  struct Nested {
    std::string block;
    Names outer;  // the batch, tiles of queries
  };
  std::vector<Nested> nests_;
  Names padded_;  // operands that pad_einsum copies
};

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_ATTENTION_PARTS_H_
