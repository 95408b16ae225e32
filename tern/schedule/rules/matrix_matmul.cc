// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/matrix_matmul.h"

#include <algorithm>
#include <optional>

#include "tern/schedule/index_map.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/gemm.h"

namespace tern::schedule {
namespace {

using Names = Schedule::Names;

constexpr int64_t kCopyBytes = 16;  // at once

struct TensorCorePlan : PlanCost {
  int64_t tile_m = 0, tile_n = 0, tile_k = 0;  // of a thread block, in shared memory
  int64_t warps_m = 0, warps_n = 0;            // that share the tile
  int64_t stages = 1;  // of the pipeline: copies under way, and the one that is computed with

  static const std::vector<PlanField<TensorCorePlan>>& Fields() {
    using P = TensorCorePlan;
    static const std::vector<PlanField<P>> fields = {
        {"tile_m", &P::tile_m},   {"tile_n", &P::tile_n},   {"tile_k", &P::tile_k},
        {"warps_m", &P::warps_m}, {"warps_n", &P::warps_n}, {"stages", &P::stages}};
    return fields;
  }
  int64_t warps() const { return warps_m * warps_n; }
};
using P = TensorCorePlan;

// Whether the target has the type, and not its bits alone.
bool Stores(const TargetInfo& target, DataType dtype) {
  const auto& stores = target.target->kind->stores;
  return !dtype.is_narrow_float() || (stores && stores(target.target, dtype));
}

// Whether an operand lies transposed in memory: A as [K, M], B as [N, K].
bool IsTransposed(const GemmOperand& operand) { return operand.is_a != operand.k_contiguous(); }

// The name of the type of A and B in the intrinsics. Refuses what the machine does not multiply.
std::string TypeOf(const Gemm& gemm, const TargetInfo& target, const MatrixInstructions& machine) {
  DataType dtype = gemm.a.dtype;
  auto type = std::find_if(machine.types.begin(), machine.types.end(),
                           [&](const auto& known) { return known.first == dtype; });
  if (type == machine.types.end() || gemm.b.dtype != dtype || !Stores(target, dtype) ||
      gemm.c->dtype != DataType::Float(32))
    Refuse("the machine does not multiply " + dtype.str() + " by " + gemm.b.dtype.str() +
           " with accumulators of " + gemm.c->dtype.str());
  return type->second;
}

// Fragments are of matrices, or of a static batch of them, which is the first dimension.
void CheckBatch(const BlockInfo& block, const Gemm& gemm, const TargetInfo& target) {
  for (const BlockAxis& axis : block.axes)
    if (!ir::AsConstInt(axis.extent))
      Refuse("the extent of axis " + axis.var.name() + " is dynamic");
  size_t batch = gemm.loops.batch.size();
  auto is_first = [&](size_t rank, size_t dim) { return rank == batch + 2 && dim >= batch; };
  if (batch > 1 || !is_first(gemm.a.rank, std::min(gemm.a.own_dim, gemm.a.k_dim)) ||
      !is_first(gemm.b.rank, std::min(gemm.b.own_dim, gemm.b.k_dim)) || gemm.c_m_dim != batch)
    Refuse("it is not a matmul of matrices [.., ..], or of a batch of them [batch, .., ..]");
  if (gemm.batch > target.most_grid_blocks)
    Refuse("a grid has room for " + std::to_string(target.most_grid_blocks) + " matrices, not " +
           std::to_string(gemm.batch));
}

// Rows of shared memory start on different banks.
int64_t Padded(int64_t elements, int64_t bytes) { return elements + kCopyBytes / bytes; }

int64_t StageBytes(const Gemm& gemm, const P& plan) {
  auto bytes = [&](const GemmOperand& operand, int64_t extent) {
    bool k_contiguous = operand.k_contiguous();
    int64_t rows = k_contiguous ? extent : plan.tile_k, row = k_contiguous ? plan.tile_k : extent;
    return rows * Padded(row, operand.bytes()) * operand.bytes();
  };
  return bytes(gemm.a, plan.tile_m) + bytes(gemm.b, plan.tile_n);
}

// Whether the epilogue reads the accumulators from shared memory.
bool SharesAccumulators(const MatrixInstructions& machine, const Gemm& gemm) {
  return !gemm.epilogue.empty() && !machine.stores_rounded;
}

// Matrix instructions, with what a warp loads for each; too few thread blocks leave a part of the
// device idle, and a short tile_k waits more often.
void SetCost(const Gemm& gemm, const TargetInfo& target, const MatrixInstructions& machine,
             P* plan) {
  int64_t warp_m = plan->tile_m / plan->warps_m, warp_n = plan->tile_n / plan->warps_n,
          tiles = gemm.batch * (gemm.m / plan->tile_m) * (gemm.n / plan->tile_n);
  auto side = static_cast<double>(machine.tile), m = static_cast<double>(warp_m) / side,
       n = static_cast<double>(warp_n) / side, busy = static_cast<double>(target.busy_blocks),
       blocks = static_cast<double>(tiles);
  double instructions = gemm.flops() / 2 / (side * side * side) / (busy * 4);
  plan->cycles = instructions * (1 + (m + n) / (m * n)) *
                 (1 + 1 / static_cast<double>(plan->tile_k)) * std::max(1.0, busy / blocks);
}

// With asynchronous copies a long tile_k in three stages, or a short one in as many as there is
// memory for, at least two. Else one short stage, so that several thread blocks have room, and one
// computes while another one copies.
std::vector<P> EnumeratePlans(const Gemm& gemm, const TargetInfo& target,
                              const MatrixInstructions& machine, const Wanted<P>& want) {
  struct Pace {
    int64_t tile_k, most, least;
  };
  std::vector<Pace> paces = {{32, 1, 1}};
  if (machine.async_copies) paces = {{64, 3, 3}, {32, 4, 2}};
  std::vector<P> plans;
  for (const MatrixTiles& tiles : machine.tiles)
    for (const Pace& pace : paces) {
      P plan;
      plan.tile_m = tiles.rows;
      plan.tile_n = tiles.columns;
      plan.tile_k = pace.tile_k;
      plan.warps_m = tiles.warp_rows;
      plan.warps_n = tiles.warp_columns;
      int64_t acc = SharesAccumulators(machine, gemm) ? plan.tile_m * plan.tile_n * 4 : 0;
      int64_t fitting = (target.shared_bytes - acc) / StageBytes(gemm, plan);
      plan.stages = want.Or(&P::stages, std::min(fitting, pace.most));
      bool divides =
          gemm.m % plan.tile_m == 0 && gemm.n % plan.tile_n == 0 && gemm.k % plan.tile_k == 0;
      bool fits = plan.stages >= 1 && plan.stages <= fitting && fitting >= pace.least &&
                  plan.warps() * machine.lanes <= target.max_threads &&
                  gemm.m / plan.tile_m <= target.most_grid_blocks;
      if (!divides || !fits) continue;
      SetCost(gemm, target, machine, &plan);
      plans.push_back(plan);
    }
  return plans;
}

class Scheduler {
 public:
  Scheduler(Schedule* schedule, const std::string& block, const Gemm& gemm, const std::string& type,
            const P& plan, const MatrixInstructions& machine)
      : schedule_(*schedule),
        block_(block),
        type_(type),
        gemm_(gemm),
        plan_(plan),
        machine_(machine) {}

  void Run() {
    const std::string& reader = gemm_.epilogue;
    bool shares_sums = SharesAccumulators(machine_, gemm_);
    if (!reader.empty())
      schedule_.SetScope(gemm_.c->name, shares_sums ? tir::StorageScope::kShared
                                                    : tir::StorageScope::kFragmentAccumulator);
    Tile();
    Stage left = Load(gemm_.a), right = Load(gemm_.b);
    std::string sums = KeepSums(shares_sums ? "" : reader);
    Names read;
    if (shares_sums) read = schedule_.ReverseComputeAt(reader, Loop("jb"), Own("r", "i", "j"));
    schedule_.DecomposeReduction(block_, Loop("lo"), Name("init"));
    BindWarps(Name("init"));
    BindWarps(block_);
    Names right_fragment = schedule_.ComputeAt(right.fragment, Loop("lk"), Own("bf", "k", "j"));
    Names left_fragment = schedule_.ComputeAt(left.fragment, Loop("lk"), Own("af", "i", "k"));
    Names right_copy = schedule_.ComputeAt(right.shared, Loop("lo"), Own("bs", "k", "j"));
    Names left_copy = schedule_.ComputeAt(left.shared, Loop("lo"), Own("as", "i", "k"));
    auto layout = [&](const std::string& buffer, Fragment fragment, bool transposed) {
      schedule_.TransformLayout(buffer, IndexMap::Parse(machine_.layout(
                                            fragment, transposed, !gemm_.loops.batch.empty())));
    };
    layout(sums_buffer_, Fragment::kSum, false);
    layout(left.fragment, Fragment::kLeft, IsTransposed(gemm_.a));
    layout(right.fragment, Fragment::kRight, IsTransposed(gemm_.b));
    Align(left.shared, IsTransposed(gemm_.a) ? plan_.tile_m : plan_.tile_k);
    Align(right.shared, IsTransposed(gemm_.b) ? plan_.tile_k : plan_.tile_n);
    int64_t lanes = std::min(kCopyBytes / gemm_.a.bytes(), machine_.copy_lanes);
    Share(left.shared, left_copy, "as", lanes);
    Share(right.shared, right_copy, "bs", lanes);
    Multiply();
    LoadTiles(left.fragment, left_fragment, "af", gemm_.a);
    LoadTiles(right.fragment, right_fragment, "bf", gemm_.b);
    Store(sums);
    if (shares_sums) Share(reader, read, "r", machine_.copy_lanes);
    int64_t stages = std::min(plan_.stages, gemm_.k / plan_.tile_k);
    if (stages > 1) schedule_.Pipeline(lo_, {0, 0, stages - 1}, {0});
  }

 private:
  struct Stage {
    std::string shared, fragment;  // blocks and buffers
  };

  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  std::string Intrinsic(const std::string& what) const { return machine_.prefix + "_" + what; }
  Names Own(const std::string& prefix, const std::string& a, const std::string& b) const {
    return {Name(prefix + a), Name(prefix + b)};
  }
  // One of the loops around the block.
  std::string Loop(const std::string& what) const { return block_ + "." + Name(what); }

  void Tile() {
    int64_t rows = plan_.tile_m / plan_.warps_m / machine_.tile,
            columns = plan_.tile_n / plan_.warps_n / machine_.tile;
    schedule_.Split(block_ + "." + gemm_.loops.m, {plan_.warps_m, rows, machine_.tile},
                    {Name("ib"), Name("iw"), Name("it"), Name("ii")});
    schedule_.Split(block_ + "." + gemm_.loops.n, {plan_.warps_n, columns, machine_.tile},
                    {Name("jb"), Name("jw"), Name("jt"), Name("ji")});
    schedule_.Split(block_ + "." + gemm_.loops.k, {plan_.tile_k / machine_.tile, machine_.tile},
                    {Name("lo"), Name("lk"), Name("li")});
    lo_ = Name("lo");
    Names order;
    if (!gemm_.loops.batch.empty()) order.push_back(block_ + "." + gemm_.loops.batch[0]);
    for (const char* loop : {"ib", "jb", "lo", "iw", "jw", "lk", "it", "jt", "ii", "ji", "li"})
      order.push_back(Loop(loop));
    schedule_.Reorder(order);
    if (!gemm_.loops.batch.empty()) schedule_.Bind(order[0], "blockIdx.z");
    schedule_.Bind(Loop("ib"), "blockIdx.y");
    schedule_.Bind(Loop("jb"), "blockIdx.x");
  }

  // The accumulators are a fragment; returns the block that takes them to memory. A result that one
  // other block reads, to round it, is the fragment itself.
  std::string KeepSums(std::string reader) {
    sums_buffer_ = gemm_.c->name;
    if (reader.empty())
      sums_buffer_ = reader = schedule_.CacheWrite(
          block_, gemm_.c->name, tir::StorageScope::kFragmentAccumulator, Name("acc"));
    schedule_.ReverseComputeAt(reader, Loop("jb"), {Name("ci"), Name("cj")});
    return reader;
  }
  void BindWarps(const std::string& block) {
    schedule_.Bind(block + "." + Name("iw"), "threadIdx.z");
    schedule_.Bind(block + "." + Name("jw"), "threadIdx.y");
  }

  Stage Load(const GemmOperand& operand) {
    Stage stage;
    stage.shared = schedule_.CacheRead(block_, operand.name, tir::StorageScope::kShared,
                                       Name(operand.is_a ? "as" : "bs"));
    stage.fragment = schedule_.CacheRead(
        block_, stage.shared,
        operand.is_a ? tir::StorageScope::kFragmentA : tir::StorageScope::kFragmentB,
        Name(operand.is_a ? "af" : "bf"));
    return stage;
  }

  void Align(const std::string& block, int64_t row) {
    constexpr int64_t kBanks = 128;  // bytes
    int64_t line = kBanks / gemm_.a.bytes();
    schedule_.StorageAlign(block, gemm_.loops.batch.empty() ? 0 : 1, line,
                           Padded(row, gemm_.a.bytes()) % line);
  }

  // All threads of a block copy a tile, each a vector at a time.
  void Share(const std::string& block, const Names& loops, const std::string& prefix,
             int64_t lanes) {
    std::string all =
        schedule_.Fuse({block + "." + loops[0], block + "." + loops[1]}, Name(prefix));
    Names parts =
        schedule_.Split(block + "." + all, {plan_.warps_m, plan_.warps_n, machine_.lanes, lanes},
                        {Name(prefix + "n"), Name(prefix + "z"), Name(prefix + "y"),
                         Name(prefix + "x"), Name(prefix + "v")});
    schedule_.Unroll(block + "." + parts[0]);
    schedule_.Bind(block + "." + parts[1], "threadIdx.z");
    schedule_.Bind(block + "." + parts[2], "threadIdx.y");
    schedule_.Bind(block + "." + parts[3], "threadIdx.x");
    schedule_.Vectorize(block + "." + parts[4]);
  }

  void Multiply() {
    for (const std::string& block : {Name("init"), block_})
      for (const char* loop : {"it", "jt"}) schedule_.Unroll(block + "." + Name(loop));
    schedule_.Unroll(Loop("lk"));
    schedule_.Tensorize(Name("init") + "." + Name("ii"), Intrinsic("fill"));
    schedule_.Tensorize(Loop("ii"), Intrinsic(type_));
  }

  // One dimension of what a warp loads is a tile, the other one several.
  void LoadTiles(const std::string& block, const Names& loops, const std::string& prefix,
                 const GemmOperand& operand) {
    bool tiles_first = operand.k_contiguous();
    const std::string& split = loops[tiles_first ? 0 : 1];
    Names parts = schedule_.Split(block + "." + split, {machine_.tile},
                                  {Name(prefix + "t"), Name(prefix + "r")});
    std::string outer = block + "." + parts[0], inner = block + "." + parts[1],
                other = block + "." + loops[tiles_first ? 1 : 0];
    Names order = tiles_first ? Names{outer, inner, other} : Names{outer, other, inner};
    schedule_.Reorder(order);
    schedule_.Unroll(outer);
    schedule_.Tensorize(order[1], Intrinsic("load_") + (operand.is_a ? "a" : "b") +
                                      (IsTransposed(operand) ? "t_" : "_") + type_);
  }

  void Store(const std::string& block) {
    auto split = [&](const char* loop, int64_t extent, const Names& names) {
      schedule_.Split(block + "." + Name(loop), {extent / machine_.tile, machine_.tile}, names);
    };
    split("ci", plan_.tile_m / plan_.warps_m, {Name("cz"), Name("ct"), Name("cr")});
    split("cj", plan_.tile_n / plan_.warps_n, {Name("cy"), Name("cu"), Name("cv")});
    auto loop = [&](const char* name) { return block + "." + Name(name); };
    schedule_.Reorder({loop("cz"), loop("cy"), loop("ct"), loop("cu"), loop("cr"), loop("cv")});
    schedule_.Bind(loop("cz"), "threadIdx.z");
    schedule_.Bind(loop("cy"), "threadIdx.y");
    schedule_.Unroll(loop("ct"));
    schedule_.Unroll(loop("cu"));
    schedule_.Tensorize(loop("cr"), Intrinsic("store_" + TypeWrittenBy(block)));
  }
  std::string TypeWrittenBy(const std::string& block) const {
    for (const tir::BlockNode* writer : BlocksIn(schedule_.function()->body))
      for (const Access& access : AccessesOf(AsStmt(writer)))
        if (writer->name == block && access.store)
          for (const auto& [dtype, type] : machine_.types)
            if (access.buffer->dtype == dtype) return type;
    return "f32";
  }

  Schedule& schedule_;
  std::string block_, lo_, sums_buffer_, type_;
  const Gemm& gemm_;
  const P& plan_;
  const MatrixInstructions& machine_;
};

std::vector<P> Plans(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target,
                     const MatrixInstructions& machine, const Wanted<P>& want) {
  Gemm gemm = RequireGemm(schedule, block, Sizes::kStatic);
  TypeOf(gemm, target, machine);
  CheckBatch(block, gemm, target);
  if (!tir::HasFlag(schedule.function(), tir::attr::kReassociate))
    Refuse("matrix instructions sum in another order, and the function does not say reassociate");
  std::vector<P> plans = EnumeratePlans(gemm, target, machine, want);
  if (plans.empty())
    Refuse("no tile divides M = " + std::to_string(gemm.m) + ", N = " + std::to_string(gemm.n) +
           " and K = " + std::to_string(gemm.k) + " and fits in shared memory");
  return plans;
}

}  // namespace

void RegisterMatrixMatmul(const MatrixInstructions& instructions) {
  RegisterRule({.name = instructions.rule,
                .description = instructions.description,
                .kinds = {BlockKind::kMatmul},
                .fits = instructions.fits,
                .priority = 100,
                .planned = Planned<P>(
                    [instructions](Schedule* schedule, const BlockInfo& block,
                                   const TargetInfo& target, const Wanted<P>& want) {
                      return Plans(*schedule, block, target, instructions, want);
                    },
                    [instructions](Schedule* schedule, const BlockInfo& block,
                                   const TargetInfo& target, const P& plan) {
                      Gemm gemm = RequireGemm(*schedule, block, Sizes::kStatic);
                      std::string type = TypeOf(gemm, target, instructions);
                      Scheduler(schedule, block.name, gemm, type, plan, instructions).Run();
                    })});
}

}  // namespace tern::schedule
