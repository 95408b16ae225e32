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

using Names = Schedule::Names;

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
      : schedule_(*schedule), block_(block.name), gemm_(gemm), lanes_(lanes), columns_(columns) {
    const BlockAccess& result = block.accesses[0];
    while (block.axes[result.axes[column_dim_]].role != AxisRole::kN) ++column_dim_;
  }

  void Run() {
    schedule_.Split(At(gemm_.loops.n), {lanes_}, {Name("jo"), Name("ji")});
    schedule_.Split(At(gemm_.loops.k), {lanes_}, {Name("lo"), Name("li")});
    std::string parts = schedule_.Rfactor(At(Name("li")), Name("partial"));
    schedule_.SetScope(parts, StorageScope::kLocal);
    Names order = gemm_.loops.batch;
    order.insert(order.end(), {Name("jo"), gemm_.loops.m, Name("li"), Name("ji")});
    schedule_.Reorder(Around(block_, order));
    std::string sums = schedule_.CacheRead(block_, parts, StorageScope::kLocal, Name("acc")),
                turned =
                    schedule_.CacheRead(block_, sums, StorageScope::kLocal, Name("transposed"));
    for (const std::string& block : {turned, sums}) schedule_.ComputeAt(block, At(Name("jo")));
    Copy(sums, parts);
    Add(parts);
    Turn(turned);
    std::string init = schedule_.DecomposeReduction(block_, At(Name("li")), Name("init"));
    schedule_.Unroll(At(Name("li")));
    for (const std::string& block : {init, block_}) schedule_.Vectorize(LoopOf(block, Name("ji")));
  }

 private:
  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  std::string At(const std::string& loop) const { return LoopOf(block_, loop); }

  // Elsewhere in memory: lanes, the last dimension, and columns are the last two.
  void PutLast(const std::string& buffer, size_t rank, bool columns_last) {
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
  void Copy(const std::string& sums, const std::string& parts) {
    Names loops = LoopsOfAxes(schedule_, sums), order = {Name("sg")};
    schedule_.Split(LoopOf(sums, loops[column_dim_]), {columns_}, {Name("sg"), Name("sj")});
    for (size_t d = 0; d + 1 < loops.size(); ++d)
      if (d != column_dim_ && !loops[d].empty()) order.push_back(loops[d]);
    order.insert(order.end(), {Name("sj"), loops.back()});
    schedule_.Reorder(Around(sums, order));
    schedule_.ComputeAt(parts, LoopOf(sums, Name("sg")));
    for (size_t i = 1; i + 1 < order.size(); ++i) schedule_.Unroll(LoopOf(sums, order[i]));
    schedule_.Vectorize(LoopOf(sums, loops.back()));
    PutLast(sums, loops.size(), false);
  }

  // The accumulators stay in registers through the K loop.
  void Add(const std::string& parts) {
    Names loops = LoopsOfAxes(schedule_, parts), inner;
    const std::string &lane = loops[loops.size() - 2], &step = loops.back();
    for (size_t a = 0; a + 2 < loops.size(); ++a)
      if (!loops[a].empty()) inner.push_back(loops[a]);
    Names order = {step};
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(lane);
    schedule_.Reorder(Around(parts, order));
    std::string init = schedule_.DecomposeReduction(parts, LoopOf(parts, step));
    for (const std::string& block : {init, parts}) {
      for (const std::string& loop : inner) schedule_.Unroll(LoopOf(block, loop));
      schedule_.Vectorize(LoopOf(block, lane));
    }
    PutLast(parts, loops.size() - 1, false);
  }

  void Turn(const std::string& turned) {
    Names loops = LoopsOfAxes(schedule_, turned), order;
    for (size_t d = 0; d + 1 < loops.size(); ++d)
      if (d != column_dim_ && !loops[d].empty()) order.push_back(loops[d]);
    order.insert(order.end(), {loops.back(), loops[column_dim_]});
    schedule_.Reorder(Around(turned, order));
    PutLast(turned, loops.size(), true);
    schedule_.Tensorize(LoopOf(turned, loops.back()), "f32_transpose_" + std::to_string(lanes_));
  }

  Schedule& schedule_;
  std::string block_;
  const Gemm& gemm_;
  int64_t lanes_, columns_;
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
  int64_t work = WorkOf(*schedule, block.name);
  DotProducts(schedule, block, gemm, plan->vector, plan->tile_n).Run();
  ParallelizeOuter(schedule, block.name, work, target, plan);
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
