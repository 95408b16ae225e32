// SPDX-License-Identifier: Apache-2.0
//
// Host rules for generic reductions. None changes the order in which the terms of one output are
// combined: results are bit-identical. Each rule below has its loop sketch.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/host_elementwise.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/operation_count.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/analysis/selection_update.h"
#include "tern/tir/transform/loops/vectorize_loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

bool IsHost(const TargetInfo& target) { return !target.is_device; }
bool IsHostWithVectors(const TargetInfo& target) { return target.is_host_with_vectors(); }

int64_t RequireLanes(const BlockInfo& block, size_t axis, const TargetInfo& target,
                     int64_t registers) {
  int64_t lanes = LanesFor(block, axis, target, registers);
  if (lanes == 0)
    Refuse("fewer than two elements along axis " + block.axes[axis].var.name() +
           " fit in a vector");
  return lanes;
}

// ---- Reductions

// A tile of accumulators: `rows` along the loop named, if any, and vectors along the contiguous
// axis. Without a tail, or with one that is masked, they are a local buffer, in registers; with
// another one they stay in memory, since the code of the tails would be large.
struct Tile {
  LoopRef row_loop;
  int64_t rows = 1, lanes = 1;
  LaneReads reads = {};
  bool masked = false;  // the last vector is
};

// "(d0, d1) -> (d0, d1 // 32, d1 % 32)"
IndexMap InVectors(size_t rank, int64_t lanes) {
  std::string dims, outer, size = std::to_string(lanes);
  for (size_t d = 0; d < rank; ++d) {
    dims += (d ? ", d" : "d") + std::to_string(d);
    if (d + 1 < rank) outer += "d" + std::to_string(d) + ", ";
  }
  std::string last = "d" + std::to_string(rank - 1);
  return IndexMap::Parse("(" + dims + ") -> (" + outer + last + " // " + size + ", " + last +
                         " % " + size + ")");
}

// What a block stores to.
std::vector<Buffer> ResultsOf(const BlockInfo& block) {
  std::vector<Buffer> results;
  for (const BlockAccess& access : block.accesses)
    if (access.store && std::none_of(results.begin(), results.end(),
                                     [&](const Buffer& one) { return one.same(access.buffer); }))
      results.push_back(access.buffer);
  return results;
}

// Stores copies of several results, of vectors along their last dimension, at the end of the last
// of the outer loops around their block.
void StoreCopies(Schedule* schedule, const BlockRef& block, LoopRefs outer, const CopyRefs& copies,
                 int64_t lanes, TailStrategy tail) {
  for (const CopyRef& copy : copies) {
    LoopRefs loops = NestLoops(*schedule, copy);
    Lanes split = SplitLanes(schedule, copy, loops.back(), lanes, tail);
    loops.pop_back();
    if (!split.outer.empty()) loops.push_back(split.outer);
    if (loops.size() != outer.size())
      Refuse("the results of block " + block.name() + " have other loops");
    for (size_t i = 0; i < outer.size(); ++i)
      schedule->FuseSiblings(outer[i].Of(block), loops[i].Of(copy));
    schedule->Vectorize(split.inner.Of(copy));
    outer = loops;
  }
}

// Accumulators of one iteration of the last of the outer loops are local buffers, stored at its
// end: whole vectors, of which those that are stored may be masked.
void KeepResults(Schedule* schedule, const BlockInfo& block, const LoopRefs& outer, int64_t lanes,
                 bool masked) {
  Try(schedule, [&](Schedule* attempt) {
    std::vector<Buffer> results = ResultsOf(block);
    CopyRefs copies;
    for (const Buffer& result : results)
      copies.insert(copies.begin(), attempt->CacheWrite(block.ref, result, StorageScope::kLocal));
    if (copies.size() > 1) {
      StoreCopies(attempt, block.ref, outer, copies, lanes,
                  masked ? TailStrategy::kMask : TailStrategy::kLoop);
    } else {
      LoopRefs made = attempt->ReverseComputeAt(copies[0], outer.back().Of(block.ref));
      if (!made.empty()) attempt->Vectorize(made.back().Of(copies[0]));
    }
    for (size_t i = 0; masked && i < copies.size(); ++i)
      attempt->TransformLayout(copies[i], InVectors(results[0]->shape.size(), lanes));
  });
}

void ReduceTiles(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                 const Tile& tile, HostPlan* plan) {
  LoopsByKind loops = RequireLoops(*schedule, block);
  if (loops.reduce.empty()) Refuse("no loop runs along the reduction");
  size_t axis = RequireVectorAxis(block, loops, tile.reads);
  const LoopRef& column = block.axes[axis].loop;
  int64_t lanes = tile.lanes;
  int64_t work = WorkOf(*schedule, block.ref);
  LoopRefs outer, inner;
  for (const LoopRef& loop : loops.spatial) {
    if (loop == column) continue;
    if (loop != tile.row_loop) {
      outer.push_back(loop);
      continue;
    }
    Lanes split = SplitLanes(schedule, block.ref, loop, tile.rows);
    if (!split.outer.empty()) outer.push_back(split.outer);
    inner.push_back(split.inner);
  }
  const Expr& extent = block.axes[axis].extent;
  bool masked = tile.masked;
  Lanes split = SplitLanes(schedule, block.ref, column, lanes,
                           masked ? TailStrategy::kMask : VectorTail(extent));
  // Where the whole extent is one vector, results have no loop of their own to be kept in.
  bool has_outer = !split.outer.empty() || !outer.empty();
  if (!split.outer.empty()) outer.push_back(split.outer);
  LoopRefs order = outer;
  order.insert(order.end(), loops.reduce.begin(), loops.reduce.end());
  order.insert(order.end(), inner.begin(), inner.end());
  order.push_back(split.inner);
  schedule->Reorder(order.Of(block.ref));
  if (has_outer && (masked || Divides(lanes, extent)))
    KeepResults(schedule, block, outer, lanes, masked);
  BlockRef init = schedule->DecomposeReduction(block.ref, loops.reduce[0].Of(block.ref));
  schedule->Vectorize(split.inner.Of(block.ref));
  Try(schedule,
      [&](Schedule* attempt) { attempt->Vectorize(LoopAround(*attempt, init, split.inner)); });
  for (const LoopRef& loop : inner) schedule->Unroll(loop.Of(block.ref));
  ParallelizeOuter(schedule, block.ref, work, target, plan);
}

// vectorize_outputs: any reduction with a contiguous spatial axis.
//
//   for outer spatial loops, parallel { for j_o {
//     acc[2 * lanes] = init
//     for k { for j_i in 2 * lanes vectorized { acc[j_i] op= ... } }
//   } }
//
// What is read may be a few elements apart, as by windows at strides, and under conditions on j:
// where they hold for all lanes there is a vector, elsewhere there are elements. argmin and argmax
// have accumulators of values and of their indices. The last vector of a dynamic extent, and of any
// of these two, is masked where the target has masks.
//
// Cost: a step of all accumulators is as long as their loads and arithmetic, and no less than the
// latency of an addition.
struct OutputsPlan : HostPlan {
  int64_t vector = 0;  // accumulators: lanes of some registers
  int64_t mask = 0;    // 1: the last vector is masked; 0: the tail is a loop, or there is none

  static const std::vector<PlanField<OutputsPlan>>& Fields() {
    using P = OutputsPlan;
    static const std::vector<PlanField<P>> fields = {
        {"vector", &P::vector}, {"mask", &P::mask}, {"parallel", &P::parallel}};
    return fields;
  }
};

// What lanes may read: windows at strides.
constexpr LaneReads kWindowReads = {4, true};

std::vector<OutputsPlan> OutputsPlans(Schedule* schedule, const BlockInfo& block,
                                      const TargetInfo& target, const Wanted<OutputsPlan>& want) {
  LoopsByKind loops = RequireLoops(*schedule, block);
  if (loops.reduce.empty()) Refuse("no loop runs along the reduction");
  size_t axis = RequireVectorAxis(block, loops, kWindowReads);
  const Expr& extent = block.axes[axis].extent;
  const BlockNode* node = schedule->At(block.ref);
  bool selects = FindSelectionUpdate(node->body).has_value();
  int64_t most = RequireLanes(block, axis, target, 2), columns = 1, others = 1;
  for (size_t a = 0; a < block.axes.size(); ++a)
    (a == axis ? columns : others) *= ir::AsConstInt(block.axes[a].extent).value_or(kUnknownExtent);
  double arithmetic =
      static_cast<double>(CountArithmetic(node)) / static_cast<double>(target.fma_per_cycle);
  std::vector<OutputsPlan> plans;
  for (int64_t lanes = most; lanes >= kMinLanes; lanes /= 2) {
    bool masks =
        target.masked_vectors && (!ir::AsConstInt(extent) || (selects && !Divides(lanes, extent)));
    OutputsPlan plan;
    plan.vector = lanes;
    plan.mask = want.Or(&OutputsPlan::mask, masks ? 1 : 0);
    if (plan.mask < 0 || plan.mask > 1 || (plan.mask && !target.masked_vectors)) continue;
    int64_t registers = CeilDiv(lanes * 4, target.vector_bytes);
    plan.cycles = static_cast<double>(others * CeilDiv(columns, lanes)) *
                  std::max(static_cast<double>(registers) * arithmetic + 1,
                           static_cast<double>(target.fma_latency));
    plans.push_back(plan);
  }
  return plans;
}

void VectorizeColumns(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                      OutputsPlan* plan) {
  ReduceTiles(schedule, block, target, {{}, 1, plan->vector, kWindowReads, plan->mask == 1}, plan);
}

// tiled_matmul: matmul that the packing rules declined.
//
//   for m_o in M / 4, parallel { for n_o in N / tile_n {
//     acc[4, tile_n] = 0
//     for k { for m_i in 4 unrolled { for n_i in tile_n vectorized { acc += A * B } } }
//   } }
//
// tile_n = clamp(vector_registers / 8, 1, 4) vectors: half of the registers are accumulators.
// Cost: M * N * K / tile_m / tile_n steps of tile_m vectors of FMAs. Declines where M is no static
// multiple of 4, or N none of tile_n.
struct TilePlan : HostPlan {
  int64_t tile_m = 4, tile_n = 0;

  static const std::vector<PlanField<TilePlan>>& Fields() {
    using P = TilePlan;
    static const std::vector<PlanField<P>> fields = {
        {"tile_m", &P::tile_m}, {"tile_n", &P::tile_n}, {"parallel", &P::parallel}};
    return fields;
  }
};

LoopRef LoopOfRows(const BlockInfo& block, int64_t tile) {
  for (const BlockAxis& axis : block.axes)
    if (axis.role == AxisRole::kM && Divides(tile, axis.extent)) return axis.loop;
  Refuse("M is no static multiple of " + std::to_string(tile));
}

std::vector<TilePlan> TilePlans(Schedule* schedule, const BlockInfo& block,
                                const TargetInfo& target, const Wanted<TilePlan>& want) {
  TilePlan plan;
  plan.tile_m = std::max<int64_t>(want.Or(&TilePlan::tile_m, plan.tile_m), 1);
  LoopOfRows(block, plan.tile_m);
  // Half of the registers are accumulators.
  int64_t columns = std::clamp<int64_t>(target.vector_registers / 2 / plan.tile_m, 1, 4);
  size_t column = RequireVectorAxis(block, RequireLoops(*schedule, block));
  plan.tile_n = RequireLanes(block, column, target, columns);
  if (!Divides(plan.tile_n, block.axes[column].extent))
    Refuse("N is no static multiple of " + std::to_string(plan.tile_n));
  auto products = static_cast<double>(WorkOf(*schedule, block.ref)) /
                  static_cast<double>(std::max<int64_t>(block.operations, 1));
  std::vector<TilePlan> plans;
  for (; plan.tile_n >= kMinLanes; plan.tile_n /= 2) {
    auto vectors =
        CeilDiv(plan.tile_n * block.accesses[0].buffer->dtype.bytes(), target.vector_bytes);
    plan.cycles = products / static_cast<double>(plan.tile_m * plan.tile_n) *
                  std::max(static_cast<double>(plan.tile_m * vectors) /
                               static_cast<double>(target.fma_per_cycle),
                           static_cast<double>(target.fma_latency));
    plans.push_back(plan);
  }
  return plans;
}

void TileMatmul(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                TilePlan* plan) {
  ReduceTiles(schedule, block, target,
              {LoopOfRows(block, plan->tile_m), plan->tile_m, plan->tile_n}, plan);
}

// ---- Anything

// parallel_loops: any block; the fallback.
//
//   for outer spatial loops, fused and parallel { for the other loops, as written { block } }
//
// Nothing is reordered or vectorized. A block that is opaque, or has too little work, stays serial.
void RunInParallel(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                   ThreadsPlan* plan) {
  if (block.kind != BlockKind::kOpaque)
    ParallelizeOuter(schedule, block.ref, WorkOf(*schedule, block.ref), target, plan);
}

}  // namespace

void RegisterHostRules() {
  RegisterHostMatmulRules();
  RegisterHostReductionRules();
  RegisterHostElementwiseRule();
  RegisterHostTransposeRule();
  RegisterHostSkinnyMatmulRules();
  RegisterHostDotProductRules();
  RegisterHostChannelVectorRule();
  RegisterHostDepthwiseRule();
  RegisterHostImplicitDotRules();
  RegisterHostWindowRules();
  RegisterHostWinogradRules();
  RegisterHostAttentionRules();
  RegisterHostScanRules();
  RegisterHostRowRule();
  RegisterPrivateCopyRules();
  using K = BlockKind;
  RegisterRule({.name = "tiled_matmul",
                .description = "register-tiled GEMM without packing; M and N multiples of the tile",
                .kinds = {K::kMatmul},
                .fits = IsHostWithVectors,
                .priority = 20,
                .planned = Planned<TilePlan>(TilePlans, TileMatmul)});
  RegisterRule({.name = "vectorize_outputs",
                .description = "vectors along contiguous outputs, the reduction loop outside",
                .kinds = {K::kReduction, K::kPooling, K::kMatmul, K::kConvolution},
                .fits = IsHostWithVectors,
                .priority = 10,
                .planned = Planned<OutputsPlan>(OutputsPlans, VectorizeColumns)});
  RegisterRule({.name = "parallel_loops",
                .description = "fallback: outer spatial loops run in parallel",
                .kinds = {},
                .fits = IsHost,
                .priority = 0,
                .planned = Planned<ThreadsPlan>(ThreadsAlone, RunInParallel)});
}

}  // namespace tern::schedule
