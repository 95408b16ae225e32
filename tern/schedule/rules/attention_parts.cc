// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/attention_parts.h"

#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

std::optional<BlockInfo> DescribeGemm(const Schedule& schedule, const BlockRef& block) {
  return DescribeBatchedGemm(schedule.At(block), DescribeBlock(schedule, block));
}

}  // namespace

Gemm AttentionGemm(const Schedule& schedule, const BlockRef& name, const TargetInfo& target) {
  std::optional<BlockInfo> block = DescribeGemm(schedule, name);
  if (!block) Refuse("block " + name.name() + " is no GEMM in the last two dimensions");
  Gemm gemm = RequireGemm(schedule, *block, Sizes::kDynamic);
  GuessDeviceSizes(&gemm, target);
  // Nests of both GEMMs are fused: their batches are in the order of the result.
  gemm.loops.batch.clear();
  for (size_t axis : block->accesses[0].axes)
    if (block->axes[axis].role == AxisRole::kBatch)
      gemm.loops.batch.push_back(block->axes[axis].loop);
  return gemm;
}

AttentionParts AttentionPartsOf(const Schedule& schedule, const BlockInfo& block) {
  AttentionParts parts;
  parts.last = block.ref;
  for (const BlockRef& member : block.member_refs) {
    if (parts.first.empty() && DescribeGemm(schedule, member))
      parts.first = member;
    else
      parts.between.push_back(member);
  }
  if (parts.first.empty()) Refuse("there is no GEMM before it");
  return parts;
}

RowBlock AttentionRows(const Schedule& schedule, const BlockRef& name, size_t rows) {
  BlockInfo block = DescribeBlock(schedule, name);
  const BlockAccess& store = block.accesses[0];
  RowBlock result;
  result.result = store.buffer;
  std::vector<const BlockAxis*> keys;
  for (size_t i = 0; i < block.axes.size(); ++i) {
    const BlockAxis& axis = block.axes[i];
    if (axis.loop.empty()) Refuse("an axis of block " + name.name() + " has no loop of its own");
    bool is_row = std::find(store.axes.begin(), store.axes.begin() + long(rows), i) !=
                  store.axes.begin() + long(rows);
    if (!is_row) keys.push_back(&axis);
  }
  if (keys.size() != 1) Refuse("block " + name.name() + " is not over the keys of rows");
  for (size_t i = 0; i < rows; ++i) result.rows.push_back(block.axes[store.axes[i]].loop);
  result.keys = keys[0]->loop;
  result.reduces = keys[0]->kind == IterKind::kReduce;
  return result;
}

void CheckAttention(const Schedule& schedule, const Gemm& scores, const Gemm& values,
                    const TargetInfo& target) {
  if (!HasFlag(schedule.function(), attr::kReassociate))
    Refuse("matrix instructions sum in another order, and the function does not say reassociate");
  if (scores.dynamic_k || values.dynamic_n) Refuse("the size of a head is dynamic");
  if (!values.dynamic_m && values.m == 1) Refuse("there is a single query");
  if (!values.dynamic_batch && values.batch > target.most_grid_blocks)
    Refuse("a grid has room for " + std::to_string(target.most_grid_blocks) + " heads, not " +
           std::to_string(values.batch));
}

std::vector<RowBlock> AttentionScheduler::RowBlocks() const {
  std::vector<RowBlock> blocks;
  for (const BlockRef& name : parts_.between)
    blocks.push_back(AttentionRows(schedule_, name, values_.c->shape.size() - 1));
  return blocks;
}

CopyRef AttentionScheduler::CopyToShared(const BlockRef& block, const GemmOperand& operand,
                                         const std::string& name) {
  auto padded = std::find_if(padded_.begin(), padded_.end(),
                             [&](const CopyRef& copy) { return copy.buffer().Is(operand.buffer); });
  CopyRef copy;
  if (padded != padded_.end()) {
    copy = *padded;
    schedule_.SetScope(copy, StorageScope::kShared);
  } else {
    copy = schedule_.CacheRead(block, operand.buffer, StorageScope::kShared, name);
  }
  FusePrologue(&schedule_, copy, Producers::kCheap);
  return copy;
}

void AttentionScheduler::Pad(int64_t tile_m, int64_t tile_n, int64_t head) {
  PadGemm(parts_.first, {tile_m, tile_n, head});
  for (const BlockRef& name : parts_.between) {
    BlockInfo block = DescribeBlock(schedule_, name);
    const BlockAccess& store = block.accesses[0];
    size_t rows = AttentionGemm(schedule_, parts_.last, target_).c->shape.size() - 1;
    std::vector<int64_t> factors(block.axes.size(), 1);
    bool pads = false;
    for (size_t i = 0; i < block.axes.size(); ++i) {
      auto at = std::find(store.axes.begin(), store.axes.end(), i) - store.axes.begin();
      if (at + 1 < static_cast<int64_t>(rows)) continue;
      factors[i] = at + 1 == static_cast<int64_t>(rows) ? tile_m : tile_n;
      pads |= !Divides(factors[i], block.axes[i].extent);
    }
    if (pads) schedule_.PadBlock(name, factors);
  }
  PadGemm(parts_.last, {tile_m, head, tile_n});
  scores_ = AttentionGemm(schedule_, parts_.first, target_);
  values_ = AttentionGemm(schedule_, parts_.last, target_);
}

void AttentionScheduler::PadGemm(const BlockRef& name, const GemmMultiples& multiples) {
  BlockInfo block = *DescribeGemm(schedule_, name);
  std::vector<int64_t> factors;
  bool pads = false;
  for (const BlockAxis& axis : block.axes) {
    factors.push_back(axis.role == AxisRole::kM   ? multiples.m
                      : axis.role == AxisRole::kN ? multiples.n
                      : axis.role == AxisRole::kK ? multiples.k
                                                  : 1);
    pads |= !Divides(factors.back(), axis.extent);
  }
  if (!pads) return;
  PaddedEinsum padded = schedule_.PadEinsum(name, factors);
  padded_.insert(padded_.end(), padded.operands.begin(), padded.operands.end());
  if (padded.result)
    Try(&schedule_, [&](Schedule* attempt) { attempt->ComputeInline(padded.result); });
}

void AttentionScheduler::Order(const BlockRef& block, const LoopRefs& batch,
                               const LoopRefs& loops) {
  LoopRefs all = batch;
  all.insert(all.end(), loops.begin(), loops.end());
  schedule_.Reorder(all.Of(block));
  nests_.push_back({block, batch});
  nests_.back().outer.push_back(loops[0]);
}

void AttentionScheduler::TileRows(const std::vector<RowBlock>& between, int64_t tile_m,
                                  int64_t tile_n) {
  for (size_t i = 0; i < between.size(); ++i) {
    NamedLoops& loops = rows_.emplace_back(parts_.between[i]);
    LoopRefs batch = between[i].rows;
    loops.Split(&schedule_, batch.back(), {tile_m}, {"ib", "ii"});
    loops.Split(&schedule_, between[i].keys, {tile_n}, {"jo", "ji"});
    batch.pop_back();
    Order(parts_.between[i], batch,
          {loops.At("ib"), loops.At("jo"), loops.At("ii"), loops.At("ji")});
  }
}

void AttentionScheduler::FuseNests() {
  for (size_t level = 0; level < nests_[0].outer.size(); ++level)
    for (size_t i = 1; i < nests_.size(); ++i)
      schedule_.FuseSiblings(nests_[i - 1].outer[level].Of(nests_[i - 1].block),
                             nests_[i].outer[level].Of(nests_[i].block));
}

void AttentionScheduler::BindGrid(const LoopRef& ib, int64_t tile_m) {
  LoopRefs batch = values_.loops.batch;
  if (batch.size() > 2) {
    LoopRef outer = FuseLoops(&schedule_, parts_.last, LoopRefs(batch.begin(), batch.end() - 1));
    batch = {outer, batch.back()};
  }
  for (size_t i = 0; i < batch.size(); ++i)
    schedule_.Bind(batch[i].Of(parts_.last), i + 1 == batch.size() ? "blockIdx.y" : "blockIdx.z");
  // One tile of queries needs no index, unless there is no other.
  bool is_one = !values_.dynamic_m && values_.m <= tile_m;
  if (!is_one || batch.empty()) schedule_.Bind(ib, "blockIdx.x");
}

}  // namespace tern::schedule
