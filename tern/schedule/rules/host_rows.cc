// SPDX-License-Identifier: Apache-2.0
//
// fuse_rows: softmax, normalization. A row stays in cache until it is finished.
//
//   for row, parallel {
//     reduce the row            # vector accumulators (host_reductions.h)
//     elementwise blocks        # in the loop of the next reduction where possible
//     ...; write the row        # vectors
//   }
//
// Where a version of the function says that a row of dynamic length is no longer than a few vectors
// (reduction_versions.h), these are all of it, masked, and no block has a loop over them:
//
//   for row, parallel { for v in 4 unrolled { one masked vector }; ... }
//
// What several blocks load or compute of an element is then done once. None changes the order in
// which the terms of one output are combined but where the function says `reassociate`.
//
// Cost: reductions as in reduction_plan.h; of the other blocks registers of arithmetic, and their
// loop. Declines where the loops of the rows are not the outer ones, or a block needs other rows.
#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/host_reductions.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/operation_count.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/transform/loops/vectorize_loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Vectors of a row that are kept in registers, beside what is computed of them.
constexpr int64_t kMostKept = 14;

struct RowsPlan : HostPlan {
  int64_t vector = 0;    // lanes of the accumulators of reductions; 0: their order is fixed
  int64_t unroll = 0;    // of which so many take turns
  int64_t elements = 0;  // at a time of the blocks that do not reduce; 0: none is contiguous
  int64_t keep = 0;      // 1: the accumulators' vectors are the whole row, in registers

  static const std::vector<PlanField<RowsPlan>>& Fields() {
    using P = RowsPlan;
    static const std::vector<PlanField<P>> fields = {{"vector", &P::vector},
                                                     {"unroll", &P::unroll},
                                                     {"elements", &P::elements},
                                                     {"keep", &P::keep},
                                                     {"parallel", &P::parallel}};
    return fields;
  }
  // What it wants of the plans of reductions.
  Plan reductions() const {
    Plan plan;
    if (vector) plan.fields = {{"vector", vector}, {"unroll", unroll}};
    return plan;
  }
};

// What the plans depend on.
struct RowBlocks {
  std::vector<ReductionProblem> reductions;
  // Of a block that does not reduce, along its contiguous axis.
  struct Elementwise {
    int64_t rows = 1, steps = 0, most = 0, operations = 0;
  };
  std::vector<Elementwise> others;
  int64_t bound = 0;  // that the dynamic length of a row does not exceed; 0: none is known
};

// The most elements of a row of dynamic length, by the conditions around its loops; 0: any number.
int64_t BoundOf(const Schedule& schedule, const BlockInfo& block) {
  if (block.axes.size() != block.rows.size() + 1) return 0;
  const BlockNode* node = schedule.At(block.ref);
  arith::Analyzer analyzer = AnalyzerAt(schedule.function(), PathTo(schedule.tree(), node));
  for (size_t a = 0; a < block.axes.size(); ++a) {
    const Expr& extent = block.axes[a].extent;
    if (std::count(block.rows.begin(), block.rows.end(), a) > 0 || ir::AsConstInt(extent)) continue;
    int64_t most = analyzer.Bounds(extent).hi;
    return most < kUnknownExtent * kMostKept ? most : 0;
  }
  return 0;
}

RowBlocks DescribeRow(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target) {
  RowBlocks row;
  row.bound = BoundOf(schedule, block);
  BlockRefs names = block.member_refs;
  names.push_back(block.ref);
  for (const BlockRef& name : names) {
    if (std::optional<ReductionProblem> problem = RowProblem(schedule, name, target)) {
      row.reductions.push_back(*problem);
      continue;
    }
    BlockInfo info = DescribeBlock(schedule, name);
    std::optional<size_t> axis = FindVectorAxis(info);
    if (!axis || LanesFor(info, *axis, target, 2) == 0) continue;
    RowBlocks::Elementwise one;
    one.most = LanesFor(info, *axis, target, 2);
    one.operations = CountArithmetic(schedule.At(name));
    int64_t likely = target.likely_steps ? target.likely_steps : kUnknownExtent;
    for (size_t a = 0; a < info.axes.size(); ++a)
      if (a == *axis)
        one.steps = ir::AsConstInt(info.axes[a].extent).value_or(likely);
      else
        one.rows *= ir::AsConstInt(info.axes[a].extent).value_or(kUnknownExtent);
    row.others.push_back(one);
  }
  return row;
}

// As in reduction_plan.h.
double ReductionCycles(const RowBlocks& row, const TargetInfo& target, const Plan& wanted) {
  double cycles = 0;
  for (const ReductionProblem& problem : row.reductions)
    cycles += BestReductionPlan(problem, target, Wanted<ReductionPlan>(&wanted)).cycles;
  return cycles;
}
// Registers of arithmetic, and their loop.
double OtherCycles(const RowBlocks& row, const TargetInfo& target, int64_t lanes,
                   const RowsPlan& plan) {
  double cycles = 0;
  for (const RowBlocks::Elementwise& one : row.others) {
    int64_t vector = plan.keep ? plan.elements : std::min(plan.elements, one.most),
            registers = CeilDiv(vector, lanes);
    cycles += static_cast<double>(one.rows * CeilDiv(one.steps, vector)) *
              (static_cast<double>(registers * one.operations) /
                   static_cast<double>(target.fma_per_cycle) +
               1);
  }
  return cycles;
}

std::vector<RowsPlan> RowsPlans(Schedule* schedule, const BlockInfo& block,
                                const TargetInfo& target, const Wanted<RowsPlan>& want) {
  if (RowLoop(*schedule, block).empty()) Refuse("the loops of the rows are not the outer ones");
  RowBlocks row = DescribeRow(*schedule, block, target);
  int64_t most_lanes = 0, most_elements = 0;
  for (const ReductionProblem& one : row.reductions) most_lanes = std::max(most_lanes, one.lanes);
  for (const RowBlocks::Elementwise& one : row.others)
    most_elements = std::max(most_elements, one.most);
  std::vector<RowsPlan> plans;
  int64_t float_lanes = std::max<int64_t>(target.vector_bytes / 4, 1);
  auto add = [&](RowsPlan plan, double reductions) {
    plan.cycles = reductions + OtherCycles(row, target, float_lanes, plan);
    plans.push_back(plan);
  };
  int64_t kept_lanes = most_lanes;
  while (kept_lanes / 2 >= std::max(row.bound, kMinLanes)) kept_lanes /= 2;
  int64_t kept = kept_lanes ? CeilDiv(row.bound, kept_lanes) : 0;
  if (kept > 0 && kept <= kMostKept && target.masked_vectors) {
    RowsPlan plan;
    plan.vector = kept_lanes;
    plan.unroll = kept;
    plan.elements = kept * kept_lanes;
    plan.keep = 1;
    add(plan, ReductionCycles(row, target, plan.reductions()));
    // What several blocks load and compute is counted for each of them, but done once.
    if (!want.is_asked()) return plans;
  }
  auto halves = [](int64_t most) {
    std::vector<int64_t> all;
    for (int64_t number = most; number >= kMinLanes; number /= 2) all.push_back(number);
    if (all.empty()) all.push_back(0);
    return all;
  };
  std::vector<int64_t> unrolls =
      most_lanes ? std::vector<int64_t>{4, 2, 1} : std::vector<int64_t>{0};
  if (int64_t unroll = want.Or(&RowsPlan::unroll, 1);
      most_lanes && unroll > 1 && unroll < target.vector_registers)
    unrolls = {unroll};
  for (int64_t vector : halves(most_lanes))
    for (int64_t unroll : unrolls) {
      RowsPlan plan;
      plan.vector = vector;
      plan.unroll = unroll;
      double reductions = ReductionCycles(row, target, plan.reductions());
      for (int64_t elements : halves(most_elements)) {
        plan.elements = elements;
        add(plan, reductions);
      }
    }
  return plans;
}

// Vectorizes a block of a fused row along its contiguous axis: in the loop of a reduction that
// reads its result, or in a loop of its own.
void VectorizeInRow(Schedule* schedule, const BlockRef& name, const TargetInfo& target,
                    const RowsPlan& plan, const std::vector<VectorReduction>& reductions) {
  const BlockNode* node = schedule->At(name);
  BlockInfo block = DescribeBlock(node);
  std::optional<size_t> axis = FindVectorAxis(block);
  Nest nest = NestOf(schedule->tree(), node);
  if (!axis || nest.loops.empty()) return;
  LoopRef loop(nest.loops.back());
  int64_t lanes =
      std::min(LanesFor(block, *axis, target, 2), plan.keep ? plan.vector : plan.elements);
  if (block.axes[*axis].loop != loop || lanes == 0) return;
  for (const VectorReduction& reduction : reductions)
    if (ComputeOnTheWay(schedule, name, loop, reduction)) return;
  Try(schedule, [&](Schedule* attempt) {
    if (plan.keep) {
      Schedule::Names names;
      for (const char* part : {"_o", "_v", "_i"})
        names.push_back(FreshLoopName(*attempt, loop + part));
      LoopRefs made = attempt->Split(loop.Of(name), {CeilDiv(plan.elements, lanes), lanes}, names,
                                     TailStrategy::kMask);
      attempt->Unroll(made[1].Of(name));
      attempt->Vectorize(made[2].Of(name));
      return;
    }
    bool whole = Divides(lanes, block.axes[*axis].extent);
    Lanes split =
        SplitLanes(attempt, name, loop, lanes, whole ? TailStrategy::kLoop : TailStrategy::kMask);
    attempt->Vectorize(split.inner.Of(name));
  });
}

void FuseRows(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
              RowsPlan* plan) {
  int64_t work = WorkOf(*schedule, block.ref);
  BlockRefs all, others = {block.ref};
  std::vector<VectorReduction> reductions;
  Plan wanted = plan->reductions();
  for (const BlockRef& name : block.member_refs) {
    work += WorkOf(*schedule, name);
    std::vector<VectorReduction> made = FactorAll(schedule, name, target, &all, &wanted);
    if (made.empty()) others.push_back(name);
    reductions.insert(reductions.end(), made.begin(), made.end());
  }
  Nest nest = NestOf(schedule->tree(), schedule->At(block.ref));
  LoopRefs rows;
  for (size_t i = 0; i < block.rows.size(); ++i)
    rows.push_back(LoopRef(nest.loops[i]).Of(block.ref));
  ComputeInRows(schedule, all, rows);
  for (const VectorReduction& reduction : reductions) Vectorize(schedule, reduction);
  for (const BlockRef& name : others) VectorizeInRow(schedule, name, target, *plan, reductions);
  for (const VectorReduction& reduction : reductions) UnrollVectors(schedule, reduction);
  ParallelizeOuter(schedule, block.ref, work, target, plan);
}

}  // namespace

void RegisterHostRowRule() {
  RegisterRule({.name = "fuse_rows",
                .description = "row fusion: all blocks of a row in one loop, parallel over rows",
                .kinds = {BlockKind::kSoftmax, BlockKind::kNormalization},
                .fits = [](const TargetInfo& target) { return !target.is_device; },
                .priority = 30,
                .planned = Planned<RowsPlan>(RowsPlans, FuseRows)});
}

}  // namespace tern::schedule
