// SPDX-License-Identifier: Apache-2.0
//
// vectorize_reduction: reductions along contiguous memory, and products of matrices and vectors
// that the rules for GEMMs declined. Integers, or floats with `reassociate`.
//
//   for row, parallel {
//     acc[4, lanes] = init                                            # rfactor
//     for k_o { for v in 4 unrolled { for l in lanes vectorized { acc[v, l] op= X[row, k] } } }
//     vector = acc[0] op acc[1] op acc[2] op acc[3];  S[row] = horizontal reduction of it
//     for the tail of k { S[row] op= X[row, k] }       # where there are no masks: loop_partition
//   }
//
// The numbers are those of a plan (reduction_plan.h). Where the target has masks, the last vectors
// are masked; else the tail is single elements.
// Reduced axes that are neighbours in memory are fused first. Of others the outer ones become rows,
// whose results are reduced last. Of one result, of so many elements that threads gain by the
// model, or of any number, it is done in parts:
//
//   for p in parts, parallel {
//     acc[4, lanes] = init   for q in 16384 / 4 / lanes { acc op= X }
//     rows[p] = reduction of acc, as above
//   }
//   for p { S op= rows[p] }   for the tail { S op= X }
//
// A part ends as one value: another core's cache lines are what the last loop waits for.
//
// A contiguous axis shorter than two vectors beside reduced ones that are no neighbours is the
// lanes of one accumulator, reduced last. Declines where the reduced axis is not the contiguous
// one, or is alone and shorter than two vectors. argmin and argmax have accumulators of values and
// of their indices, of which equal values keep the lowest (break_ties), whatever the function says.
#include "tern/schedule/rules/host_reductions.h"

#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/operation_count.h"
#include "tern/tir/analysis/selection_update.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Elements that are worth a masked vector and its horizontal reduction.
constexpr int64_t kLeastMasked = 8;
// A guess of the steps of one result that threads share.
constexpr int64_t kManySteps = 1 << 20;

// The steps that a block reduces in vectors, in loops that are known.
struct Steps {
  LoopRef loop;    // the innermost one, along memory
  LoopRefs fused;  // the loops that become it; empty: it is there
  Expr extent;
  LoopRefs reduced;  // all loops along what is reduced, outermost first
  ReductionProblem problem;

  // Whether there are rows of other reduced axes inside of which the steps run.
  bool is_inner() const { return reduced.front() != loop; }
};

// As many of the iterations as fill vectors, where others follow; null where none do.
Expr WholeSteps(const Steps& steps, const ReductionPlan& plan) {
  std::optional<int64_t> constant = ir::AsConstInt(steps.extent);
  if (plan.mask) return {};
  if (!constant) return ir::FloorDiv(steps.extent, plan.step()) * Expr(plan.step());
  return *constant % plan.step() == 0 ? Expr() : Expr(*constant - *constant % plan.step());
}

// What the plans depend on, of the steps along an axis; `steps` has its extent and loops.
ReductionProblem ProblemOf(const Schedule& schedule, const BlockInfo& block, size_t along,
                           const Steps& steps, const TargetInfo& target) {
  ReductionProblem problem;
  bool one_result = true;
  auto is_fused = [&](const BlockAxis& axis) { return Contains(steps.fused, axis.loop); };
  for (size_t a = 0; a < block.axes.size(); ++a) {
    const BlockAxis& axis = block.axes[a];
    bool unit = axis.kind == IterKind::kSpatial && ir::IsConst(axis.extent, 1);
    one_result &= axis.kind == IterKind::kReduce || unit;
    if (a != along && !is_fused(axis))
      problem.rows *= std::max<int64_t>(ir::AsConstInt(axis.extent).value_or(kUnknownExtent), 1);
  }
  bool shared = one_result && target.threads != 1;
  std::optional<int64_t> extent = ir::AsConstInt(steps.extent);
  problem.dynamic = !extent;
  problem.steps = extent                ? *extent
                  : target.likely_steps ? target.likely_steps
                  : shared              ? kManySteps
                                        : kUnknownExtent;
  BlockInfo whole = block;
  whole.axes[along].extent = steps.extent;
  problem.lanes = LanesFor(whole, along, target, 1);
  problem.loads = 0;
  for (const BlockAccess& access : block.accesses)
    if (!access.store && std::count(access.axes.begin(), access.axes.end(), along) > 0) {
      ++problem.loads;
      problem.bytes += access.buffer->dtype.bytes();
    }
  problem.operations = CountArithmetic(schedule.At(block.ref));
  // A value and its index are chosen one by one at the end of a row.
  problem.masks =
      target.masked_vectors && !FindSelectionUpdate(schedule.At(block.ref)->body).has_value();
  problem.rows_are_steps = steps.reduced.size() > 1;
  problem.is_inner = steps.is_inner();
  problem.shared = shared;
  return problem;
}

// Whether there are steps enough for a horizontal reduction.
bool AreWorthVectors(const Steps& steps) {
  const ReductionProblem& problem = steps.problem;
  return problem.lanes > 0 && arith::Analyzer().Bounds(steps.extent).hi >=
                                  (problem.masks ? kLeastMasked : 2 * problem.lanes);
}

std::optional<Steps> StepsOf(const Schedule& schedule, const BlockInfo& block,
                             const TargetInfo& target) {
  std::optional<size_t> axis = FindReducedVectorAxis(block);
  std::optional<LoopsByKind> loops = SortLoops(schedule, block);
  if (!axis || !loops || loops->reduce.empty()) return {};
  const LoopRef& along = block.axes[*axis].loop;
  // In another one its tail is no part of its own.
  if (loops->reduce.front() != along && loops->reduce.back() != along) return {};
  Nest nest = NestOf(schedule.tree(), schedule.At(block.ref));
  // Spatial loops are the outer ones.
  for (size_t i = 0; i < loops->spatial.size(); ++i)
    if (LoopRef(nest.loops[i]) != loops->spatial[i]) return {};
  Steps steps{along, {}, block.axes[*axis].extent, loops->reduce, {}};
  steps.problem = ProblemOf(schedule, block, *axis, steps, target);
  return AreWorthVectors(steps) ? std::optional(steps) : std::nullopt;
}

// Whether two axes are the indices of neighbouring dimensions wherever one of them is read, so that
// memory is contiguous along both, the second inside.
bool AreAdjacent(const BlockInfo& block, size_t outer, size_t inner) {
  arith::Analyzer analyzer;
  for (const BlockAccess& access : block.accesses) {
    auto dim_of = [&](size_t axis) {
      return std::find(access.axes.begin(), access.axes.end(), axis) - access.axes.begin();
    };
    auto first = dim_of(outer), second = dim_of(inner), rank = std::ssize(access.axes);
    if (first == rank && second == rank) continue;
    if (!access.by_axes || second == rank || first + 1 != second || !access.buffer->strides.empty())
      return false;
    Expr beyond = access.buffer->shape[second] - block.axes[inner].extent;
    if (!ir::IsConst(analyzer.Simplify(beyond), 0)) return false;
  }
  return true;
}

// The steps of several reduced axes, which are adjacent in memory, all of them, the last one
// contiguous; nothing of others.
std::optional<Steps> AdjacentSteps(const Schedule& schedule, const BlockInfo& block,
                                   const TargetInfo& target) {
  std::optional<size_t> last = FindReducedVectorAxis(block);
  std::vector<size_t> axes;
  for (size_t a = 0; a < block.axes.size(); ++a)
    if (block.axes[a].kind == IterKind::kReduce) axes.push_back(a);
  if (axes.size() < 2 || !last || block.conditional || !SortLoops(schedule, block)) return {};
  // In the order of what is read.
  for (const BlockAccess& access : block.accesses)
    if (!access.store && access.axes.size() >= axes.size())
      std::stable_sort(axes.begin(), axes.end(), [&](size_t a, size_t b) {
        return std::find(access.axes.begin(), access.axes.end(), a) <
               std::find(access.axes.begin(), access.axes.end(), b);
      });
  for (size_t i = 0; i + 1 < axes.size(); ++i)
    if (!AreAdjacent(block, axes[i], axes[i + 1])) return {};
  if (axes.back() != *last) return {};
  Steps steps;
  for (size_t a : axes) {
    steps.fused.push_back(block.axes[a].loop);
    steps.extent = steps.extent ? steps.extent * block.axes[a].extent : block.axes[a].extent;
  }
  steps.extent = arith::Analyzer().Simplify(steps.extent);
  steps.reduced = {steps.loop};
  steps.problem = ProblemOf(schedule, block, *last, steps, target);
  return AreWorthVectors(steps) ? std::optional(steps) : std::nullopt;
}

// Makes the one loop of such steps.
void FuseSteps(Schedule* schedule, const BlockInfo& block, Steps* steps) {
  LoopRefs order = RequireLoops(*schedule, block).spatial;
  order.insert(order.end(), steps->fused.begin(), steps->fused.end());
  schedule->Reorder(order.Of(block.ref));
  steps->loop = FuseLoops(schedule, block.ref, steps->fused);
  steps->reduced = {steps->loop};
}

// Of a block that Rfactor made: the loop of its parts, and those of the steps of each.
struct PartLoops {
  LoopRef parts;
  LoopRefs steps;
};
PartLoops LoopsOfPart(const Schedule& schedule, const BlockRef& part) {
  BlockInfo info = DescribeBlock(schedule, part);
  PartLoops loops;
  for (const BlockAxis& axis : info.axes)
    if (axis.kind == IterKind::kReduce)
      loops.steps.push_back(axis.loop);
    else
      loops.parts = axis.loop;
  return loops;
}

// The loop over the vectors of a block's parts, where there are several; else none.
LoopRef VectorsOf(const Schedule& schedule, const BlockRef& part) {
  Nest nest = NestOf(schedule.tree(), schedule.At(part));
  std::vector<const ForNode*> loops = nest.around;
  loops.insert(loops.end(), nest.loops.begin(), nest.loops.end());
  if (loops.size() < 2) return {};
  const ForNode* before_lanes = loops[loops.size() - 2];
  bool several = UseOf(nest.block, before_lanes->var.node()).spatial;
  return several ? LoopRef(before_lanes) : LoopRef();
}

// The parts are vectors.
void VectorizeParts(Schedule* schedule, const BlockRef& part, int64_t lanes) {
  PartLoops loops = LoopsOfPart(*schedule, part);
  Lanes split = SplitLanes(schedule, part, loops.parts, lanes);
  LoopRefs order = loops.steps.Of(part);
  if (!split.outer.empty()) order.push_back(split.outer.Of(part));
  order.push_back(split.inner.Of(part));
  schedule->Reorder(order);
  BlockRef init = schedule->DecomposeReduction(part, order[0]);
  if (!split.outer.empty()) schedule->Unroll(LoopAround(*schedule, init, split.outer));
  for (const BlockRef& block : {init, part})
    schedule->Vectorize(LoopAround(*schedule, block, split.inner));
}

// All that a block stores to is kept in registers.
void MakeLocal(Schedule* schedule, const BlockRef& block) {
  std::vector<Buffer> results;
  for (const BlockAccess& access : DescribeBlock(*schedule, block).accesses)
    if (access.store && std::none_of(results.begin(), results.end(), [&](const Buffer& result) {
          return result.same(access.buffer);
        }))
      results.push_back(access.buffer);
  for (const Buffer& result : results) schedule->SetScope(result, StorageScope::kLocal);
}

// The block, whose steps may run in any order then. What argmin and argmax store under a condition
// is their result.
BlockInfo InAnyOrder(Schedule* schedule, const BlockInfo& given) {
  BlockInfo block = FreeOrder(schedule, given);
  if (FindSelectionUpdate(schedule->At(block.ref)->body))
    for (BlockAxis& axis : block.axes) axis.decides = false;
  return block;
}

// The block whose results are the vectors of one, and those whose results are their lanes: of a
// loop that is split off already, of as many iterations as the vectors have elements.
VectorReduction FactorStep(Schedule* schedule, const BlockRef& block, const Steps& steps,
                           const ReductionPlan& plan, const LoopRef& loop) {
  VectorReduction result;
  result.block = block;
  result.width = plan.vector;
  result.vectors = plan.unroll;
  result.last = loop;
  result.parts = schedule->Rfactor(loop.Of(block), FreshBlockName(*schedule, block + "_parts"));
  MakeLocal(schedule, result.parts);
  if (plan.unroll == 1) return result;
  result.last = schedule->Split(loop.Of(block), {plan.vector},
                                {FreshLoopName(*schedule, steps.loop + "_v"),
                                 FreshLoopName(*schedule, steps.loop + "_l")})[1];
  result.lanes =
      schedule->Rfactor(result.last.Of(block), FreshBlockName(*schedule, block + "_lanes"));
  MakeLocal(schedule, result.lanes);
  return result;
}

// The steps are split by vectors; iterations that fill none are left to a block `rest`.
struct SplitSteps {
  LoopRef outer, inner;
  BlockRef rest;
};
SplitSteps SplitOff(Schedule* schedule, const BlockRef& block, const Steps& steps,
                    const ReductionPlan& plan) {
  SplitSteps split;
  LoopRef loop = steps.loop;
  if (Expr whole = WholeSteps(steps, plan)) {
    auto [full, rest] = schedule->LoopPartition(
        steps.loop.Of(block), whole,
        {FreshLoopName(*schedule, steps.loop + "_f"), FreshLoopName(*schedule, steps.loop + "_r")});
    loop = full;
    split.rest = schedule->RefTo(BlocksIn(schedule->At(rest)->body)[0]);
  }
  auto [outer, inner] = schedule->Split(
      loop.Of(block), {plan.step()},
      {FreshLoopName(*schedule, steps.loop + "_o"), FreshLoopName(*schedule, steps.loop + "_i")},
      plan.mask ? TailStrategy::kMask : TailStrategy::kLoop);
  split.outer = outer;
  split.inner = inner;
  return split;
}

VectorReduction DoFactor(Schedule* schedule, const BlockRef& block, const Steps& steps,
                         const ReductionPlan& plan) {
  SplitSteps split = SplitOff(schedule, block, steps, plan);
  VectorReduction result = FactorStep(schedule, block, steps, plan, split.inner);
  result.rest = split.rest;
  return result;
}

// Refuses where there are none.
Steps RequireSteps(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target) {
  std::optional<Steps> steps = StepsOf(schedule, block, target);
  if (!steps)
    Refuse("the innermost reduction of block " + block.name +
           " is not along contiguous memory, inside of all spatial loops, of an extent of two "
           "vectors or more");
  return *steps;
}

// All of a reduction, in the rows of its last block, which is returned.
BlockRef ReduceInRows(Schedule* schedule, const BlockRef& block, const Steps& steps,
                      const ReductionPlan& plan, const TargetInfo& target) {
  BlockRefs blocks;
  LoopRefs rows;
  std::vector<VectorReduction> reductions = {DoFactor(schedule, block, steps, plan)};
  for (const BlockRef& made : reductions[0].made()) blocks.push_back(made);
  blocks.push_back(block);
  if (!reductions[0].rest.empty())
    for (VectorReduction& rest : FactorAll(schedule, reductions[0].rest, target, &blocks))
      reductions.push_back(std::move(rest));
  BlockRef last = blocks.back();
  blocks.pop_back();
  std::optional<LoopsByKind> loops = SortLoops(*schedule, DescribeBlock(*schedule, last));
  if (loops) rows = loops->spatial.Of(last);
  if (!rows.empty()) ComputeInRows(schedule, blocks, rows);
  for (const VectorReduction& reduction : reductions) Vectorize(schedule, reduction);
  for (const VectorReduction& reduction : reductions) UnrollVectors(schedule, reduction);
  return last;
}

}  // namespace

namespace {

// The steps of a loop are rows, which are reduced in parallel; then their results are.
void ReduceByRows(Schedule* schedule, const BlockRef& block, const LoopRef& loop,
                  const TargetInfo& target, ReductionPlan* plan) {
  CopyRef rows = schedule->Rfactor(loop.Of(block), FreshBlockName(*schedule, block + "_rows"));
  Plan same_vectors;
  same_vectors.fields = {{"vector", plan->vector}, {"unroll", plan->unroll}};
  if (plan->parallel != HostPlan::kOpen)
    same_vectors.fields.emplace_back("parallel", plan->parallel);
  ReductionPlan made = ReduceRows(schedule, DescribeBlock(*schedule, rows), target, &same_vectors);
  plan->SetParallel(made.parallel);
  // Few rows are left as they are.
  Try(schedule,
      [&](Schedule* attempt) { ReduceRows(attempt, DescribeBlock(*attempt, block), target); });
}

// One result of many steps: threads share parts of plan.part each, the last of which is shorter.
void ReduceByParts(Schedule* schedule, const BlockRef& block, const Steps& steps,
                   const ReductionPlan& plan) {
  SplitSteps split = SplitOff(schedule, block, steps, plan);
  LoopRef part = schedule->Split(split.outer.Of(block), {plan.part / plan.step()},
                                 {FreshLoopName(*schedule, steps.loop + "_p"),
                                  FreshLoopName(*schedule, steps.loop + "_q")})[0];
  CopyRef rows = schedule->Rfactor(part.Of(block), FreshBlockName(*schedule, block + "_rows"));
  part = LoopAround(*schedule, rows, part);
  VectorReduction reduction =
      FactorStep(schedule, rows, steps, plan, LoopAround(*schedule, rows, split.inner));
  ComputeInRows(schedule, reduction.made(), {part});
  Vectorize(schedule, reduction);
  UnrollVectors(schedule, reduction);
  schedule->Parallel(part);
}

// The contiguous axis where it is a short one beside other reduced ones; its loop, or
// none. With masks it is one vector at most: LLVM keeps accumulators of 24 lanes as scalars from
// block to block.
LoopRef ShortLoop(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target) {
  std::optional<size_t> axis = FindReducedVectorAxis(block);
  std::optional<LoopsByKind> loops = SortLoops(schedule, block);
  if (!axis || !loops || loops->reduce.size() < 2) return {};
  std::optional<int64_t> extent = ir::AsConstInt(block.axes[*axis].extent);
  int64_t lanes = LanesFor(block, *axis, target, 1);
  int64_t most = target.masked_vectors ? lanes : 2 * lanes - 1;
  return extent && lanes > 0 && *extent <= most ? block.axes[*axis].loop : LoopRef();
}

// The elements along the loop are columns: one vector, that the other steps are combined in.
void ReduceColumns(Schedule* schedule, const BlockInfo& block, const LoopRef& loop,
                   const TargetInfo& target, ReductionPlan* plan) {
  int64_t work = WorkOf(*schedule, block.ref);
  LoopsByKind loops = RequireLoops(*schedule, block);
  LoopRefs order = loops.spatial;
  std::erase(loops.reduce, loop);
  order.insert(order.end(), loops.reduce.begin(), loops.reduce.end());
  order.push_back(loop);
  schedule->Reorder(order.Of(block.ref));
  VectorReduction columns;
  columns.block = block.ref;
  columns.last = loop;
  for (const BlockAxis& axis : block.axes)
    if (axis.loop == loop) columns.width = *ir::AsConstInt(axis.extent);
  columns.vectors = 1;
  columns.parts =
      schedule->Rfactor(loop.Of(block.ref), FreshBlockName(*schedule, block.ref + "_columns"));
  schedule->SetScope(columns.parts, StorageScope::kLocal);
  if (!loops.spatial.empty()) ComputeInRows(schedule, {columns.parts}, loops.spatial.Of(block.ref));
  Vectorize(schedule, columns);
  ParallelizeOuter(schedule, block.ref, work, target, plan);
}

}  // namespace

namespace {

// How a block is reduced, whatever the plan.
struct Match {
  LoopRef columns;    // of a short axis whose elements are the lanes; none: steps
  int64_t width = 0;  // its extent
  Steps steps;
};

// Of a block whose steps may run in any order. Refuses what is not along contiguous memory.
Match RequireMatch(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target) {
  Match match;
  if (std::optional<Steps> fused = AdjacentSteps(schedule, block, target)) {
    match.steps = *fused;
    return match;
  }
  match.columns = ShortLoop(schedule, block, target);
  for (const BlockAxis& axis : block.axes)
    if (axis.loop == match.columns && !match.columns.empty())
      match.width = *ir::AsConstInt(axis.extent);
  if (match.columns.empty()) match.steps = RequireSteps(schedule, block, target);
  return match;
}

std::vector<ReductionPlan> PlansOf(const Match& match, const TargetInfo& target,
                                   const Wanted<ReductionPlan>& want) {
  if (match.columns.empty()) return ReductionPlans(match.steps.problem, target, want);
  ReductionPlan plan;
  plan.vector = match.width;
  return {plan};
}

void ApplyPlan(Schedule* schedule, const BlockInfo& block, const TargetInfo& target, Match match,
               ReductionPlan* chosen) {
  const ReductionPlan& plan = *chosen;
  if (!match.columns.empty()) return ReduceColumns(schedule, block, match.columns, target, chosen);
  int64_t work = WorkOf(*schedule, block.ref);
  Steps& steps = match.steps;
  if (!steps.fused.empty()) FuseSteps(schedule, block, &steps);
  if (plan.part) {
    ReduceByParts(schedule, block.ref, steps, plan);
    return chosen->SetParallel(1);
  }
  if (plan.stages > 1)
    return ReduceByRows(schedule, block.ref,
                        steps.is_inner() ? steps.reduced.front() : steps.reduced.back(), target,
                        chosen);
  BlockRef last = ReduceInRows(schedule, block.ref, steps, plan, target);
  ParallelizeOuter(schedule, last, work, target, chosen);
}

}  // namespace

ReductionPlan ReduceRows(Schedule* schedule, const BlockInfo& given, const TargetInfo& target,
                         const Plan* wanted) {
  BlockInfo block = InAnyOrder(schedule, given);
  Match match = RequireMatch(*schedule, block, target);
  Wanted<ReductionPlan> want(wanted);
  ReductionPlan plan = match.columns.empty() ? BestReductionPlan(match.steps.problem, target, want)
                                             : ReductionPlan{};
  plan.parallel = want.Or(&ReductionPlan::parallel, plan.parallel);
  ApplyPlan(schedule, block, target, match, &plan);
  plan.CheckParallel();
  return plan;
}

std::vector<ReductionPlan> RowPlans(const Schedule& schedule, const BlockInfo& given,
                                    const TargetInfo& target, const Wanted<ReductionPlan>& want) {
  Schedule probe = schedule;
  BlockInfo block = InAnyOrder(&probe, given);
  return PlansOf(RequireMatch(probe, block, target), target, want);
}

void ReduceRows(Schedule* schedule, const BlockInfo& given, const TargetInfo& target,
                ReductionPlan* plan) {
  BlockInfo block = InAnyOrder(schedule, given);
  ApplyPlan(schedule, block, target, RequireMatch(*schedule, block, target), plan);
}

BlockRefs VectorReduction::made() const {
  return lanes.empty() ? BlockRefs{parts} : BlockRefs{parts, lanes};
}

namespace {

// The steps of a block in the loops of a row. Refuses where there are none, or their order is
// fixed.
Steps RequireRowSteps(Schedule* schedule, const BlockRef& block, const TargetInfo& target) {
  const BlockNode* node = schedule->At(block);
  // The tail of another one, which is short: its elements are added one by one.
  if (!node->init) Refuse("block " + block.name() + " has no init");
  BlockInfo info = InAnyOrder(schedule, DescribeBlock(*schedule, block));
  Steps steps = RequireSteps(*schedule, info, target);
  steps.problem.shared = false;
  return steps;
}

// Gives a reduction along contiguous memory vector accumulators; nothing where its order is fixed.
std::optional<VectorReduction> FactorVectors(Schedule* schedule, const BlockRef& block,
                                             const TargetInfo& target, const Plan* wanted) {
  VectorReduction result;
  bool done = Try(schedule, [&](Schedule* attempt) {
    Steps steps = RequireRowSteps(attempt, block, target);
    result = DoFactor(attempt, block, steps,
                      BestReductionPlan(steps.problem, target, Wanted<ReductionPlan>(wanted)));
  });
  return done ? std::optional(result) : std::nullopt;
}

}  // namespace

std::optional<ReductionProblem> RowProblem(const Schedule& schedule, const BlockRef& block,
                                           const TargetInfo& target) {
  std::optional<ReductionProblem> problem;
  Schedule probe = schedule;
  // As it would be done: floats that must stay in order are refused by the step.
  bool done = FactorVectors(&probe, block, target, nullptr).has_value();
  if (!done) return {};
  probe = schedule;
  Try(&probe,
      [&](Schedule* attempt) { problem = RequireRowSteps(attempt, block, target).problem; });
  return problem;
}

std::vector<VectorReduction> FactorAll(Schedule* schedule, const BlockRef& block,
                                       const TargetInfo& target, BlockRefs* blocks,
                                       const Plan* wanted) {
  std::vector<VectorReduction> reductions;
  BlockRef rest = block;
  while (!rest.empty()) {
    std::optional<VectorReduction> reduction = FactorVectors(schedule, rest, target, wanted);
    if (reduction)
      for (const BlockRef& made : reduction->made()) blocks->push_back(made);
    blocks->push_back(rest);
    rest = reduction ? reduction->rest : BlockRef();
    if (reduction) reductions.push_back(std::move(*reduction));
  }
  return reductions;
}

void ComputeInRows(Schedule* schedule, const BlockRefs& blocks, const LoopRefs& rows) {
  for (size_t i = blocks.size(); i-- > 0;) {
    if (Try(schedule, [&](Schedule* attempt) { attempt->ComputeAt(blocks[i], rows.back()); }))
      continue;
    // What writes a tensor, or goes on with what others wrote, computes all of it.
    for (const LoopRef& row : rows) {
      Nest nest = NestOf(schedule->tree(), schedule->At(blocks[i]));
      if (nest.loops.empty())
        Refuse("block " + blocks[i].name() + " has no loop for every row axis");
      schedule->FuseSiblings(LoopRef(nest.loops[0]).Of(blocks[i]), row);
    }
  }
}

void Vectorize(Schedule* schedule, const VectorReduction& reduction) {
  for (const BlockRef& block : reduction.made()) VectorizeParts(schedule, block, reduction.width);
  if (!reduction.lanes.empty())
    schedule->Unroll(LoopsOfPart(*schedule, reduction.lanes).steps[0].Of(reduction.lanes));
  LoopRef last = LoopAround(*schedule, reduction.block, reduction.last);
  schedule->DecomposeReduction(reduction.block, last);
  // Lanes that are a value and its index are combined one by one.
  if (!FindSelectionUpdate(schedule->At(reduction.block)->body)) schedule->Vectorize(last);
}

void UnrollVectors(Schedule* schedule, const VectorReduction& reduction) {
  LoopRef vectors = VectorsOf(*schedule, reduction.parts);
  if (!vectors.empty()) schedule->Unroll(vectors.Of(reduction.parts));
}

bool ComputeOnTheWay(Schedule* schedule, const BlockRef& block, const LoopRef& loop,
                     const VectorReduction& reduction) {
  Buffer result = DescribeBlock(*schedule, block).accesses[0].buffer;
  LoopRefs steps = LoopsOfPart(*schedule, reduction.parts).steps;
  if (steps.size() != 1 || !Touches(AsStmt(schedule->At(reduction.parts)), result)) return false;
  return Try(schedule, [&](Schedule* attempt) {
    auto [outer, vectors, lanes] =
        attempt->Split(loop.Of(block), {reduction.vectors, reduction.width},
                       {FreshLoopName(*attempt, loop + "_o"), FreshLoopName(*attempt, loop + "_v"),
                        FreshLoopName(*attempt, loop + "_i")});
    attempt->Vectorize(lanes.Of(block));
    attempt->FuseSiblings(outer.Of(block), steps[0].Of(reduction.parts));
    LoopRef parts = VectorsOf(*attempt, reduction.parts);
    if (!parts.empty()) attempt->FuseSiblings(vectors.Of(block), parts.Of(reduction.parts));
  });
}

namespace {

// Refuses a matmul whose M and N are more than 1, which reads operands again.
void RequireNoTile(const BlockInfo& block) {
  bool m = false, n = false;
  for (const BlockAxis& axis : block.axes) {
    m |= axis.role == AxisRole::kM && !ir::IsConst(axis.extent, 1);
    n |= axis.role == AxisRole::kN && !ir::IsConst(axis.extent, 1);
  }
  if (m && n) Refuse("it is a matmul with M and N above 1");
}

}  // namespace

void RegisterHostReductionRules() {
  RegisterRule(
      {.name = "vectorize_reduction",
       .description = "vector accumulators along the reduction, then a horizontal reduction",
       .kinds = {BlockKind::kReduction, BlockKind::kMatmul},
       .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
       .priority = 20,
       .planned = Planned<ReductionPlan>(
           [](Schedule* schedule, const BlockInfo& given, const TargetInfo& target,
              const Wanted<ReductionPlan>& want) {
             RequireNoTile(given);
             return RowPlans(*schedule, given, target, want);
           },
           [](Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
              ReductionPlan* plan) { ReduceRows(schedule, block, target, plan); })});
}

}  // namespace tern::schedule
