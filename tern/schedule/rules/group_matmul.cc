// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/group_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tern/ir/structural.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/group_fragments.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/matrix_fragments.h"
#include "tern/schedule/rules/operand_copies.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/attributes.h"
#include "tern/tir/group_intrinsics.h"

namespace tern::schedule {
namespace {

// Copies under way, the tile that is multiplied and the one that may still be.
constexpr int64_t kMostStages = 5, kLeastStages = 2, kLateVersions = 1;

// Rows of tiles that thread blocks walk column by column, at most.
constexpr int64_t kRowsOfTiles = 8;

// For the cost model, measured on an H200. Bytes of a row of A and of a column of B that a
// multiprocessor multiplies in a cycle; cycles for an element of a tile before the first step and
// behind the last one, which another thread block on the multiprocessor hides in part.
constexpr double kBytesPerCycle = 4096, kEndCycles = 0.55, kEndCyclesBeside = 0.42;
// Registers of a multiprocessor, and of a thread beside its accumulators.
constexpr int64_t kRegisters = 65536, kOtherRegisters = 48;
// The same with roles: copies of the next tile run beside the stores. For each operation of the
// epilogue, and until the next group has its turn.
constexpr double kEndCyclesOfRoles = 0.18, kCyclesPerOperation = 0.0045, kTurnCycles = 450;
// Bytes of L2 that a multiprocessor reads in a cycle, which are all that may be slower than the
// instructions then; in lines of so many. A row that lies in two of them takes longer.
constexpr double kL2BytesOfRoles = 58, kTwoLines = 1.65;
constexpr int64_t kLineBytes = 128;
// Barriers in shared memory, and what is lost to alignment.
constexpr int64_t kBarrierBytes = 1024;
// Stages with which two thread blocks run on a multiprocessor.
constexpr int64_t kFewStages = 2;

// Groups that take turns: one stores while the other one multiplies. A thread has no more
// accumulators than this.
constexpr int64_t kTurns = 2, kMostAccumulators = 128;

// Few rows of A, whose product is bound by memory that reads B: M and N change places (swapped
// operands), so that the 64 rows of an instruction are columns of B, and most of shared memory is
// stages. How many rows are few: of two, the lanes of a fragment are not told apart when it is
// stored.
constexpr int64_t kLeastRows = 3, kFewRows = 32;
// For their cost: bytes that a multiprocessor copies in a cycle; and cycles until a tile is stored.
constexpr double kBytesOfFewRows = 40, kStoreCycles = 500;
// What matrix instructions of single warps take there: cycles to start, and for the second kernel
// of parts of K, and what they reach of the speed of memory.
constexpr double kStartOfWarps = 4500, kMemoryShareOfWarps = 0.67;
// FMAs of a multiprocessor in a cycle.
constexpr double kFmaPerCycle = 4096;

// To choose from, the largest first.
struct GroupTiles {
  int64_t rows, columns;
};
constexpr GroupTiles kTiles[] = {{128, 256}, {192, 192}, {128, 192}, {128, 128},
                                 {128, 64},  {64, 128},  {64, 64}};

struct GroupPlan : DeviceGemmPlan {
  static const std::vector<PlanField<GroupPlan>>& Fields() {
    using P = GroupPlan;
    static const std::vector<PlanField<P>> fields = {
        {"tile_m", &P::tile_m}, {"tile_n", &P::tile_n},   {"tile_k", &P::tile_k},
        {"stages", &P::stages}, {"split_k", &P::split_k}, {"roles", &P::roles}};
    return fields;
  }
  // 1: a warp of its own copies, and thread blocks compute tile after tile; 2: and two groups of
  // warps take these in turn.
  int64_t roles = 0;
  bool takes_turns() const { return roles == kTurns; }
  int64_t groups() const { return takes_turns() ? 1 : tile_m / kGroupBlock; }
  // Fewer rows than those of an instruction are its columns.
  bool swaps_operands() const { return tile_m < kGroupBlock; }
  GroupPlan Swapped() const {
    GroupPlan plan = *this;
    std::swap(plan.tile_m, plan.tile_n);
    return plan;
  }
};
using P = GroupPlan;

// The same results as the transpose of C = transpose of B * transpose of A. C stays where it is.
Gemm Swapped(Gemm gemm) {
  std::swap(gemm.a, gemm.b);
  std::swap(gemm.a.is_a, gemm.b.is_a);
  std::swap(gemm.loops.m, gemm.loops.n);
  std::swap(gemm.m, gemm.n);
  std::swap(gemm.dynamic_m, gemm.dynamic_n);
  gemm.c_m_dim = gemm.c->shape.size() - 1;
  return gemm;
}

int64_t StageBytes(const Gemm& gemm, const P& plan) {
  return (plan.tile_m + plan.tile_n) * plan.tile_k * gemm.a.bytes();
}
// Thread blocks on a multiprocessor.
int64_t ResidentBlocks(const Gemm& gemm, const P& plan, const TargetInfo& target) {
  int64_t threads = plan.groups() * kGroupWarps * kGroupLanes,
          registers = plan.tile_n / 2 + kOtherRegisters;
  return std::min(target.shared_bytes / ((plan.stages + kLateVersions) * StageBytes(gemm, plan)),
                  kRegisters / (threads * registers));
}

// Whether all sizes of a GEMM are constant, or all but M, which is the number of rows of a tensor
// of the function: no stride depends on it.
bool HasConstantStrides(const Schedule& schedule, const Gemm& gemm) {
  if (gemm.dynamic_n || gemm.dynamic_k || gemm.dynamic_batch) return false;
  const auto& params = schedule.function()->params;
  return !gemm.dynamic_m || std::any_of(params.begin(), params.end(), [&](const tir::Param& param) {
    return param.is_tensor() && param.buffer->name == gemm.a.name && gemm.a.own_dim == 0 &&
           param.buffer->shape[0].As<ir::VarNode>();
  });
}

// Whether a warp of its own can copy: by bulk copies, of tensors of 16-bit elements whose strides
// are constant, along their own axes.
bool MayHaveRoles(const Schedule& schedule, const Gemm& gemm, const P& plan,
                  const TargetInfo& target) {
  int64_t accumulators = plan.tile_m * plan.tile_n / plan.groups() / tir::kWarpGroupThreads;
  return accumulators <= kMostAccumulators && gemm.a.dtype.bits() == 16 && plan.split_k == 1 &&
         HasConstantStrides(schedule, gemm) &&
         (plan.stages + kLateVersions) * StageBytes(gemm, plan) + kBarrierBytes <=
             target.shared_bytes;
}

// What a step reads of an operand: rows of 128 bytes of a box, which lie in two lines where rows of
// the tensor are not whole lines.
double LineBytes(const GemmOperand& operand, int64_t own, int64_t k, int64_t tile) {
  int64_t row = (operand.k_contiguous() ? k : own) * operand.bytes();
  return static_cast<double>(tile * kGroupBlock * operand.bytes()) *
         (row % kLineBytes ? kTwoLines : 1);
}

// What the epilogue does for an element: operations beside that it is stored, and bytes that it
// stores and reads.
struct EpilogueWork {
  double operations = 0, bytes = 0;
};
EpilogueWork WorkOfEpilogue(const Schedule& schedule, const Gemm& gemm) {
  EpilogueWork work{0, static_cast<double>(gemm.c->dtype.bytes())};
  if (gemm.epilogue.empty()) return work;
  constexpr int64_t kStored = 3;
  BlockInfo block = DescribeBlock(schedule, gemm.epilogue);
  work.operations = static_cast<double>(std::max<int64_t>(block.operations - kStored, 0));
  work.bytes = 0;
  for (const BlockAccess& access : block.accesses)
    if (!access.buffer.same(gemm.c) && access.buffer->shape.size() == gemm.c->shape.size())
      work.bytes += static_cast<double>(access.buffer->dtype.bytes());
  return work;
}

void SetCost(const Gemm& gemm, TargetInfo target, int64_t multiprocessors, const EpilogueWork& work,
             P* plan) {
  if (plan->roles > 0) target.busy_blocks = multiprocessors;  // each computes tile after tile
  auto elements = static_cast<double>(plan->tile_m * plan->tile_n);
  TileCycles tile{elements * tir::kWarpGroupRowBytes / kBytesPerCycle,
                  static_cast<double>(StageBytes(gemm, *plan))};
  if (plan->roles > 0) {
    double bytes = LineBytes(gemm.a, gemm.m, gemm.k, plan->tile_m) +
                   LineBytes(gemm.b, gemm.n, gemm.k, plan->tile_n);
    tile = {std::max(tile.multiply, bytes / kL2BytesOfRoles)};
  }
  plan->cycles = DeviceGemmCycles(gemm, *plan, tile, target);
  int64_t blocks =
      gemm.batch * CeilDiv(gemm.m, plan->tile_m) * CeilDiv(gemm.n, plan->tile_n) * plan->split_k;
  bool beside = blocks > target.busy_blocks && ResidentBlocks(gemm, *plan, target) > 1;
  auto waves = static_cast<double>(CeilDiv(blocks, target.busy_blocks));
  double end = elements * ((plan->roles > 0 ? kEndCyclesOfRoles
                            : beside        ? kEndCyclesBeside
                                            : kEndCycles) +
                           kCyclesPerOperation * work.operations);
  if (!plan->takes_turns()) {
    plan->cycles += waves * end;
    return;
  }
  // Half of the warps take twice as long, beside the copies and multiplications of the next tile.
  double turn = kTurnCycles + elements * work.bytes / kL2BytesOfRoles,
         steps = static_cast<double>(CeilDiv(gemm.k, plan->tile_k)) * tile.multiply + turn;
  plan->cycles += waves * (turn + std::max(2 * end - steps, 0.0) / kTurns) + 2 * end;
}

std::vector<P> EnumeratePlans(const Schedule& schedule, const Gemm& gemm, const TargetInfo& target,
                              const Wanted<P>& want, int64_t multiprocessors) {
  std::vector<P> plans;
  EpilogueWork work = WorkOfEpilogue(schedule, gemm);
  for (const GroupTiles& tiles : kTiles) {
    P plan;
    plan.tile_m = tiles.rows;
    plan.tile_n = tiles.columns;
    plan.tile_k = tir::kWarpGroupRowBytes / gemm.a.bytes();
    int64_t fitting = target.shared_bytes / StageBytes(gemm, plan) - kLateVersions;
    std::vector<int64_t> stages = {want.Or(&P::stages, std::min(fitting, kMostStages))};
    if (kFewStages < stages[0] && want.Or(&P::stages, kFewStages) == kFewStages)
      stages.push_back(kFewStages);
    bool fits = stages[0] >= 1 && stages[0] <= fitting && fitting >= kLeastStages &&
                plan.groups() * kGroupWarps * kGroupLanes <= target.max_threads &&
                CeilDiv(gemm.m, plan.tile_m) <= target.most_grid_blocks;
    if (!fits) continue;
    for (int64_t count : stages)
      for (int64_t parts : SplitsOfK(schedule, gemm, plan, target)) {
        plan.stages = count;
        plan.split_k = parts;
        for (int64_t roles : {kTurns, int64_t{1}, int64_t{0}}) {
          plan.roles = roles;
          if (roles > 0 && (count != stages[0] || !MayHaveRoles(schedule, gemm, plan, target)))
            continue;
          SetCost(gemm, target, multiprocessors, work, &plan);
          plans.push_back(plan);
        }
      }
  }
  return plans;
}

// Whether bulk copies take an operand: rows of a tensor of the function, of 16-bit elements, whole
// 16 bytes each.
bool MayCopyInBulk(const Schedule& schedule, const GemmOperand& operand) {
  const auto& params = schedule.function()->params;
  auto param = std::find_if(params.begin(), params.end(), [&](const tir::Param& one) {
    return one.is_tensor() && one.buffer->name == operand.name;
  });
  return param != params.end() && param->buffer->strides.empty() && operand.dtype.bits() == 16 &&
         IsMultiple(param->buffer->shape.back(), kCopyBytes / operand.bytes());
}

// A step takes a multiprocessor no less than its part of what memory takes for all.
void SetFewRowsCost(const Gemm& gemm, TargetInfo target, int64_t multiprocessors, P* plan) {
  target.busy_blocks = multiprocessors;
  plan->limit = LeastDeviceCycles(gemm, kFmaPerCycle, target);
  int64_t blocks = gemm.batch * CeilDiv(gemm.m, plan->tile_m) * CeilDiv(gemm.n, plan->tile_n) *
                   plan->split_k,
          tiles = CeilDiv(blocks, multiprocessors),
          steps = tiles * CeilDiv(CeilDiv(gemm.k, plan->split_k), plan->tile_k);
  auto bytes = static_cast<double>(StageBytes(gemm, *plan));
  plan->cycles =
      DeviceGemmCycles(
          gemm, *plan,
          {std::max(bytes / kBytesOfFewRows, plan->limit / static_cast<double>(steps))}, target) +
      static_cast<double>(tiles) * kStoreCycles;
}

// Plans with swapped operands, where there are few rows that are copied by a warp of its own.
std::vector<P> EnumerateFewRows(const Schedule& schedule, const BlockInfo& block, const Gemm& gemm,
                                const TargetInfo& target, const Wanted<P>& want,
                                int64_t multiprocessors) {
  bool fits = gemm.m >= kLeastRows && gemm.m <= kFewRows &&
              std::min(gemm.n, gemm.k) >= kGroupBlock && !block.is_batched &&
              gemm.a.k_contiguous() && HasConstantStrides(schedule, gemm) &&
              MayCopyInBulk(schedule, gemm.a) && MayCopyInBulk(schedule, gemm.b);
  std::vector<P> plans;
  if (!fits) return plans;
  int64_t rows = gemm.dynamic_m ? kFewRows : gemm.m;
  const auto *first = std::begin(tir::kNarrowColumns), *end = std::end(tir::kNarrowColumns),
             *most = std::find_if(first, end, [&](int narrow) { return narrow >= rows; });
  P plan;
  plan.tile_m = want.Or(&P::tile_m, *most);
  if (std::find(first, most + 1, plan.tile_m) == most + 1) return plans;
  plan.tile_k = tir::kWarpGroupRowBytes / gemm.a.bytes();
  plan.roles = 1;
  for (int64_t columns : {2 * kGroupBlock, kGroupBlock}) {
    plan.tile_n = columns;
    int64_t fitting =
        (target.shared_bytes - kBarrierBytes) / StageBytes(gemm, plan) - kLateVersions;
    // Of a power of two of tiles the place of a step is a mask.
    auto tiles =
        static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(fitting + kLateVersions)));
    plan.stages = want.Or(&P::stages, tiles - kLateVersions);
    if (plan.stages < kLeastStages || plan.stages > fitting ||
        CeilDiv(gemm.n, columns) > target.most_grid_blocks || gemm.n <= columns - kGroupBlock)
      continue;
    for (int64_t parts : SplitsOfK(schedule, gemm, plan, target)) {
      plan.split_k = parts;
      SetFewRowsCost(gemm, target, multiprocessors, &plan);
      plans.push_back(plan);
    }
  }
  return plans;
}

class GroupScheduler : public GroupSteps {
 public:
  // `exchanges`: lanes exchange accumulators before they store them. `swapped`: GEMM and plan are;
  // C is transposed.
  GroupScheduler(Schedule* schedule, const BlockRef& block, const Gemm& gemm,
                 const std::string& type, const P& plan, const GroupInstructions& instructions,
                 bool exchanges, bool swapped)
      : GroupSteps(schedule, block, gemm, plan, plan.takes_turns() ? 0 : plan.groups()),
        plan_(plan),
        multiprocessors_(instructions.multiprocessors),
        prefix_(instructions.prefix),
        intrinsic_(
            fmt::format("{}_{}_{}_{}", instructions.prefix, OperandLayout(), plan.tile_n, type)),
        exchanges_(exchanges),
        swapped_(swapped) {}

  void Run() {
    BlockRef reader = KeepSums();
    LoopRef tile = Tile();
    CopyRef left = CopyToShared(gemm_.a), right = CopyToShared(gemm_.b);
    if (reader.empty()) reader = CopySums();
    BufferRef acc = sums_;  // as the instructions have them
    CopyRef own;
    LoopRefs exchanged;
    if (exchanges_) {
      acc = own = schedule_.CacheWrite(block_, sums_, kSumsScope, Name("own"));
      exchanged = schedule_.ReverseComputeAt(own, tile, {Name("ri"), Name("rj")});
    }
    LoopRefs stored = schedule_.ReverseComputeAt(reader, tile, {Name("ci"), Name("cj")});
    BlockRef init = schedule_.DecomposeReduction(block_, At("lo"), Name("init"));
    LoopRefs right_copy = schedule_.ComputeAt(right, At("lo"), {Name("bsk"), Name("bsj")});
    LoopRefs left_copy = schedule_.ComputeAt(left, At("lo"), {Name("asi"), Name("ask")});
    SetGroupFragmentLayout(&schedule_, acc, gemm_.c->shape.size(), plan_.tile_n, swapped_);
    SetBlockLayout(left, gemm_.a.rank, kGroupBlock);
    SetBlockLayout(right, gemm_.b.rank, swapped_ ? plan_.tile_n : kGroupBlock);
    ShareAmongThreads(left, left_copy, "as");
    // Each thread has a part of a few rows.
    if (swapped_)
      copy_bytes_ = std::min(
          copy_bytes_, plan_.tile_n * tir::kWarpGroupRowBytes / groups() / tir::kWarpGroupThreads);
    ShareAmongThreads(right, right_copy, "bs");
    ShareGroups(At(init, "ig"));
    schedule_.Unroll(
        ShareAmongLanes(&schedule_, init, At("ii"), At("ji"), plan_.tile_n, 0, Name("f")).vector);
    ShareGroups(At("ig"));
    schedule_.Tensorize(At("ii"), intrinsic_);
    if (exchanges_) Exchange(own, exchanged);
    int64_t neighbours = exchanges_ ? kRowNeighbours : kPairNeighbours;
    int64_t vector = std::min(neighbours, kCopyBytes / BytesWrittenBy(reader));
    if (swapped_) {
      std::swap(stored[0], stored[1]);
      schedule_.Reorder(stored.Of(reader));
    }
    SharedElements shared = ShareAmongLanes(&schedule_, reader, stored[0], stored[1], plan_.tile_n,
                                            groups(), Name("e"), neighbours, vector);
    // Neighbours of a lane are rows of C where that is transposed.
    if (swapped_)
      schedule_.Unroll(shared.vector);
    else
      schedule_.Vectorize(shared.vector);
    if (groups() == 0) schedule_.Unroll(shared.blocks);
    if (plan_.roles > 0)
      for (const tir::Buffer& tensor : TilesReadBy(reader))
        Try(&schedule_, [&](Schedule* attempt) { LoadAhead(attempt, reader, tensor); });
    if (plan_.roles == 0 || !Try(&schedule_, [&](Schedule* attempt) { SplitRoles(attempt); }))
      PipelineCopies();
  }

 private:
  // Returns the last loop of the grid.
  LoopRef Tile() {
    Split(gemm_.loops.m, {plan_.tile_m / kGroupBlock, kGroupBlock}, {"ib", "ig", "ii"});
    Split(gemm_.loops.n, {plan_.tile_n}, {"jb", "ji"});
    Split(gemm_.loops.k, {plan_.tile_k}, {"lo", "li"});
    return OrderLoops({"ig", "ii", "ji", "li"}, RowsOfTiles());
  }

  // A warp copies, the others multiply. Where copies turn out to be none of boxes, or tensors are
  // not aligned, the loop is pipelined as without roles.
  void SplitRoles(Schedule* schedule) const {
    // Each is written out where there are no bulk copies.
    int64_t most = swapped_ ? std::min(plan_.stages, kMostStages) : plan_.stages,
            stages = std::max<int64_t>(std::min(most, CeilDiv(gemm_.k, plan_.tile_k)), 2);
    schedule->Pipeline(loops_.Bare("lo"), {0, 0, stages - 1}, {0},
                       PipelineRoles{plan_.stages + kLateVersions, multiprocessors_,
                                     plan_.takes_turns() ? kTurns : 1});
  }

  // Tensors of 16 bits of which the epilogue reads the element that it stores.
  std::vector<tir::Buffer> TilesReadBy(const BlockRef& reader) const {
    std::vector<tir::Buffer> tensors;
    if (!exchanges_ || gemm_.epilogue.empty()) return tensors;
    std::vector<Access> accesses = AccessesOf(AsStmt(schedule_.At(reader)));
    auto store = std::find_if(accesses.begin(), accesses.end(),
                              [](const Access& access) { return access.store; });
    for (const Access& access : accesses) {
      bool is_known = std::any_of(tensors.begin(), tensors.end(), [&](const tir::Buffer& tensor) {
        return tensor->name == access.buffer->name;
      });
      bool is_other = !access.store && access.buffer->scope == tir::StorageScope::kGlobal &&
                      access.buffer->dtype.bits() == 16 && !is_known;
      if (is_other &&
          std::equal(access.indices.begin(), access.indices.end(), store->indices.begin(),
                     store->indices.end(), [](const ir::Expr& a, const ir::Expr& b) {
                       return ir::StructuralEqual(a, b);
                     }))
        tensors.push_back(access.buffer);
    }
    return tensors;
  }
  // A lane loads all that it reads of such a tensor before it uses the first of it, instead of
  // waiting for memory once for every 16 bytes.
  void LoadAhead(Schedule* schedule, const BlockRef& reader, const tir::Buffer& tensor) {
    size_t rank = gemm_.c->shape.size();
    CopyRef copy = schedule->CacheRead(reader, tensor, kSumsScope, Name("ahead"));
    LoopRefs loops = LoopsOfAxes(*schedule, copy);
    if (loops.size() != rank) Refuse("rows and columns of " + tensor->name + " are no axes");
    SetGroupRowLayout(schedule, copy, rank, plan_.tile_n);
    SharedElements shared =
        ShareAmongLanes(schedule, copy, loops[rank - 2], loops[rank - 1], plan_.tile_n, groups(),
                        Name("h"), kRowNeighbours, kRowNeighbours);
    schedule->Vectorize(shared.vector);
    if (groups() == 0) schedule->Unroll(shared.blocks);
  }

  // A loop over blocks of 64 rows: each is a group's, or all are.
  void ShareGroups(const LoopRef& loop) {
    if (groups() > 0)
      schedule_.Bind(loop, "threadIdx.z");
    else
      schedule_.Unroll(loop);
  }

  int64_t RowsOfTiles() const {
    if (swapped_) return 1;
    int64_t all = gemm_.dynamic_m ? 1 : CeilDiv(gemm_.m, plan_.tile_m), rows = kRowsOfTiles;
    while (all % rows != 0) --rows;
    return rows;
  }

  // The accumulators are a fragment, the block that reads them the epilogue or a copy.
  BlockRef KeepSums() {
    if (!gemm_.epilogue.empty()) schedule_.SetScope(sums_, kSumsScope);
    return gemm_.epilogue;
  }
  BlockRef CopySums() {
    CopyRef copy = schedule_.CacheWrite(block_, gemm_.c, kSumsScope, Name("acc"));
    sums_ = copy;
    return copy;
  }

  // A lane gets neighbours of a row.
  void Exchange(const BlockRef& block, const LoopRefs& loops) {
    SetGroupRowLayout(&schedule_, sums_, gemm_.c->shape.size(), plan_.tile_n);
    auto [groups, rows] =
        schedule_.Split(loops[0].Of(block), {kGroupBlock}, {Name("rg"), Name("rr")});
    ShareGroups(groups.Of(block));
    schedule_.Tensorize(rows.Of(block), fmt::format("{}_rows_{}{}", prefix_, plan_.tile_n,
                                                    gemm_.c->dtype.is_float() ? "" : "_s32"));
  }
  int64_t BytesWrittenBy(const BlockRef& block) const {
    for (const Access& access : AccessesOf(AsStmt(schedule_.At(block))))
      if (access.store) return std::max<int64_t>(access.buffer->dtype.bytes(), 1);
    return kCopyBytes;
  }

  // Blocks of so many rows of 128 bytes, one behind the other for one instruction.
  void SetBlockLayout(const BufferRef& buffer, size_t rank, int64_t rows) {
    SetMatrixLayout(&schedule_, buffer, rank,
                    fmt::format("j // {0}, i // {1}, i % {1} * {0} + j % {0}", plan_.tile_k, rows));
  }

  static constexpr auto kSumsScope = tir::StorageScope::kFragmentAccumulator;
  const P& plan_;
  int64_t multiprocessors_;
  std::string prefix_, intrinsic_;
  BufferRef sums_ = gemm_.c;
  bool exchanges_, swapped_;
};

// What the instructions call the type of the operands. Refuses what they do not multiply.
std::string TypeOf(const Schedule& schedule, const Gemm& gemm) {
  DataType dtype = gemm.a.dtype;
  const auto* type = std::find_if(
      std::begin(tir::kGroupTypes), std::end(tir::kGroupTypes), [&](const tir::GroupType& one) {
        return one.element == dtype && one.sum == gemm.c->dtype && gemm.b.dtype == dtype;
      });
  if (type == std::end(tir::kGroupTypes))
    Refuse("the machine does not multiply " + dtype.str() + " by " + gemm.b.dtype.str() +
           " with accumulators of " + gemm.c->dtype.str());
  if (dtype == DataType::Float(32) && !tir::HasFlag(schedule.function(), tir::attr::kAllowTf32))
    Refuse("float32 would be multiplied as tf32, and the function does not say allow_tf32");
  return type->name;
}

// Operands of other sizes than 16 bits are read along K.
void PutStepsLast(Schedule* schedule, const BlockRef& block, const Gemm& gemm,
                  const TargetInfo& target) {
  if (gemm.a.dtype.bits() == 16) return;
  for (const GemmOperand& operand : {gemm.a, gemm.b}) {
    if (operand.k_contiguous()) continue;
    BlockInfo info = DescribeBlock(*schedule, block);
    for (const BlockAccess& access : info.accesses)
      if (!access.store && access.buffer->name == operand.name) {
        CopyWithDimLast(schedule, block, access.buffer, operand.k_dim, target);
        break;
      }
  }
}

std::vector<P> Plans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                     const Wanted<P>& want, int64_t multiprocessors) {
  PutChannelsLast(schedule, block.ref, target);
  Gemm gemm = RequireDeviceGemm(schedule, block.ref, target);
  TypeOf(*schedule, gemm);
  CheckMatrixDims(gemm, target);
  auto require_reassociate = [&] {
    if (gemm.c->dtype.is_float() && !tir::HasFlag(schedule->function(), tir::attr::kReassociate))
      Refuse("matrix instructions sum in another order, and the function does not say reassociate");
  };
  if (std::vector<P> few = EnumerateFewRows(*schedule, block, gemm, target, want, multiprocessors);
      !few.empty()) {
    require_reassociate();
    double least = std::min_element(few.begin(), few.end(),
                                    [](const P& x, const P& y) { return x.cycles < y.cycles; })
                       ->cycles,
           of_warps = kStartOfWarps + few[0].limit / kMemoryShareOfWarps;
    if (!want.is_asked() && least > of_warps)
      Refuse("few rows take " + CyclesText(least) + " cycles; instructions of single warps take " +
             CyclesText(of_warps));
    return few;
  }
  if (std::min({gemm.m, gemm.n, gemm.k}) < kGroupBlock)
    Refuse("M, N or K is less than " + std::to_string(kGroupBlock));
  require_reassociate();
  PutStepsLast(schedule, block.ref, gemm, target);
  gemm = RequireDeviceGemm(schedule, block.ref, target);
  std::vector<P> plans = EnumeratePlans(*schedule, gemm, target, want, multiprocessors);
  if (plans.empty()) Refuse("no tile fits in shared memory");
  return plans;
}

// Whether neighbours along N lie side by side in the result, and are all stored, or none.
bool StoresNeighbours(const Schedule& schedule, const Gemm& gemm) {
  if (gemm.dynamic_n || gemm.n % kRowNeighbours != 0) return false;
  if (gemm.epilogue.empty()) return true;
  ir::Expr stored, loaded;
  for (const Access& access : AccessesOf(AsStmt(schedule.At(gemm.epilogue))))
    if (access.store)
      stored = access.indices.back();
    else if (access.buffer.same(gemm.c))
      loaded = access.indices.back();
  return stored.get() && loaded.get() && ir::StructuralEqual(stored, loaded);
}

void Apply(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
           const GroupInstructions& instructions, const P& plan) {
  GemmPart part = SplitK(schedule, block.ref, plan, target);
  std::string type = TypeOf(*schedule, part.gemm);
  if (plan.swaps_operands()) {
    Gemm gemm = Swapped(PadToTiles(schedule, part, plan));
    P swapped = plan.Swapped();
    GroupScheduler(schedule, part.block, gemm, type, swapped, instructions, false, true).Run();
    return;
  }
  bool exchanges = StoresNeighbours(*schedule, part.gemm);
  Gemm gemm = PadToTiles(schedule, part, plan);
  for (const GemmOperand& operand : {gemm.a, gemm.b}) CopyOddRows(schedule, operand, target);
  GroupScheduler(schedule, part.block, gemm, type, plan, instructions, exchanges, false).Run();
}

}  // namespace

void RegisterGroupMatmul(const GroupInstructions& instructions) {
  RegisterGroupAttention(instructions);
  RegisterRule(
      {.name = instructions.rule,
       .description = instructions.description,
       .kinds = {BlockKind::kMatmul, BlockKind::kConvolution, BlockKind::kReduction},
       .fits = instructions.fits,
       .priority = 110,
       .planned = Planned<P>(
           [instructions](Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                          const Wanted<P>& want) {
             return Plans(schedule, block, target, want, instructions.multiprocessors);
           },
           [instructions](Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                          const P& plan) { Apply(schedule, block, target, instructions, plan); })});
}

}  // namespace tern::schedule
