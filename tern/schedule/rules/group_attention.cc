// SPDX-License-Identifier: Apache-2.0
//
// Attention on matrix instructions of groups of four warps, in one kernel and one pass over the
// keys (roll), with all that is between the GEMMs in registers:
//
//   for batch, ib                            blockIdx.y, .x: tile_m queries, 64 for a group
//     Q_shared = copy
//     for jo, tile_n keys, pipelined in `stages`
//       K_shared, V_shared = copies          asynchronous; blocks of 64 x 64
//       scores = Q_shared * K_shared         fragments of the group
//       largest, powers, totals              a row is of four lanes; each has a copy of its results
//       sums = sums * change + powers * V_shared     powers are an operand in registers
//     O = epilogue(sums)                     by each lane of its own sums
//
// With roles (split_roles.h), where sizes are constant: Q, K and V are bulk copies of a warp of its
// own, and groups of consumers wait for tiles alone, not for each other: one multiplies while
// another one computes what is between the GEMMs. As many thread blocks as there are
// multiprocessors compute one tile of queries after another, where all have as many keys.
//
// Reductions of rows are of a lane's elements first, then of the parts of the four lanes (rfactor),
// by shuffles. Sizes that are no whole tiles are padded, as in matrix_attention.cc. Cycles of a
// step: both GEMMs and the elements, less what two thread blocks hide; or its copies.
// Declines what roll declines; a single query; heads of more than 256, or so short that most of a
// block is padding: matrix_attention.cc has smaller tiles.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/attention_parts.h"
#include "tern/schedule/rules/group_fragments.h"
#include "tern/schedule/rules/group_matmul.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/matrix_fragments.h"
#include "tern/schedule/rules/register_tiles.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// For the cost model, measured on an H200. FMAs of a multiprocessor in a cycle; instructions for an
// element between the GEMMs, and for a sum, which every step corrects; lanes, and bytes from L2,
// of a cycle; cycles of a step that nothing hides, and of a thread block beside its steps. Where
// several thread blocks run on a multiprocessor, one multiplies in part while another one does not,
// and starts or ends while others run.
constexpr double kFmaPerCycle = 2048, kElementInstructions = 7, kSumInstructions = 4.5,
                 kLanesPerCycle = 128, kBytesPerCycle = 32, kStepCycles = 150, kStartCycles = 3000,
                 kBeside = 0.85;
// With roles two groups hide most of their GEMMs behind each other's elements, which take longer
// than where more warps run.
constexpr double kRolesMultiply = 0.3, kRolesOthers = 1.7;
constexpr int64_t kRolesGroups = 2;
// Barriers in shared memory, and what is lost to alignment.
constexpr int64_t kBarrierBytes = 1024;
constexpr int64_t kRegisters = 65536, kOtherRegisters = 32;  // of a multiprocessor; of a thread
// Of scores, powers and sums: heads of 256 with 64 keys have 176.
constexpr int64_t kMostRegisters = 176;
constexpr int64_t kMostHead = 256, kLeastColumns = 16;
constexpr int64_t kCopies = 4;  // lanes that have parts of a row

struct GroupAttentionPlan : DeviceGemmPlan {
  static const std::vector<PlanField<GroupAttentionPlan>>& Fields() {
    using P = GroupAttentionPlan;
    static const std::vector<PlanField<P>> fields = {{"tile_m", &P::tile_m},
                                                     {"tile_n", &P::tile_n},
                                                     {"stages", &P::stages},
                                                     {"roles", &P::roles}};
    return fields;
  }
  int64_t roles = 0;  // 1: a warp of its own copies
  int64_t groups() const { return tile_m / kGroupBlock; }
};
using P = GroupAttentionPlan;

class GroupAttention : AttentionScheduler {
 public:
  GroupAttention(Schedule* schedule, const AttentionParts& parts, const P& plan,
                 const TargetInfo& target, const GroupInstructions& instructions)
      : AttentionScheduler(schedule, parts, target),
        plan_(plan),
        multiprocessors_(instructions.multiprocessors),
        prefix_(instructions.prefix) {}

  void Run() {
    Pad(plan_.tile_m, plan_.tile_n, kGroupBlock);
    std::string type = MatrixTypeOf(values_, target_, {});
    GroupSteps first(&schedule_, parts_.first, scores_, plan_),
        last(&schedule_, parts_.last, values_, plan_);
    size_t rank = scores_.c->shape.size();
    std::vector<RowBlock> between = RowBlocks();
    schedule_.SetScope(scores_.c, kElements);
    for (const RowBlock& block : between)
      if (!block.reduces) schedule_.SetScope(block.result, kElements);
    CopyRef v_shared = CopyToShared(parts_.last, values_.b, last.Name("bs")),
            k_shared = CopyToShared(parts_.first, scores_.b, first.Name("bs")),
            q_shared = CopyToShared(parts_.first, scores_.a, first.Name("as"));
    BlockRef reader = values_.epilogue;
    BufferRef sums = values_.c;
    if (reader.empty()) {
      CopyRef copy = schedule_.CacheWrite(parts_.last, sums, kElements, last.Name("acc"));
      reader = copy;
      sums = copy;
    } else {
      schedule_.SetScope(sums, kElements);
    }
    Tile(&first, &last, between);
    LoopRefs stored =
        schedule_.ReverseComputeAt(reader, last.At("ib"), {reader + "_i", reader + "_j"});
    schedule_.Roll(first.At("jo"), last.At("jo"));
    BufferRefs rows = RowBuffers(between);
    for (const BufferRef& buffer : rows) schedule_.SetScope(buffer, StorageScope::kWarp);
    BindGrid(last.At("ib"), plan_.tile_m);
    parts_of_lanes_.resize(between.size());
    for (size_t i = 0; i < between.size(); ++i)
      if (between[i].reduces) ReduceByLanes(i);
    // Each of the lanes that need them has a copy.
    schedule_.Replicate(rows, kCopies, IndexMap::Parse("(j) -> (j % 8 // 2)"));
    BlockRef init = schedule_.DecomposeReduction(parts_.first, first.At("lk"), first.Name("init"));
    BlockRefs of_sums;
    for (const char* suffix : {"_init", "_scale", "_divide"})
      if (BlockRef made = MadeOf(parts_.last, suffix)) of_sums.push_back(made);
    schedule_.Bind(first.At("ig"), "threadIdx.z");
    schedule_.Bind(last.At("ig"), "threadIdx.z");
    for (const BlockRef& block : of_sums) schedule_.Bind(last.At(block, "ig"), "threadIdx.z");
    LoopRef jo = last.At("jo");
    LoopRefs qs = schedule_.ComputeAt(q_shared, last.At("ib").Of(parts_.first),
                                      {first.Name("asi"), first.Name("ask")}),
             ks = schedule_.ComputeAt(k_shared, jo.Of(parts_.first),
                                      {first.Name("bsj"), first.Name("bsk")}),
             vs = schedule_.ComputeAt(v_shared, jo, {last.Name("bsk"), last.Name("bsj")});
    for (const BufferRef& buffer : rows) SetRowLayout(buffer, rank, "");
    for (size_t i = 0; i < between.size(); ++i)
      if (between[i].reduces) SetRowLayout(parts_of_lanes_[i], rank, "k, ");
    SetGroupFragmentLayout(&schedule_, scores_.c, rank, plan_.tile_n);
    for (const RowBlock& block : between)
      if (!block.reduces) SetGroupFragmentLayout(&schedule_, block.result, rank, plan_.tile_n);
    SetGroupFragmentLayout(&schedule_, sums, rank, head());
    SetMatrixLayout(&schedule_, q_shared, scores_.a.rank, kByColumns);
    SetMatrixLayout(&schedule_, k_shared, scores_.b.rank, kByColumns);
    SetMatrixLayout(&schedule_, v_shared, values_.b.rank, kByRows);
    first.ShareAmongThreads(q_shared, qs, "as");
    first.ShareAmongThreads(k_shared, ks, "bs");
    last.ShareAmongThreads(v_shared, vs, "bs");

    ShareElements(init, first.At("ii"), first.At("ji"), plan_.tile_n, 0);
    for (size_t i = 0; i < between.size(); ++i) {
      if (between[i].reduces)
        ShareRows(i);
      else
        ShareElements(parts_.between[i], rows_[i].At("ii"), rows_[i].At("ji"), plan_.tile_n,
                      plan_.groups());
    }
    for (const BlockRef& block : of_sums)
      ShareElements(block, last.At("ii"), values_.loops.n, head(), 0);
    schedule_.Vectorize(ShareAmongLanes(&schedule_, reader, stored[0], stored[1], head(),
                                        plan_.groups(), reader + "_e", kPairNeighbours,
                                        kPairNeighbours, true)
                            .vector);
    schedule_.Unroll(first.At("lk"));
    schedule_.Unroll(last.At("lk"));
    schedule_.Tensorize(first.At("ii"), fmt::format("{}_{}_{}_{}", prefix_, first.OperandLayout(),
                                                    plan_.tile_n, type));
    schedule_.Tensorize(
        last.At("ii"), fmt::format("{}_r{}_{}_{}", prefix_, last.OperandLayout()[1], head(), type));
    PipelineCopies(jo.Of({}), {k_shared, v_shared});
  }

 private:
  static constexpr auto kElements = StorageScope::kFragmentAccumulator;
  // Blocks of 64 x 64, one behind the other for one instruction.
  static constexpr const char *kByColumns = "j // 64, i // 64, i % 64 * 64 + j % 64",
                              *kByRows = "i // 64, j // 64, i % 64 * 64 + j % 64";

  int64_t head() const { return *ir::AsConstInt(values_.c->shape.back()); }

  void Tile(GroupSteps* first, GroupSteps* last, const std::vector<RowBlock>& between) {
    first->Split(scores_.loops.m, {plan_.groups(), kGroupBlock}, {"ib", "ig", "ii"});
    last->Split(values_.loops.m, {plan_.groups(), kGroupBlock}, {"ib", "ig", "ii"});
    first->Split(scores_.loops.n, {plan_.tile_n}, {"jo", "ji"});
    first->Split(scores_.loops.k, {kGroupBlock}, {"lk", "li"});
    Order(parts_.first, scores_.loops.batch,
          {first->At("ib"), first->At("jo"), first->At("ig"), first->At("lk"), first->At("ii"),
           first->At("ji"), first->At("li")});
    TileRows(between, plan_.tile_m, plan_.tile_n);
    last->Split(values_.loops.k, {plan_.tile_n / kGroupBlock, kGroupBlock}, {"jo", "lk", "li"});
    Order(parts_.last, values_.loops.batch,
          {last->At("ib"), last->At("jo"), last->At("ig"), last->At("lk"), last->At("ii"),
           values_.loops.n, last->At("li")});
    FuseNests();
  }

  // A lane reduces its own elements of a row, and then the parts of the four that have some.
  void ReduceByLanes(size_t i) {
    const BlockRef& block = parts_.between[i];
    rows_[i].Split(&schedule_, LoopAround(schedule_, block, rows_[i].At("ji")),
                   {plan_.tile_n / 8, kCopies, 2}, {"ja", "n", "l", "v"});
    parts_of_lanes_[i] = schedule_.Rfactor(rows_[i].At("l"), block + "_part");
    schedule_.SetScope(parts_of_lanes_[i], StorageScope::kWarp);
  }

  // Results of rows, and what roll keeps of them.
  BufferRefs RowBuffers(const std::vector<RowBlock>& between) const {
    BufferRefs rows;
    for (size_t i = 0; i < between.size(); ++i) {
      if (!between[i].reduces) continue;
      rows.push_back(between[i].result);
      for (const char* suffix : {"_before", "_now", "_change"})
        for (const AllocateNode* made :
             schedule_.tree().AllocationsNamed(parts_.between[i] + suffix))
          rows.push_back(made->buffer);
    }
    return rows;
  }
  // `steps`: a dimension between that of the rows and that of lanes.
  void SetRowLayout(const BufferRef& buffer, size_t rank, const std::string& steps) {
    std::string batch;
    for (size_t d = 0; d + 2 < rank; ++d) batch += "b" + std::to_string(d) + ", ";
    schedule_.TransformLayout(
        buffer, IndexMap::Parse(fmt::format("({0}i, {1}q) -> ({0}{1}i // 64, i % 64 // 16, i % 16 "
                                            "// 8, i % 8 * 4 + q)",
                                            batch, steps)));
  }

  void ShareElements(const BlockRef& block, const LoopRef& rows, const LoopRef& columns,
                     int64_t count, int64_t groups) {
    schedule_.Unroll(
        ShareAmongLanes(&schedule_, block, rows, columns, count, groups, block + "_e").vector);
  }
  void ShareRows(size_t i) {
    const BlockRef& block = parts_.between[i];
    const NamedLoops& loops = rows_[i];
    const CopyRef& part = parts_of_lanes_[i];
    ShareRowsAmongLanes(&schedule_, part, loops.At("ii"), loops.At("l"), plan_.groups(),
                        {loops.At("n")}, part + "_e");
    schedule_.Unroll(LoopAround(schedule_, part, loops.At("v")));
    // Replicate's loop is the innermost.
    auto copies = [&](const BlockRef& of) { return NestLoops(schedule_, of).back(); };
    ShareRowsAmongLanes(&schedule_, block, loops.At("ii"), copies(block), plan_.groups(),
                        {loops.At("l")}, block + "_e");
    for (const char* suffix : kRowSuffixes)
      if (BlockRef made = MadeOf(block, suffix))
        ShareRowsAmongLanes(&schedule_, made, loops.At("ii"), copies(made), plan_.groups(), {},
                            made + "_e");
  }

  // Copies of later tiles of keys are under way while one is computed with.
  void PipelineCopies(const LoopRef& loop, const BlockRefs& copies) {
    if (plan_.stages < 2) return;
    Stmt body = schedule_.At(loop)->body;
    while (const auto* allocation = body.As<AllocateNode>()) body = allocation->body;
    std::vector<int64_t> stages;
    for (const Stmt& stmt : body.As<SeqNode>()->stmts) {
      std::vector<const BlockNode*> blocks = BlocksIn(stmt);
      bool copies_tile = blocks.size() == 1 && Contains(copies, schedule_.RefTo(blocks[0]));
      stages.push_back(copies_tile ? 0 : plan_.stages - 1);
    }
    std::optional<PipelineRoles> roles;
    if (plan_.roles > 0) roles = PipelineRoles{plan_.stages, multiprocessors_};
    schedule_.Pipeline(loop, stages, {0}, roles);
  }

  const P& plan_;
  int64_t multiprocessors_;
  std::string prefix_;
  CopyRefs parts_of_lanes_;  // of the blocks between that reduce
};

bool IsConstant(const Gemm& gemm) {
  return !gemm.dynamic_m && !gemm.dynamic_n && !gemm.dynamic_k && !gemm.dynamic_batch;
}

// False where it does not fit.
bool SetCost(const Gemm& scores, const Gemm& values, const TargetInfo& target,
             int64_t multiprocessors, P* plan) {
  int64_t head = RoundUp(scores.k, kGroupBlock), columns = RoundUp(values.n, kGroupBlock),
          keys = plan->tile_n, threads = plan->groups() * kGroupWarps * kGroupLanes;
  // With roles the next tile of queries is copied beside.
  int64_t queries = plan->tile_m * (plan->roles > 0 ? 2 : 1),
          bytes = (queries * head + plan->stages * keys * (head + columns)) * scores.a.bytes() +
                  (plan->roles > 0 ? kBarrierBytes : 0);
  // Of 255 that a thread has.
  int64_t registers = keys / 2 + keys / 4 + columns / 2;
  if (bytes > target.shared_bytes || registers > kMostRegisters || threads > target.max_threads)
    return false;
  int64_t resident =
      std::min(kRegisters / (threads * (registers + kOtherRegisters)), target.shared_bytes / bytes);
  auto blocks = static_cast<double>(values.batch * CeilDiv(values.m, plan->tile_m)),
       steps = static_cast<double>(CeilDiv(values.k, keys)),
       elements = static_cast<double>(plan->tile_m * keys),
       sums = static_cast<double>(plan->tile_m * columns),
       copied = static_cast<double>(keys * (head + columns) * scores.a.bytes());
  double multiply = elements * static_cast<double>(head + columns) / kFmaPerCycle,
         others = (elements * kElementInstructions + sums * kSumInstructions) / kLanesPerCycle;
  double step = plan->roles > 0 ? multiply * kRolesMultiply + others * kRolesOthers
                                : (multiply + others) * (resident > 1 ? kBeside : 1) + kStepCycles;
  step = std::max(step, copied / kBytesPerCycle);
  int64_t busy = plan->roles > 0 ? multiprocessors : target.busy_blocks;
  plan->cycles = std::ceil(blocks / static_cast<double>(busy)) *
                 (steps * step + kStartCycles / static_cast<double>(resident));
  return true;
}

std::vector<P> Plans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                     const Wanted<P>& want, int64_t multiprocessors) {
  AttentionParts parts = AttentionPartsOf(*schedule, block);
  Gemm scores = AttentionGemm(*schedule, parts.first, target),
       values = AttentionGemm(*schedule, parts.last, target);
  if (MatrixTypeOf(scores, target, {}) != MatrixTypeOf(values, target, {}))
    Refuse("the operands of the two GEMMs are of different types");
  CheckAttention(*schedule, scores, values, target);
  int64_t longest = std::max(scores.k, values.n);
  if (values.n < kLeastColumns)
    Refuse("there are less than " + std::to_string(kLeastColumns) + " columns of values");
  if (longest > kMostHead) Refuse("the size of a head is above " + std::to_string(kMostHead));
  bool may_have_roles = IsConstant(scores) && IsConstant(values);
  std::vector<P> plans;
  for (int64_t roles : {1, 0})
    for (int64_t groups : {2, 1})
      for (int64_t keys : {128, 64}) {
        if (roles > 0 && (!may_have_roles || groups != kRolesGroups)) continue;
        P plan;
        plan.tile_m = groups * kGroupBlock;
        plan.tile_n = keys;
        plan.stages = want.Or(&P::stages, 2);
        plan.roles = roles;
        if (SetCost(scores, values, target, multiprocessors, &plan)) plans.push_back(plan);
      }
  if (plans.empty()) Refuse("no tile fits in shared memory and registers");
  return plans;
}

}  // namespace

void RegisterGroupAttention(const GroupInstructions& instructions) {
  RegisterRule(
      {.name = instructions.attention,
       .description =
           "one pass over the keys, scores in registers, both GEMMs by four warps together",
       .kinds = {BlockKind::kAttention},
       .fits = instructions.fits,
       .priority = 110,
       .planned = Planned<P>(
           [multiprocessors = instructions.multiprocessors](
               Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
               const Wanted<P>& want) {
             return Plans(schedule, block, target, want, multiprocessors);
           },
           [instructions](Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                          const P& plan) {
             AttentionParts parts = AttentionPartsOf(*schedule, block);
             GroupAttention(schedule, parts, plan, target, instructions).Run();
           })});
}

}  // namespace tern::schedule
