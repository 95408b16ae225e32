// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/group_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tern/schedule/index_map.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/matrix_fragments.h"
#include "tern/schedule/rules/operand_copies.h"
#include "tern/schedule/rules/register_tiles.h"

namespace tern::schedule {
namespace {

// Rows of a group, columns and steps of a block of an operand.
constexpr int64_t kBlock = 64;
constexpr int64_t kWarps = 4, kLanes = 32;  // of a group

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
  int64_t groups() const { return tile_m / kBlock; }
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
    plan.tile_k = kBlock;
    int64_t bytes = (tiles.rows + tiles.columns) * kBlock * gemm.a.bytes();
    int64_t fitting = target.shared_bytes / bytes - kLateVersions;
    plan.stages = want.Or(&P::stages, std::min(fitting, kMostStages));
    bool fits = plan.stages >= 1 && plan.stages <= fitting && fitting >= kLeastStages &&
                plan.groups() * kWarps * kLanes <= target.max_threads &&
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

class GroupScheduler : public DeviceGemmScheduler {
 public:
  GroupScheduler(Schedule* schedule, const std::string& block, const Gemm& gemm,
                 const std::string& type, const P& plan, const std::string& prefix)
      : DeviceGemmScheduler(
            schedule, block, gemm, plan,
            {{"threadIdx.z", plan.groups()}, {"threadIdx.y", kWarps}, {"threadIdx.x", kLanes}},
            kCopyBytes),
        plan_(plan),
        intrinsic_(fmt::format("{}_{}{}_{}_{}", prefix, IsTransposed(gemm.a) ? 't' : 'n',
                               IsTransposed(gemm.b) ? 't' : 'n', plan.tile_n, type)) {}

  void Run() {
    std::string reader = KeepSums();
    std::string tile = Tile();
    std::string left = CopyToShared(gemm_.a), right = CopyToShared(gemm_.b);
    if (reader.empty()) reader = CopySums();
    Names stored = schedule_.ReverseComputeAt(reader, tile, {Name("ci"), Name("cj")});
    schedule_.DecomposeReduction(block_, At("lo"), Name("init"));
    Names right_copy = schedule_.ComputeAt(right, At("lo"), {Name("bsk"), Name("bsj")});
    Names left_copy = schedule_.ComputeAt(left, At("lo"), {Name("asi"), Name("ask")});
    SetSumsLayout();
    SetBlockLayout(left, gemm_.a.rank);
    SetBlockLayout(right, gemm_.b.rank);
    ShareAmongThreads(left, left_copy, "as");
    ShareAmongThreads(right, right_copy, "bs");
    schedule_.Bind(Name("init") + "." + Name("ig"), "threadIdx.z");
    schedule_.Unroll(ShareAmongLanes(Name("init"), Name("ii"), Name("ji"), "f"));
    schedule_.Bind(At("ig"), "threadIdx.z");
    schedule_.Tensorize(At("ii"), intrinsic_);
    schedule_.Split(LoopOf(reader, stored[0]), {plan_.groups(), kBlock},
                    {Name("cb"), Name("cz"), Name("cr")});
    schedule_.Bind(LoopOf(reader, Name("cz")), "threadIdx.z");
    schedule_.Vectorize(ShareAmongLanes(reader, Name("cr"), stored[1], "e"));
    PipelineCopies();
  }

 private:
  // Returns the last loop of the grid.
  std::string Tile() {
    schedule_.Split(LoopOf(block_, gemm_.loops.m), {plan_.groups(), kBlock},
                    {Name("ib"), Name("ig"), Name("ii")});
    schedule_.Split(LoopOf(block_, gemm_.loops.n), {plan_.tile_n}, {Name("jb"), Name("ji")});
    schedule_.Split(LoopOf(block_, gemm_.loops.k), {kBlock}, {Name("lo"), Name("li")});
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

  // Of the last two dimensions.
  void SetLayout(const std::string& buffer, size_t rank, const std::string& to) {
    std::string batch;
    for (size_t d = 0; d + 2 < rank; ++d) batch += "b" + std::to_string(d) + ", ";
    schedule_.TransformLayout(buffer,
                              IndexMap::Parse(fmt::format("({0}i, j) -> ({0}{1})", batch, to)));
  }
  // Group, tile, warp, lane, and the elements of the lane: as warp_matrix_multiply_group has them.
  void SetSumsLayout() {
    SetLayout(sums_, gemm_.c->shape.size(),
              fmt::format("i // 64, j // {0}, i % 64 // 16, i % 8 * 4 + j % 8 // 2, j % {0} // 8 * "
                          "4 + i % 16 // 8 * 2 + j % 2",
                          plan_.tile_n));
  }
  // Blocks of 64 x 64, one behind the other for one instruction.
  void SetBlockLayout(const std::string& buffer, size_t rank) {
    SetLayout(buffer, rank, "j // 64, i // 64, i % 64 * 64 + j % 64");
  }

  // The 64 rows of a group and all columns, each element by the lane that has its sum. Returns the
  // loop over two neighbours.
  std::string ShareAmongLanes(const std::string& block, const std::string& rows,
                              const std::string& columns, const std::string& prefix) {
    auto name = [&](const char* what) { return Name(prefix + what); };
    auto loop = [&](const char* what) { return LoopOf(block, name(what)); };
    schedule_.Split(LoopOf(block, rows), {kWarps, 2, 8},
                    {name("b"), name("w"), name("h"), name("r")});
    schedule_.Split(LoopOf(block, columns), {plan_.tile_n / 8, 4, 2},
                    {name("a"), name("n"), name("l"), name("v")});
    schedule_.Reorder({loop("w"), loop("r"), loop("l"), loop("n"), loop("h"), loop("v")});
    std::string lane = FuseLoops(&schedule_, block, {name("r"), name("l")});
    schedule_.Bind(loop("w"), "threadIdx.y");
    schedule_.Bind(LoopOf(block, lane), "threadIdx.x");
    schedule_.Unroll(loop("n"));
    schedule_.Unroll(loop("h"));
    return loop("v");
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
  if (std::min({gemm.m, gemm.n, gemm.k}) < kBlock)
    Refuse("M, N or K is less than " + std::to_string(kBlock));
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
