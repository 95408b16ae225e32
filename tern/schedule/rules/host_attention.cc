// SPDX-License-Identifier: Apache-2.0
//
// Attention on hosts: two GEMMs, and what is computed of the rows between them, some rows at a
// time:
//
//   for batch, in parallel
//     pack B of both GEMMs                  the keys, transposed, and the values: all of N
//     for ib, blocks of M, in parallel      where the batch is too short
//       scores = A B                        block_m rows of them stay in L2; packed_matmul
//       exponentials and reductions         each by its own rule: fuse_rows, vectorize_reduction,
//       ... C = scores B                        packed_matmul, with its epilogue
//
// Cycles: those of the two GEMMs. What each of them does is that of its own rule, for one thread;
// then the loops of batch and M are fused. Lengths may be dynamic: blocks of a dynamic M are tiles,
// the last of which is padded. Declines a single block of a static M, rows whose loops are not the
// outer ones, and operands that dot-product instructions multiply.
//
// Where dot-product instructions multiply, rule batch_attention takes all rows of a matrix at once:
//
//   for batch, in parallel
//     scores = A B                          in a buffer of one matrix
//     exponentials and reductions           each by its own rule
//     C = scores B
//
// Of a single query, which has no M or one of one row, rule single_query_attention takes all of a
// row at once:
//
//   for batch, in parallel
//     scores = A B                          each by its own rule
//     exponentials and reductions
//     C = scores B
#include <algorithm>
#include <numeric>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/dot_matmul.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/register_tiles.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

constexpr const char* kGemmRule = "packed_matmul";
// Rows of a block, about; no more than three times as many.
constexpr int64_t kBlockRows = 16;
// Tiles of each GEMM that are looked at, the cheapest first.
constexpr size_t kTiles = 6;
// Threads share the batch where it has so many parts, else the blocks of rows.
constexpr int64_t kBatchParts = 8;
// The least parts of the batch that threads share where a part is all of a matrix.
constexpr int64_t kLeastBatchParts = 2;

struct AttentionPlan : HostPlan {
  int64_t block_m = 0;  // rows at a time
  int64_t first_tile_m = 0, first_tile_n = 0, second_tile_m = 0, second_tile_n = 0;

  static const std::vector<PlanField<AttentionPlan>>& Fields() {
    using P = AttentionPlan;
    static const std::vector<PlanField<P>> fields = {{"block_m", &P::block_m},
                                                     {"first_tile_m", &P::first_tile_m},
                                                     {"first_tile_n", &P::first_tile_n},
                                                     {"second_tile_m", &P::second_tile_m},
                                                     {"second_tile_n", &P::second_tile_n},
                                                     {"parallel", &P::parallel}};
    return fields;
  }
};

const Rule& GemmRule() {
  std::vector<const Rule*> rules = AllRules();
  auto found = std::find_if(rules.begin(), rules.end(),
                            [](const Rule* rule) { return rule->name == kGemmRule; });
  TERN_ICHECK(found != rules.end()) << kGemmRule;
  return **found;
}

// The same target with one thread.
TargetInfo Serial(TargetInfo target) {
  target.threads = 1;
  return target;
}

// The cheapest plans of a GEMM, one for each tile.
std::vector<Plan> TilesOf(const Schedule& schedule, const BlockInfo& block,
                          const TargetInfo& target) {
  Schedule probe = schedule;
  std::vector<Plan> plans = GemmRule().planned.plans(&probe, block, Serial(target), nullptr);
  // Some of K at a time is for few rows alone.
  std::erase_if(plans, [](const Plan& plan) { return *plan.Find("block_k") != 0; });
  std::sort(plans.begin(), plans.end(),
            [](const Plan& a, const Plan& b) { return a.cycles < b.cycles; });
  if (plans.size() > kTiles) plans.resize(kTiles);
  return plans;
}

// How attention wants a GEMM: all of N, so many rows at a time. The rows of a dynamic M are padded
// to blocks: those of a tensor in a copy, those that the function computes where they are.
struct GemmTile {
  int64_t block_m, m, n;
  bool copies_rows;
};
Plan GemmPlan(Schedule* schedule, const BlockInfo& block, const Gemm& gemm, const GemmTile& tile,
              const TargetInfo& target) {
  Plan wanted;
  wanted.fields = {{"tile_m", tile.m}, {"tile_n", tile.n}, {"block_m", tile.block_m},
                   {"block_n", 0},     {"block_k", 0},     {"n_outer", 0}};
  if (gemm.dynamic_m) wanted.fields.emplace_back("pack_a", tile.copies_rows ? 1 : 0);
  std::vector<Plan> plans = GemmRule().planned.plans(schedule, block, target, &wanted);
  if (plans.empty())
    Refuse(block.ref + " has no plan of " + std::to_string(tile.block_m) + " rows at a time");
  return *std::min_element(plans.begin(), plans.end(),
                           [](const Plan& a, const Plan& b) { return a.cycles < b.cycles; });
}

// The GEMM that comes first.
BlockInfo FirstOf(const Schedule& schedule, const BlockInfo& block) {
  for (const BlockRef& member : block.member_refs)
    if (BlockInfo info = DescribeBlock(schedule, member); info.kind == BlockKind::kMatmul)
      return info;
  Refuse("there is no GEMM before it");
}

// Dot-product instructions multiply several times as fast as packed_matmul does: then each block
// has a rule of its own.
void CheckNoDotProducts(const Schedule& schedule, const BlockInfo& gemm, const TargetInfo& target) {
  for (const std::string& rule : DotMatmulRules()) {
    Schedule probe = schedule;
    PlanRequest request{gemm.name, rule, {}};
    if (!ApplyRules(&probe, gemm, target, &request).rule.empty())
      Refuse(rule + " takes " + gemm.name);
  }
}

std::vector<AttentionPlan> Plans(Schedule* schedule, const BlockInfo& block,
                                 const TargetInfo& target, const Wanted<AttentionPlan>& want) {
  BlockInfo first = FirstOf(*schedule, block), last = DescribeBlock(*schedule, block.ref);
  Gemm scores = RequireGemm(*schedule, first, Sizes::kDynamic),
       values = RequireGemm(*schedule, last, Sizes::kDynamic);
  CheckNoDotProducts(*schedule, first, target);
  std::vector<AttentionPlan> plans;
  for (const Plan& a : TilesOf(*schedule, first, target))
    for (const Plan& b : TilesOf(*schedule, last, target)) {
      AttentionPlan plan;
      plan.first_tile_m = *a.Find("tile_m");
      plan.first_tile_n = *a.Find("tile_n");
      plan.second_tile_m = *b.Find("tile_m");
      plan.second_tile_n = *b.Find("tile_n");
      // Blocks of a dynamic M are tiles: its last one has rows that nobody needs.
      if (scores.dynamic_m && plan.first_tile_m != plan.second_tile_m) continue;
      int64_t rows = std::lcm(plan.first_tile_m, plan.second_tile_m);
      if (!scores.dynamic_m) rows = RoundUp(kBlockRows, rows);
      plan.block_m = want.Or(&AttentionPlan::block_m, rows);
      if (plan.block_m <= 0 || plan.block_m > 3 * kBlockRows) continue;
      if (!scores.dynamic_m && plan.block_m >= scores.m) continue;
      plan.cycles = a.cycles + b.cycles;
      plan.limit = a.limit + b.limit;
      plans.push_back(plan);
    }
  if (plans.empty()) Refuse("M has no two blocks of rows that both GEMMs have tiles for");
  return plans;
}

// The row chains and single blocks that attention consists of, but those given, in their order.
std::vector<BlockInfo> PartsOf(const Schedule& schedule, const BlockInfo& block,
                               const BlockRefs& apart) {
  std::vector<BlockInfo> found, all = DescribeBlocks(schedule);
  BlockRefs others = apart;
  for (BlockInfo& one : all) {
    std::erase_if(one.member_refs, [&](const BlockRef& ref) { return Contains(apart, ref); });
    std::erase_if(one.members, [&](const std::string& name) {
      return std::any_of(apart.begin(), apart.end(),
                         [&](const BlockRef& ref) { return ref.name() == name; });
    });
    others.insert(others.end(), one.member_refs.begin(), one.member_refs.end());
  }
  for (const BlockInfo& one : all)
    if ((one.ref == block.ref || Contains(block.member_refs, one.ref)) &&
        !Contains(others, one.ref))
      found.push_back(one);
  return found;
}

// The outer loops of a block's nest, as many as there are rows.
LoopRefs RowLoops(const Schedule& schedule, const BlockRef& block, size_t rows) {
  Nest nest = NestOf(schedule.tree(), schedule.At(block));
  std::vector<const ForNode*> all = nest.around;
  all.insert(all.end(), nest.loops.begin(), nest.loops.end());
  if (all.size() < rows) Refuse("the loops of the rows are not the outer ones");
  LoopRefs loops;
  for (size_t i = 0; i < rows; ++i) loops.emplace_back(all[i]);
  return loops;
}

class HostAttention {
 public:
  HostAttention(Schedule* schedule, const BlockInfo& block, AttentionPlan* plan,
                const TargetInfo& target)
      : schedule_(*schedule),
        block_(block),
        plan_(*plan),
        target_(target),
        serial_(Serial(target)) {}

  void Run() {
    int64_t work = WorkOf(schedule_, block_.ref);
    BlockInfo first = FirstOf(schedule_, block_);
    std::vector<BlockInfo> between = BlocksBetween(first);
    Levels levels = ApplyGemm(first, {plan_.block_m, plan_.first_tile_m, plan_.first_tile_n, true});
    for (const BlockInfo& one : between) {
      RuleResult result = ApplyRules(&schedule_, one, serial_);
      if (result.rule.empty()) Refuse("no rule takes " + one.name);
      levels = Fuse(levels, SplitRows(one.ref));
    }
    Levels last = ApplyGemm(DescribeBlock(schedule_, block_.ref),
                            {plan_.block_m, plan_.second_tile_m, plan_.second_tile_n, false});
    Parallelize(Fuse(levels, last), work);
  }

 private:
  // The loops of a nest that are fused with those of others, outermost first: the batch, blocks of
  // rows.
  struct Levels {
    BlockRef block;
    LoopRefs loops;
  };

  // Row chains and single blocks, without the epilogue of the first GEMM.
  std::vector<BlockInfo> BlocksBetween(const BlockInfo& first) {
    gemm_ = RequireGemm(schedule_, first, Sizes::kDynamic);
    return PartsOf(schedule_, block_, {first.ref, block_.ref, gemm_.epilogue});
  }

  Levels ApplyGemm(const BlockInfo& block, const GemmTile& tile) {
    Gemm gemm = RequireGemm(schedule_, block, Sizes::kDynamic);
    Plan plan = GemmPlan(&schedule_, block, gemm, tile, serial_);
    GemmRule().planned.apply(&schedule_, block, serial_, &plan);
    // Those of the batch as they were, and the next one, over blocks of rows.
    return {block.ref, RowLoops(schedule_, block.ref, gemm.loops.batch.size() + 1)};
  }

  // The loops of the rows, which are a nest's outer ones, cut as those of a GEMM are.
  Levels SplitRows(const BlockRef& block) {
    LoopRefs loops = RowLoops(schedule_, block, block_.rows.size());
    LoopRef row = loops.back();
    loops.back() = schedule_.Split(
        row.Of(block), {plan_.block_m},
        {FreshLoopName(schedule_, row + "_ib"), FreshLoopName(schedule_, row + "_ii")})[0];
    return {block, loops};
  }

  Levels Fuse(const Levels& a, const Levels& b) {
    if (a.loops.size() != b.loops.size()) Refuse("the loops of the rows are not the outer ones");
    for (size_t i = 0; i < a.loops.size(); ++i)
      schedule_.FuseSiblings(a.loops[i].Of(a.block), b.loops[i].Of(b.block));
    return b;
  }

  void Parallelize(const Levels& levels, int64_t work) {
    LoopRefs batch(levels.loops.begin(), levels.loops.end() - 1);
    int64_t parts = 1;  // a dynamic batch is taken as a long one
    for (const LoopRef& loop : batch)
      parts *= ir::AsConstInt(schedule_.At(loop)->extent).value_or(kBatchParts);
    bool by_rows = parts < kBatchParts && !batch.empty();
    ParallelizeOuter(&schedule_, levels.block, work, target_, &plan_,
                     by_rows ? batch.back() : LoopRef());
  }

  Schedule& schedule_;
  const BlockInfo& block_;
  AttentionPlan& plan_;
  const TargetInfo& target_;
  TargetInfo serial_;
  Gemm gemm_;  // the first
};

void ApplyPlan(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
               AttentionPlan* plan) {
  HostAttention(schedule, block, plan, target).Run();
}

// Fuses the outer loops of two blocks, as many as there are axes of the batch.
void FuseBatch(Schedule* schedule, const BlockRef& before, const BlockRef& block, size_t batch) {
  LoopRefs outer = RowLoops(*schedule, before, batch), loops = RowLoops(*schedule, block, batch);
  for (size_t i = 0; i < batch; ++i)
    schedule->FuseSiblings(outer[i].Of(before), loops[i].Of(block));
}

// The axes of the batch are the first ones of the rows.
size_t CountBatch(const BlockInfo& block) {
  return std::count_if(block.rows.begin(), block.rows.end(),
                       [&](size_t row) { return block.axes[row].role == AxisRole::kBatch; });
}

// Dot-product instructions go in last: no step follows what they do with addresses.
void ApplyOfBatch(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                  ThreadsPlan* plan) {
  size_t batch = CountBatch(block);
  int64_t parts = 1;
  for (size_t i = 0; i < batch; ++i)
    parts *= ir::AsConstInt(block.axes[block.rows[i]].extent).value_or(kBatchParts);
  if (parts < kLeastBatchParts)
    Refuse("the batch has " + std::to_string(parts) + " parts; expected " +
           std::to_string(kLeastBatchParts) + " or more");
  int64_t work = WorkOf(*schedule, block.ref);
  BlockInfo first = FirstOf(*schedule, block);
  Gemm scores = RequireGemm(*schedule, first, Sizes::kDynamic);
  std::vector<BlockInfo> between =
      PartsOf(*schedule, block, {first.ref, block.ref, scores.epilogue});
  auto first_steps = PrepareDotMatmul(schedule, first.ref, target);
  if (!first_steps) Refuse("no dot-product instructions multiply " + first.name);
  BlockRef before = first.ref;
  for (const BlockInfo& part : between) {
    if (ApplyRules(schedule, part, Serial(target)).rule.empty())
      Refuse("no rule takes " + part.name);
    FuseBatch(schedule, before, part.ref, batch);
    before = part.ref;
  }
  auto last_steps = PrepareDotMatmul(schedule, block.ref, target);
  if (!last_steps) Refuse("no dot-product instructions multiply " + block.name);
  FuseBatch(schedule, before, block.ref, batch);
  ParallelizeOuter(schedule, block.ref, work, target, plan);
  for (const auto& steps : {first_steps, last_steps}) steps->pack();
  for (const auto& steps : {first_steps, last_steps}) steps->multiply();
}

// Where there is no M, or one row of it. What the rules make of the parts must have the loops of
// the batch, as they were, outside.
void ApplySingleQuery(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                      ThreadsPlan* plan) {
  size_t batch = 0;
  for (size_t row : block.rows) {
    bool is_batch = block.axes[row].role == AxisRole::kBatch;
    if (!is_batch && !ir::IsConst(block.axes[row].extent, 1)) Refuse("there are several queries");
    batch += is_batch;
  }
  int64_t work = WorkOf(*schedule, block.ref);
  BlockRef before;
  for (const BlockInfo& part : PartsOf(*schedule, block, {})) {
    if (ApplyRules(schedule, part, Serial(target)).rule.empty())
      Refuse("no rule takes " + part.name);
    if (!before.empty()) FuseBatch(schedule, before, part.ref, batch);
    before = part.ref;
  }
  ParallelizeOuter(schedule, block.ref, work, target, plan);
}

}  // namespace

void RegisterHostAttentionRules() {
  RegisterRule({.name = "single_query_attention",
                .description = "both GEMMs of a single row, and the softmax between them",
                .kinds = {BlockKind::kAttention},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 20,
                .planned = Planned<ThreadsPlan>(ThreadsAlone, ApplySingleQuery)});
  RegisterRule({.name = "batch_attention",
                .description = "both GEMMs by dot-product instructions, a matrix at a time",
                .kinds = {BlockKind::kAttention},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 25,
                .planned = Planned<ThreadsPlan>(ThreadsAlone, ApplyOfBatch)});
  RegisterRule({.name = "row_block_attention",
                .description = "both GEMMs and the softmax between them, some rows at a time",
                .kinds = {BlockKind::kAttention},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 30,
                .planned = Planned<AttentionPlan>(Plans, ApplyPlan)});
}

}  // namespace tern::schedule
