// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/group_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/group_fragments.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/matrix_fragments.h"
#include "tern/schedule/rules/operand_copies.h"
#include "tern/schedule/rules/register_tiles.h"

namespace tern::schedule {
namespace {

// Copies under way, the tile that is multiplied and the one that may still be.
constexpr int64_t kMostStages = 5, kLeastStages = 2, kLateVersions = 1;

// Rows of tiles that thread blocks walk column by column.
constexpr int64_t kRowsOfTiles = 8;

// FMAs of a multiprocessor in a cycle, for the cost model.
constexpr double kFmaPerCycle = 2048;

// To choose from, the largest first.
struct GroupTiles {
  int64_t rows, columns;
};
constexpr GroupTiles kTiles[] = {{128, 256}, {128, 192}, {128, 128},
                                 {128, 64},  {64, 128},  {64, 64}};

struct GroupPlan : DeviceGemmPlan {
  static const std::vector<PlanField<GroupPlan>>& Fields() {
    using P = GroupPlan;
    static const std::vector<PlanField<P>> fields = {{"tile_m", &P::tile_m},
                                                     {"tile_n", &P::tile_n},
                                                     {"tile_k", &P::tile_k},
                                                     {"stages", &P::stages},
                                                     {"split_k", &P::split_k}};
    return fields;
  }
  int64_t groups() const { return tile_m / kGroupBlock; }
};
using P = GroupPlan;

void SetCost(const Gemm& gemm, const TargetInfo& target, P* plan) {
  auto fmas = static_cast<double>(plan->tile_m * plan->tile_n * plan->tile_k);
  auto bytes = static_cast<double>((plan->tile_m + plan->tile_n) * plan->tile_k * gemm.a.bytes());
  plan->cycles = DeviceGemmCycles(gemm, *plan, {fmas / kFmaPerCycle, bytes}, target);
}

std::vector<P> EnumeratePlans(const Schedule& schedule, const Gemm& gemm, const TargetInfo& target,
                              const Wanted<P>& want) {
  std::vector<P> plans;
  for (const GroupTiles& tiles : kTiles) {
    P plan;
    plan.tile_m = tiles.rows;
    plan.tile_n = tiles.columns;
    plan.tile_k = kGroupBlock;
    int64_t bytes = (tiles.rows + tiles.columns) * kGroupBlock * gemm.a.bytes();
    int64_t fitting = target.shared_bytes / bytes - kLateVersions;
    plan.stages = want.Or(&P::stages, std::min(fitting, kMostStages));
    bool fits = plan.stages >= 1 && plan.stages <= fitting && fitting >= kLeastStages &&
                plan.groups() * kGroupWarps * kGroupLanes <= target.max_threads &&
                CeilDiv(gemm.m, plan.tile_m) <= target.most_grid_blocks;
    if (!fits) continue;
    for (int64_t parts : SplitsOfK(schedule, gemm, plan, target)) {
      plan.split_k = parts;
      SetCost(gemm, target, &plan);
      plans.push_back(plan);
    }
  }
  return plans;
}

class GroupScheduler : public GroupSteps {
 public:
  GroupScheduler(Schedule* schedule, const std::string& block, const Gemm& gemm,
                 const std::string& type, const P& plan, const std::string& prefix)
      : GroupSteps(schedule, block, gemm, plan),
        plan_(plan),
        intrinsic_(fmt::format("{}_{}_{}_{}", prefix, OperandLayout(), plan.tile_n, type)) {}

  void Run() {
    std::string reader = KeepSums();
    std::string tile = Tile();
    std::string left = CopyToShared(gemm_.a), right = CopyToShared(gemm_.b);
    if (reader.empty()) reader = CopySums();
    Names stored = schedule_.ReverseComputeAt(reader, tile, {Name("ci"), Name("cj")});
    schedule_.DecomposeReduction(block_, At("lo"), Name("init"));
    Names right_copy = schedule_.ComputeAt(right, At("lo"), {Name("bsk"), Name("bsj")});
    Names left_copy = schedule_.ComputeAt(left, At("lo"), {Name("asi"), Name("ask")});
    SetGroupFragmentLayout(&schedule_, sums_, gemm_.c->shape.size(), plan_.tile_n);
    SetBlockLayout(left, gemm_.a.rank);
    SetBlockLayout(right, gemm_.b.rank);
    ShareAmongThreads(left, left_copy, "as");
    ShareAmongThreads(right, right_copy, "bs");
    schedule_.Bind(Name("init") + "." + Name("ig"), "threadIdx.z");
    schedule_.Unroll(ShareAmongLanes(&schedule_, Name("init"), Name("ii"), Name("ji"), plan_.tile_n,
                                     0, Name("f")));
    schedule_.Bind(At("ig"), "threadIdx.z");
    schedule_.Tensorize(At("ii"), intrinsic_);
    schedule_.Vectorize(ShareAmongLanes(&schedule_, reader, stored[0], stored[1], plan_.tile_n,
                                        groups(), Name("e")));
    PipelineCopies();
  }

 private:
  // Returns the last loop of the grid.
  std::string Tile() {
    schedule_.Split(LoopOf(block_, gemm_.loops.m), {plan_.groups(), kGroupBlock},
                    {Name("ib"), Name("ig"), Name("ii")});
    schedule_.Split(LoopOf(block_, gemm_.loops.n), {plan_.tile_n}, {Name("jb"), Name("ji")});
    schedule_.Split(LoopOf(block_, gemm_.loops.k), {kGroupBlock}, {Name("lo"), Name("li")});
    return OrderLoops({"ig", "ii", "ji", "li"}, RowsOfTiles());
  }

  int64_t RowsOfTiles() const {
    int64_t rows = gemm_.dynamic_m ? 1 : CeilDiv(gemm_.m, plan_.tile_m);
    return std::gcd(rows, kRowsOfTiles);
  }

  // The accumulators are a fragment, the block that reads them the epilogue or a copy.
  std::string KeepSums() {
    sums_ = gemm_.c->name;
    if (!gemm_.epilogue.empty()) schedule_.SetScope(sums_, kSumsScope);
    return gemm_.epilogue;
  }
  std::string CopySums() {
    return sums_ = schedule_.CacheWrite(block_, gemm_.c->name, kSumsScope, Name("acc"));
  }

  // Blocks of 64 x 64, one behind the other for one instruction.
  void SetBlockLayout(const std::string& buffer, size_t rank) {
    SetMatrixLayout(&schedule_, buffer, rank, "j // 64, i // 64, i % 64 * 64 + j % 64");
  }

  static constexpr auto kSumsScope = tir::StorageScope::kFragmentAccumulator;
  const P& plan_;
  std::string intrinsic_, sums_;
};

std::vector<P> Plans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                     const Wanted<P>& want) {
  PutChannelsLast(schedule, block.name, target);
  Gemm gemm = RequireDeviceGemm(schedule, block.name, target);
  MatrixTypeOf(gemm, target, {});
  CheckMatrixDims(gemm, target);
  if (std::min({gemm.m, gemm.n, gemm.k}) < kGroupBlock)
    Refuse("M, N or K is less than " + std::to_string(kGroupBlock));
  if (!tir::HasFlag(schedule->function(), tir::attr::kReassociate))
    Refuse("matrix instructions sum in another order, and the function does not say reassociate");
  std::vector<P> plans = EnumeratePlans(*schedule, gemm, target, want);
  if (plans.empty()) Refuse("no tile fits in shared memory");
  return plans;
}

void Apply(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
           const std::string& prefix, const P& plan) {
  GemmPart part = SplitK(schedule, block.name, plan, target);
  std::string type = MatrixTypeOf(part.gemm, target, {});
  Gemm gemm = PadToTiles(schedule, part, plan);
  for (const GemmOperand& operand : {gemm.a, gemm.b}) CopyOddRows(schedule, operand, target);
  GroupScheduler(schedule, part.block, gemm, type, plan, prefix).Run();
}

}  // namespace

void RegisterGroupMatmul(const GroupInstructions& instructions) {
  RegisterGroupAttention(instructions);
  RegisterRule({.name = instructions.rule,
                .description = instructions.description,
                .kinds = {BlockKind::kMatmul, BlockKind::kConvolution, BlockKind::kReduction},
                .fits = instructions.fits,
                .priority = 110,
                .planned = Planned<P>(
                    Plans, [prefix = instructions.prefix](
                               Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                               const P& plan) { Apply(schedule, block, target, prefix, plan); })});
}

}  // namespace tern::schedule
