// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/matrix_matmul.h"

#include <algorithm>
#include <optional>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/matrix_fragments.h"
#include "tern/schedule/rules/operand_copies.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/analysis/vector_move.h"

namespace tern::schedule {
namespace {

constexpr int64_t kAccumulatorBytes = 4;

// What a multiprocessor has to have under way to keep memory busy. Small tiles need more stages.
constexpr int64_t kBytesUnderWay = 32 << 10, kMostStages = 8;

// FMAs of a multiprocessor in a cycle, for the cost model.
constexpr double kFmaPerCycle = 1024;
// Thread blocks of a multiprocessor that hide what each of them waits for.
constexpr int64_t kWaitingBlocks = 8;

struct TensorCorePlan : DeviceGemmPlan {
  int64_t warps_m = 0, warps_n = 0;  // that share the tile

  static const std::vector<PlanField<TensorCorePlan>>& Fields() {
    using P = TensorCorePlan;
    static const std::vector<PlanField<P>> fields = {
        {"tile_m", &P::tile_m},   {"tile_n", &P::tile_n},   {"tile_k", &P::tile_k},
        {"warps_m", &P::warps_m}, {"warps_n", &P::warps_n}, {"stages", &P::stages},
        {"split_k", &P::split_k}};
    return fields;
  }
  int64_t warps() const { return warps_m * warps_n; }
};
using P = TensorCorePlan;

int64_t StageBytes(const Gemm& gemm, const P& plan) {
  auto bytes = [&](const GemmOperand& operand, int64_t extent) {
    bool k_contiguous = operand.k_contiguous();
    int64_t rows = k_contiguous ? extent : plan.tile_k, row = k_contiguous ? plan.tile_k : extent;
    return rows * PaddedRow(row, operand.bytes()) * operand.bytes();
  };
  return bytes(gemm.a, plan.tile_m) + bytes(gemm.b, plan.tile_n);
}

// Whether a block stores what it loads of a buffer at the same indices, as it is or rounded.
bool OnlyRounds(const Schedule& schedule, const BlockRef& name) {
  const tir::BlockNode* block = schedule.At(name);
  const auto* store = block->body.As<tir::BufferStoreNode>();
  BlockKind kind = DescribeBlock(block).kind;
  if (!store || kind != BlockKind::kElementwise) return false;
  const auto* cast = store->value.As<ir::CastNode>();
  return (cast ? cast->value : store->value).As<ir::BufferLoadNode>() != nullptr;
}

// Whether the epilogue reads the accumulators from shared memory: it does more than round them, or
// not for all of them.
bool SharesAccumulators(const Schedule& schedule, const MatrixInstructions& machine,
                        const Gemm& gemm, const P& plan) {
  if (plan.PadsResult(gemm)) return true;
  return !gemm.epilogue.empty() &&
         (!machine.stores_rounded || !OnlyRounds(schedule, gemm.epilogue));
}

// Whether one tile reads all of an operand, as B where there are few rows. To copy it first would
// take three times as long as to read it.
bool IsReadOnce(const Gemm& gemm, const GemmOperand& operand, const P& plan) {
  return operand.is_a ? gemm.n <= plan.tile_n : gemm.m <= plan.tile_m;
}
// Whether rows of an operand of narrow elements may start where nothing is copied asynchronously.
bool StartsAnywhere(const BlockInfo& block, const GemmOperand& operand) {
  return std::any_of(block.accesses.begin(), block.accesses.end(), [&](const BlockAccess& access) {
    return !access.store && access.buffer->name == operand.name &&
           operand.bytes() < tir::kLeastAsyncBytes &&
           !IsMultiple(access.buffer->shape.back(), tir::kLeastAsyncBytes / operand.bytes());
  });
}

// Matrix instructions, with what a warp loads for each.
void SetCost(const Gemm& gemm, const TargetInfo& target, const MatrixInstructions& machine,
             bool waits, P* plan) {
  int64_t warp_m = plan->tile_m / plan->warps_m, warp_n = plan->tile_n / plan->warps_n;
  auto side = static_cast<double>(machine.tile), m = static_cast<double>(warp_m) / side,
       n = static_cast<double>(warp_n) / side,
       fmas = static_cast<double>(plan->tile_m * plan->tile_n * plan->tile_k);
  // A short tile_k waits more often.
  double multiply = fmas / kFmaPerCycle * (1 + (m + n) / (m * n) / 2) *
                    (1 + 1 / static_cast<double>(plan->tile_k));
  auto bytes = static_cast<double>((plan->tile_m + plan->tile_n) * plan->tile_k * gemm.a.bytes());
  plan->cycles = DeviceGemmCycles(gemm, *plan, {multiply, bytes, waits}, target);
  plan->limit = LeastDeviceCycles(gemm, kFmaPerCycle, target);
}

// With asynchronous copies a long tile_k in three stages, or a short one in four, more of small
// tiles, as many as there is memory for. Else one short stage, so that several thread blocks have
// room, and one computes while another one copies.
std::vector<P> EnumeratePlans(const Schedule& schedule, const BlockRef& block, const Gemm& gemm,
                              const TargetInfo& target, const MatrixInstructions& machine,
                              const Wanted<P>& want) {
  BlockInfo info = DescribeBlock(schedule, block);
  std::vector<GemmOperand> odd;  // copied first, or element by element
  for (const GemmOperand& operand : {gemm.a, gemm.b})
    if (StartsAnywhere(info, operand)) odd.push_back(operand);
  struct Pace {
    int64_t tile_k, most, least;
  };
  std::vector<Pace> paces = {{32, 1, 1}};
  if (machine.async_copies) paces = {{64, 3, 3}, {32, 4, 2}};
  std::vector<P> plans, unpacking;  // those that unpack B save a kernel
  for (const MatrixTiles& tiles : machine.tiles)
    for (const Pace& pace : paces) {
      P plan;
      plan.tile_m = tiles.rows;
      plan.tile_n = tiles.columns;
      plan.tile_k = pace.tile_k;
      plan.warps_m = tiles.warp_rows;
      plan.warps_n = tiles.warp_columns;
      int64_t acc = SharesAccumulators(schedule, machine, gemm, plan)
                        ? plan.tile_m * plan.tile_n * kAccumulatorBytes
                        : 0;
      int64_t fitting = (target.shared_bytes - acc) / StageBytes(gemm, plan);
      int64_t most = pace.most;
      bool unpacks = UnpacksInCopies(schedule, gemm, plan);
      if (unpacks)
        most = std::min<int64_t>(most, 2);
      else if (machine.async_copies)
        most = std::clamp(1 + CeilDiv(kBytesUnderWay, StageBytes(gemm, plan)), most, kMostStages);
      plan.stages = want.Or(&P::stages, std::min(fitting, most));
      bool fits = plan.stages >= 1 && plan.stages <= fitting && fitting >= pace.least &&
                  plan.warps() * machine.lanes <= target.max_threads &&
                  CeilDiv(gemm.m, plan.tile_m) <= target.most_grid_blocks;
      if (!fits) continue;
      bool waits = unpacks || std::any_of(odd.begin(), odd.end(), [&](const GemmOperand& operand) {
                     return IsReadOnce(gemm, operand, plan);
                   });
      for (int64_t parts : SplitsOfK(schedule, gemm, plan, target, waits ? kWaitingBlocks : 1)) {
        plan.split_k = parts;
        SetCost(gemm, target, machine, waits, &plan);
        (unpacks ? unpacking : plans).push_back(plan);
      }
    }
  return unpacking.empty() ? plans : unpacking;
}

class MatrixScheduler : public MatrixSteps {
 public:
  MatrixScheduler(Schedule* schedule, const BlockRef& block, const Gemm& gemm,
                  const std::string& type, const P& plan, const MatrixInstructions& machine,
                  bool shares_sums)
      : MatrixSteps(schedule, block, gemm, type, plan,
                    {{"threadIdx.z", plan.warps_m},
                     {"threadIdx.y", plan.warps_n},
                     {"threadIdx.x", machine.lanes}},
                    machine),
        plan_(plan),
        shares_sums_(shares_sums) {}

  void Run() {
    const BlockRef& reader = gemm_.epilogue;
    if (!reader.empty())
      schedule_.SetScope(gemm_.c, shares_sums_ ? tir::StorageScope::kShared
                                               : tir::StorageScope::kFragmentAccumulator);
    Tile();
    Stage left = Load(gemm_.a), right = Load(gemm_.b);
    BlockRef sums = KeepSums(shares_sums_ ? BlockRef() : reader);
    LoopRefs read;
    if (shares_sums_) read = schedule_.ReverseComputeAt(reader, At("jb"), Own("r", "i", "j"));
    BlockRef init = schedule_.DecomposeReduction(block_, At("lo"), Name("init"));
    BindWarps(init);
    BindWarps(block_);
    LoopRefs right_fragment = schedule_.ComputeAt(right.fragment, At("lk"), Own("bf", "k", "j"));
    LoopRefs left_fragment = schedule_.ComputeAt(left.fragment, At("lk"), Own("af", "i", "k"));
    LoopRefs right_copy = schedule_.ComputeAt(right.shared, At("lo"), Own("bs", "k", "j"));
    LoopRefs left_copy = schedule_.ComputeAt(left.shared, At("lo"), Own("as", "i", "k"));
    SetLayout(sums_buffer_, gemm_.c->shape.size(), Fragment::kAccumulator, false);
    SetLayout(left.fragment, gemm_.a);
    SetLayout(right.fragment, gemm_.b);
    AlignRows(left.shared, gemm_.a.rank, gemm_.a.bytes(),
              IsTransposed(gemm_.a) ? plan_.tile_m : plan_.tile_k);
    AlignRows(right.shared, gemm_.b.rank, gemm_.b.bytes(),
              IsTransposed(gemm_.b) ? plan_.tile_k : plan_.tile_n);
    ShareAmongThreads(left.shared, left_copy, "as");
    ShareAmongThreads(right.shared, right_copy, "bs");
    MultiplyTiles(init);
    LoadTiles(left.fragment, left_fragment, "af", gemm_.a);
    LoadTiles(right.fragment, right_fragment, "bf", gemm_.b);
    Store(sums);
    if (shares_sums_) ShareAmongThreads(reader, read, "r");
    PipelineCopies();
  }

 private:
  struct Stage {
    CopyRef shared, fragment;
  };

  void Tile() {
    int64_t rows = plan_.tile_m / plan_.warps_m / machine_.tile,
            columns = plan_.tile_n / plan_.warps_n / machine_.tile;
    Split(gemm_.loops.m, {plan_.warps_m, rows, machine_.tile}, {"ib", "iw", "it", "ii"});
    Split(gemm_.loops.n, {plan_.warps_n, columns, machine_.tile}, {"jb", "jw", "jt", "ji"});
    Split(gemm_.loops.k, {plan_.tile_k / machine_.tile, machine_.tile}, {"lo", "lk", "li"});
    OrderLoops({"iw", "jw", "lk", "it", "jt", "ii", "ji", "li"});
  }

  // The accumulators are a fragment; returns the block that takes them to memory. A result that one
  // other block reads, to round it, is the fragment itself.
  BlockRef KeepSums(BlockRef reader) {
    sums_buffer_ = gemm_.c;
    if (reader.empty()) {
      CopyRef copy = schedule_.CacheWrite(block_, gemm_.c, tir::StorageScope::kFragmentAccumulator,
                                          Name("acc"));
      sums_buffer_ = copy;
      reader = copy;
    }
    stored_ = schedule_.ReverseComputeAt(reader, At("jb"), {Name("ci"), Name("cj")});
    return reader;
  }
  void BindWarps(const BlockRef& block) {
    schedule_.Bind(At(block, "iw"), "threadIdx.z");
    schedule_.Bind(At(block, "jw"), "threadIdx.y");
  }

  Stage Load(const GemmOperand& operand) {
    CopyRef shared = CopyToShared(operand);
    return {shared, ReadFragment(operand, shared)};
  }

  void MultiplyTiles(const BlockRef& init) {
    for (const BlockRef& block : {init, block_})
      for (const char* loop : {"it", "jt"}) schedule_.Unroll(At(block, loop));
    schedule_.Unroll(At("lk"));
    schedule_.Tensorize(At(init, "ii"), Intrinsic("fill"));
    schedule_.Tensorize(At("ii"), Multiply());
  }

  void Store(const BlockRef& block) {
    auto split = [&](const LoopRef& loop, int64_t extent, const Schedule::Names& names) {
      LoopRefs made =
          schedule_.Split(loop.Of(block), {extent / machine_.tile, machine_.tile}, names);
      return made.Of(block);
    };
    LoopRefs i = split(stored_[0], plan_.tile_m / plan_.warps_m,
                       {Name("cz"), Name("ct"), Name("cr")}),
             j = split(stored_[1], plan_.tile_n / plan_.warps_n,
                       {Name("cy"), Name("cu"), Name("cv")});
    schedule_.Reorder({i[0], j[0], i[1], j[1], i[2], j[2]});
    schedule_.Bind(i[0], "threadIdx.z");
    schedule_.Bind(j[0], "threadIdx.y");
    schedule_.Unroll(i[1]);
    schedule_.Unroll(j[1]);
    schedule_.Tensorize(i[2], Intrinsic("store_" + TypeWrittenBy(block)));
  }
  std::string TypeWrittenBy(const BlockRef& block) const {
    for (const Access& access : AccessesOf(AsStmt(schedule_.At(block))))
      if (access.store)
        for (const auto& [dtype, type] : machine_.types)
          if (access.buffer->dtype == dtype) return type;
    return "f32";
  }

  BufferRef sums_buffer_ = gemm_.c;
  LoopRefs stored_;  // of the block that takes the accumulators to memory
  const P& plan_;
  bool shares_sums_;
};

std::vector<P> Plans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                     const MatrixInstructions& machine, const Wanted<P>& want) {
  PutChannelsLast(schedule, block.ref, target);
  Gemm gemm = RequireDeviceGemm(schedule, block.ref, target);
  MatrixTypeOf(gemm, target, machine);
  CheckMatrixDims(gemm, target);
  if (!tir::HasFlag(schedule->function(), tir::attr::kReassociate))
    Refuse("matrix instructions sum in another order, and the function does not say reassociate");
  std::vector<P> plans = EnumeratePlans(*schedule, block.ref, gemm, target, machine, want);
  if (plans.empty()) Refuse("no tile fits in shared memory");
  return plans;
}

void Apply(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
           const MatrixInstructions& machine, const P& plan) {
  GemmPart part = SplitK(schedule, block.ref, plan, target);
  bool shares_sums = SharesAccumulators(*schedule, machine, part.gemm, plan);
  std::string type = MatrixTypeOf(part.gemm, target, machine);
  Gemm gemm = PadToTiles(schedule, part, plan);
  for (const GemmOperand& operand : {gemm.a, gemm.b})
    if (!IsReadOnce(part.gemm, operand, plan)) CopyOddRows(schedule, operand, target);
  // What several blocks read is padded, and stored as it is.
  shares_sums = shares_sums && !gemm.epilogue.empty();
  MatrixScheduler(schedule, part.block, gemm, type, plan, machine, shares_sums).Run();
}

}  // namespace

void RegisterMatrixMatmul(const MatrixInstructions& instructions) {
  if (!instructions.attention.empty()) RegisterMatrixAttention(instructions);
  if (!instructions.packed_rule.empty()) RegisterPackedMatmul(instructions);
  RegisterRule(
      {.name = instructions.rule,
       .description = instructions.description,
       .kinds = {BlockKind::kMatmul, BlockKind::kConvolution, BlockKind::kReduction},
       .fits = instructions.fits,
       .priority = 100,
       .planned = Planned<P>(
           [instructions](Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                          const Wanted<P>& want) {
             return Plans(schedule, block, target, instructions, want);
           },
           [instructions](Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                          const P& plan) { Apply(schedule, block, target, instructions, plan); })});
}

}  // namespace tern::schedule
