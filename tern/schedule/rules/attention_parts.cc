// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/attention_parts.h"

#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/row_chains.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

int64_t SizeOf(const BlockAxis& axis, int64_t likely, bool* dynamic) {
  std::optional<int64_t> extent = ir::AsConstInt(axis.extent);
  *dynamic |= !extent;
  return extent ? *extent : likely;
}

}  // namespace

Gemm AttentionProduct(const Schedule& schedule, const std::string& name, const TargetInfo& target) {
  const BlockNode* node = FindBlockNamed(schedule, name);
  BlockInfo block = DescribeBlock(node);
  std::optional<RowProduct> product = MatchRowProduct(node, block);
  if (!product) Refuse("block " + name + " is no GEMM in the last two dimensions");
  for (const BlockAxis& axis : block.axes)
    if (axis.loop.empty()) Refuse("an axis of block " + name + " has no loop of its own");
  Gemm gemm;
  for (size_t axis : product->batch) {
    gemm.loops.batch.push_back(block.axes[axis].loop);
    gemm.batch *= SizeOf(block.axes[axis], target.likely_batch, &gemm.dynamic_batch);
  }
  const BlockAxis &m = block.axes[product->m], &n = block.axes[product->n],
                  &k = block.axes[product->k];
  gemm.loops.m = m.loop;
  gemm.loops.n = n.loop;
  gemm.loops.k = k.loop;
  gemm.m = SizeOf(m, target.likely_m, &gemm.dynamic_m);
  gemm.n = SizeOf(n, target.likely_n, &gemm.dynamic_n);
  gemm.k = SizeOf(k, target.likely_k, &gemm.dynamic_k);
  auto operand = [&](const BlockAccess& access, const BlockAxis& own, bool is_a) {
    size_t rank = access.indices.size();
    bool own_last = access.indices.back().same(own.var);
    return GemmOperand{access.buffer->name,       access.buffer->dtype,      rank,
                       rank - (own_last ? 1 : 2), rank - (own_last ? 2 : 1), is_a};
  };
  gemm.a = operand(*product->a, m, true);
  gemm.b = operand(*product->b, n, false);
  gemm.c = block.accesses[0].buffer;
  gemm.c_m_dim = gemm.c->shape.size() - 2;
  gemm.epilogue = FindEpilogue(schedule, name, gemm.c);
  return gemm;
}

AttentionParts AttentionPartsOf(const Schedule& schedule, const BlockInfo& block) {
  AttentionParts parts;
  parts.last = block.name;
  for (const std::string& member : block.members) {
    const BlockNode* node = FindBlockNamed(schedule, member);
    if (parts.first.empty() && MatchRowProduct(node, DescribeBlock(node)))
      parts.first = member;
    else
      parts.between.push_back(member);
  }
  if (parts.first.empty()) Refuse("there is no GEMM before it");
  return parts;
}

RowBlock AttentionRows(const Schedule& schedule, const std::string& name, size_t rows) {
  BlockInfo block = DescribeBlock(FindBlockNamed(schedule, name));
  const BlockAccess& store = block.accesses[0];
  RowBlock result;
  result.result = store.buffer;
  std::vector<const BlockAxis*> keys;
  for (size_t i = 0; i < block.axes.size(); ++i) {
    const BlockAxis& axis = block.axes[i];
    if (axis.loop.empty()) Refuse("an axis of block " + name + " has no loop of its own");
    bool is_row = std::find(store.axes.begin(), store.axes.begin() + long(rows), i) !=
                  store.axes.begin() + long(rows);
    if (!is_row) keys.push_back(&axis);
  }
  if (keys.size() != 1) Refuse("block " + name + " is not over the keys of rows");
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
  for (const std::string& name : parts_.between)
    blocks.push_back(AttentionRows(schedule_, name, values_.c->shape.size() - 1));
  return blocks;
}

std::string AttentionScheduler::CopyToShared(const std::string& block, const GemmOperand& operand,
                                             const std::string& name) {
  std::string copy = operand.name;
  if (Contains(padded_, copy))
    schedule_.SetScope(copy, StorageScope::kShared);
  else
    copy = schedule_.CacheRead(block, copy, StorageScope::kShared, name);
  FusePrologue(&schedule_, copy, Producers::kCheap);
  return copy;
}

void AttentionScheduler::Pad(int64_t tile_m, int64_t tile_n, int64_t head) {
  PadProduct(parts_.first, {tile_m, tile_n, head});
  for (const std::string& name : parts_.between) {
    BlockInfo block = DescribeBlock(FindBlockNamed(schedule_, name));
    const BlockAccess& store = block.accesses[0];
    size_t rows = AttentionProduct(schedule_, parts_.last, target_).c->shape.size() - 1;
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
  PadProduct(parts_.last, {tile_m, head, tile_n});
  scores_ = AttentionProduct(schedule_, parts_.first, target_);
  values_ = AttentionProduct(schedule_, parts_.last, target_);
}

void AttentionScheduler::PadProduct(const std::string& name, const GemmMultiples& multiples) {
  const BlockNode* node = FindBlockNamed(schedule_, name);
  BlockInfo block = DescribeBlock(node);
  RowProduct product = *MatchRowProduct(node, block);
  std::vector<int64_t> factors(block.axes.size(), 1);
  factors[product.m] = multiples.m;
  factors[product.n] = multiples.n;
  factors[product.k] = multiples.k;
  bool pads = false;
  for (size_t i = 0; i < factors.size(); ++i) pads |= !Divides(factors[i], block.axes[i].extent);
  if (!pads) return;
  std::string result = block.accesses[0].buffer->name;
  schedule_.PadEinsum(name, factors);
  for (const BlockAccess* operand : {product.a, product.b})
    if (std::string copy = operand->buffer->name + "_pad"; Exists(copy)) padded_.push_back(copy);
  Try(&schedule_, [&](Schedule* attempt) { attempt->ComputeInline(result + "_pad"); });
}

void AttentionScheduler::Order(const std::string& block, const Names& batch, const Names& loops) {
  Names all = batch;
  all.insert(all.end(), loops.begin(), loops.end());
  schedule_.Reorder(Around(block, all));
  nests_.push_back({block, batch});
  nests_.back().outer.push_back(loops[0]);
}

void AttentionScheduler::TileRows(const std::vector<RowBlock>& between, int64_t tile_m,
                                  int64_t tile_n) {
  for (size_t i = 0; i < between.size(); ++i) {
    const std::string& block = parts_.between[i];
    Names batch = between[i].rows, own;
    for (const char* one : {"_ib", "_ii", "_jo", "_ji"}) own.push_back(block + one);
    schedule_.Split(LoopOf(block, batch.back()), {tile_m}, {own[0], own[1]});
    schedule_.Split(LoopOf(block, between[i].keys), {tile_n}, {own[2], own[3]});
    batch.pop_back();
    Order(block, batch, {own[0], own[2], own[1], own[3]});
  }
}

void AttentionScheduler::FuseNests() {
  for (size_t level = 0; level < nests_[0].outer.size(); ++level)
    for (size_t i = 1; i < nests_.size(); ++i)
      schedule_.FuseSiblings(LoopOf(nests_[i - 1].block, nests_[i - 1].outer[level]),
                             LoopOf(nests_[i].block, nests_[i].outer[level]));
}

void AttentionScheduler::BindGrid(const std::string& ib, int64_t tile_m) {
  Names batch = values_.loops.batch;
  if (batch.size() > 2) {
    std::string outer = FuseLoops(&schedule_, parts_.last, {batch.begin(), batch.end() - 1});
    batch = {outer, batch.back()};
  }
  for (size_t i = 0; i < batch.size(); ++i)
    schedule_.Bind(LoopOf(parts_.last, batch[i]),
                   i + 1 == batch.size() ? "blockIdx.y" : "blockIdx.z");
  // One tile of queries needs no index, unless there is no other.
  bool is_one = !values_.dynamic_m && values_.m <= tile_m;
  if (!is_one || batch.empty()) schedule_.Bind(ib, "blockIdx.x");
}

}  // namespace tern::schedule
