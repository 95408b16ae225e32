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
  BlockRef first, last;  // the GEMMs
  BlockRefs between;
};
// Refuses where there is no first GEMM.
AttentionParts AttentionPartsOf(const Schedule& schedule, const BlockInfo& block);

// One of the two GEMMs, where heads may share an operand.
Gemm AttentionGemm(const Schedule& schedule, const BlockRef& name, const TargetInfo& target);

// A block between the GEMMs: the loops of its rows, and that along the keys.
struct RowBlock {
  LoopRefs rows;
  LoopRef keys;
  bool reduces = false;
  tir::Buffer result;
};
RowBlock AttentionRows(const Schedule& schedule, const BlockRef& name, size_t rows);

// Refuses what no such rule takes.
void CheckAttention(const Schedule& schedule, const Gemm& scores, const Gemm& values,
                    const TargetInfo& target);

// Of the blocks that roll makes for a reduction of rows.
inline constexpr const char* kRowSuffixes[] = {"_init",   "_before", "_now",
                                               "_change", "_scale",  "_divide"};

// The steps that all such schedules have.
class AttentionScheduler {
 protected:
  AttentionScheduler(Schedule* schedule, const AttentionParts& parts, const TargetInfo& target)
      : schedule_(*schedule), parts_(parts), target_(target) {}

  // Whole tiles of queries, keys and head sizes; the GEMMs of those.
  void Pad(int64_t tile_m, int64_t tile_n, int64_t head);
  std::vector<RowBlock> RowBlocks() const;
  // A copy of an operand in shared memory. What pads an operand copies it, too.
  CopyRef CopyToShared(const BlockRef& block, const GemmOperand& operand, const std::string& name);
  // The loops of a block are put in order, those of the batch first. Blocks of which that is done
  // are then in one nest of batch and tiles of queries, `loops`' first.
  void Order(const BlockRef& block, const LoopRefs& batch, const LoopRefs& loops);
  // Those between the GEMMs as tiles: BLOCK_ib, BLOCK_jo, BLOCK_ii, BLOCK_ji, in `rows_`.
  void TileRows(const std::vector<RowBlock>& between, int64_t tile_m, int64_t tile_n);
  void FuseNests();
  // Of the fused nest; `ib` is its loop over tiles of queries.
  void BindGrid(const LoopRef& ib, int64_t tile_m);

  // What a step made of a block, with a suffix behind its name; none where it made no such.
  BlockRef MadeOf(const BlockRef& block, const std::string& suffix) const {
    return FindBlock(schedule_, block + suffix);
  }

  Schedule& schedule_;
  const AttentionParts& parts_;
  const TargetInfo& target_;
  Gemm scores_, values_;
  std::vector<NamedLoops> rows_;  // of the blocks between

 private:
  void PadGemm(const BlockRef& name, const GemmMultiples& multiples);

  struct Nested {
    BlockRef block;
    LoopRefs outer;  // the batch, tiles of queries
  };
  std::vector<Nested> nests_;
  CopyRefs padded_;  // operands that pad_einsum copies
};

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_ATTENTION_PARTS_H_
