// SPDX-License-Identifier: Apache-2.0
//
// GEMM of up to four rows (GEMV among them) with A and B K-contiguous, as a vector times the rows
// of weights [N, K] is. To pack B would take longer.
//
//   for jo, vectors of N, in parallel
//     for groups of tile_n columns
//       for k, vectors of K
//         partial[m, tile_n, vector] += A[m, k] * B[n, k]      vector registers
//     C[m, jo] = horizontal sums of partial                    transposed in registers, then added
//
// Cycles: FMAs, loads or latency, or B from memory; and the horizontal sums. Declines without
// reassociate, of other types than float32, and of N or K that are no multiples of a vector.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Larger M would not stay in L1 while columns go by.
constexpr int64_t kMostM = 4;
// Columns with accumulators at a time, at most: as many streams of memory are read.
constexpr int64_t kMostN = 8;
// Elements of B that would be packed in a cycle, and cycles of a horizontal sum.
constexpr int64_t kPackedPerCycle = 4, kReduceCycles = 5;

// A vector of sums for each of some rows and columns; those of a vector of columns are turned over
// in registers, so that the lanes of all of them are added up at once.
class DotProducts {
 public:
  DotProducts(Schedule* schedule, const BlockInfo& block, const Gemm& gemm, int64_t lanes,
              int64_t columns)
      : schedule_(*schedule),
        block_(block.ref),
        gemm_(gemm),
        lanes_(lanes),
        columns_(columns),
        loops_(block.ref) {
    const BlockAccess& result = block.accesses[0];
    while (block.axes[result.axes[column_dim_]].role != AxisRole::kN) ++column_dim_;
  }

  void Run() {
    loops_.Split(&schedule_, gemm_.loops.n, {lanes_}, {"jo", "ji"});
    loops_.Split(&schedule_, gemm_.loops.k, {lanes_}, {"lo", "li"});
    const LoopRef &jo = loops_.At("jo"), &ji = loops_.At("ji"), &li = loops_.At("li");
    CopyRef parts = schedule_.Rfactor(li, Name("partial"));
    schedule_.SetScope(parts, StorageScope::kLocal);
    LoopRefs order = gemm_.loops.batch;
    order.insert(order.end(), {jo, gemm_.loops.m, li, ji});
    schedule_.Reorder(order.Of(block_));
    CopyRef sums = schedule_.CacheRead(block_, parts, StorageScope::kLocal, Name("acc")),
            turned = schedule_.CacheRead(block_, sums, StorageScope::kLocal, Name("transposed"));
    for (const CopyRef& block : {turned, sums}) schedule_.ComputeAt(block, jo);
    Copy(sums, parts);
    Add(parts);
    Turn(turned);
    BlockRef init = schedule_.DecomposeReduction(block_, li, Name("init"));
    schedule_.Unroll(li);
    for (const BlockRef& block : {init, block_})
      schedule_.Vectorize(LoopAround(schedule_, block, ji));
  }

 private:
  std::string Name(const std::string& what) const { return block_ + "_" + what; }

  // Elsewhere in memory: lanes, the last dimension, and columns are the last two.
  void PutLast(const BufferRef& buffer, size_t rank, bool columns_last) {
    std::string from, to, column = "d" + std::to_string(column_dim_),
                          lane = "d" + std::to_string(rank - 1);
    for (size_t d = 0; d < rank; ++d) {
      std::string dim = "d" + std::to_string(d);
      from += (d ? ", " : "") + dim;
      if (d + 1 != rank && d != column_dim_) to += dim + ", ";
    }
    to += columns_last ? lane + ", " + column : column + ", " + lane;
    if (to != from)
      schedule_.TransformLayout(buffer, IndexMap::Parse("(" + from + ") -> (" + to + ")"));
  }

  // The sums of some columns are made, then copied.
  void Copy(const CopyRef& sums, const CopyRef& parts) {
    LoopRefs loops = LoopsOfAxes(schedule_, sums);
    auto [groups, columns] =
        schedule_.Split(loops[column_dim_].Of(sums), {columns_}, {Name("sg"), Name("sj")});
    LoopRefs order = {groups};
    for (size_t d = 0; d + 1 < loops.size(); ++d)
      if (d != column_dim_ && loops[d]) order.push_back(loops[d]);
    order.insert(order.end(), {columns, loops.back()});
    schedule_.Reorder(order.Of(sums));
    schedule_.ComputeAt(parts, groups.Of(sums));
    for (size_t i = 1; i + 1 < order.size(); ++i) schedule_.Unroll(order[i].Of(sums));
    schedule_.Vectorize(loops.back().Of(sums));
    PutLast(sums, loops.size(), false);
  }

  // The accumulators stay in registers through the K loop.
  void Add(const CopyRef& parts) {
    LoopRefs loops = LoopsOfAxes(schedule_, parts), inner;
    const LoopRef &lane = loops[loops.size() - 2], &step = loops.back();
    for (size_t a = 0; a + 2 < loops.size(); ++a)
      if (!loops[a].empty()) inner.push_back(loops[a]);
    LoopRefs order = {step};
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(lane);
    schedule_.Reorder(order.Of(parts));
    BlockRef init = schedule_.DecomposeReduction(parts, step.Of(parts));
    for (const BlockRef& block : BlockRefs{init, parts}) {
      for (const LoopRef& loop : inner) schedule_.Unroll(LoopAround(schedule_, block, loop));
      schedule_.Vectorize(LoopAround(schedule_, block, lane));
    }
    PutLast(parts, loops.size() - 1, false);
  }

  void Turn(const CopyRef& turned) {
    LoopRefs loops = LoopsOfAxes(schedule_, turned), order;
    for (size_t d = 0; d + 1 < loops.size(); ++d)
      if (d != column_dim_ && !loops[d].empty()) order.push_back(loops[d]);
    order.insert(order.end(), {loops.back(), loops[column_dim_]});
    schedule_.Reorder(order.Of(turned));
    PutLast(turned, loops.size(), true);
    schedule_.Tensorize(loops.back().Of(turned), "f32_transpose_" + std::to_string(lanes_));
  }

  Schedule& schedule_;
  BlockRef block_;
  const Gemm& gemm_;
  int64_t lanes_, columns_;
  NamedLoops loops_;
  size_t column_dim_ = 0;  // of what is summed in parts, whose last dimension are the lanes
};

struct SkinnyGemmPlan : HostPlan {
  int64_t vector = 0;  // lanes, along K
  int64_t tile_n = 0;  // columns whose accumulators are in registers: as many rows of B are read

  static const std::vector<PlanField<SkinnyGemmPlan>>& Fields() {
    using P = SkinnyGemmPlan;
    static const std::vector<PlanField<P>> fields = {
        {"vector", &P::vector}, {"tile_n", &P::tile_n}, {"parallel", &P::parallel}};
    return fields;
  }
};
using P = SkinnyGemmPlan;

std::vector<P> SkinnyPlans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                           const Wanted<P>&) {
  Gemm gemm = RequireGemm(*schedule, block, Sizes::kStatic);
  int64_t lanes = target.vector_bytes / 4;
  if (gemm.m > kMostM || gemm.m == 0)
    Refuse("M is " + std::to_string(gemm.m) + "; expected 1 to " + std::to_string(kMostM));
  if (lanes < 4) Refuse("a vector has fewer than 4 floats");
  if (gemm.c->dtype != DataType::Float(32)) Refuse("the result is not float32");
  for (const GemmOperand* operand : {&gemm.a, &gemm.b}) {
    if (operand->dtype != DataType::Float(32)) Refuse(operand->name + " is not float32");
    if (!operand->k_contiguous()) Refuse(operand->name + " is not K-contiguous");
  }
  if (gemm.n == 0 || gemm.n % lanes != 0 || gemm.k % lanes != 0)
    Refuse("N or K is no multiple of a vector of " + std::to_string(lanes));
  if (gemm.k <= kPackedPerCycle * kReduceCycles * gemm.m)
    Refuse("K is so short that packing B costs less");
  if (IsConstant(*schedule, gemm.b.name)) Refuse("B is constant, and can be prepacked");
  std::vector<P> plans;
  auto outputs = static_cast<double>(gemm.batch * gemm.m * gemm.n);
  auto b_bytes = static_cast<double>(gemm.batch * gemm.n * gemm.k * gemm.b.bytes());
  for (int64_t n = std::min(kMostN, lanes); n >= 1; n /= 2) {
    if (n > 1 && gemm.m * n + 2 > target.vector_registers) continue;
    P plan;
    plan.vector = lanes;
    plan.tile_n = n;
    int64_t num_steps = gemm.batch * (gemm.n / n) * (gemm.k / lanes);
    double step = std::max(
               {static_cast<double>(gemm.m * n) / static_cast<double>(target.fma_per_cycle),
                static_cast<double>(gemm.m + n) / static_cast<double>(target.loads_per_cycle),
                static_cast<double>(target.fma_latency)}),
           steps = static_cast<double>(num_steps),
           memory = b_bytes > static_cast<double>(target.l2_bytes)
                        ? b_bytes / static_cast<double>(target.memory_bytes_per_cycle)
                        : 0;
    plan.cycles = std::max(steps * step, memory) + outputs * kReduceCycles;
    plan.limit =
        std::max(gemm.flops() / 2 / static_cast<double>(lanes * target.fma_per_cycle), memory);
    plans.push_back(plan);
  }
  return plans;
}

void ApplySkinny(Schedule* schedule, const BlockInfo& block, const TargetInfo& target, P* plan) {
  Gemm gemm = RequireGemm(*schedule, block, Sizes::kStatic);
  int64_t work = WorkOf(*schedule, block.ref);
  DotProducts(schedule, block, gemm, plan->vector, plan->tile_n).Run();
  ParallelizeOuter(schedule, block.ref, work, target, plan);
}

}  // namespace

void RegisterHostSkinnyMatmulRules() {
  RegisterRule(
      {.name = "skinny_matmul",
       .description = "M up to 4, A and B K-contiguous: vectors along K; needs reassociate",
       .kinds = {BlockKind::kMatmul},
       .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
       .priority = 35,
       .planned = Planned<P>(SkinnyPlans, ApplySkinny)});
}

}  // namespace tern::schedule
