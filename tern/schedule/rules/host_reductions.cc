// SPDX-License-Identifier: Apache-2.0
//
// Reductions on hosts along what lies side by side in memory. Floats only where the function says
// `reassociate`: the order in which they are combined changes.
#include "tern/schedule/rules/host_reductions.h"

#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

using Names = Schedule::Names;

// So many vectors are added to in turn: a sum is ready for the next step some cycles later.
constexpr int64_t kVectors = 4;
// Steps of a part that one thread takes, where there is nothing else to share.
constexpr int64_t kPartSteps = 1 << 14;

// The steps that a block reduces in vectors, in loops that are known.
struct Steps {
  std::string row;   // the innermost spatial loop, "" for none
  std::string loop;  // the innermost one, along memory
  int64_t extent = 0, lanes = 0, vectors = 1;
};

std::optional<Steps> StepsOf(const Schedule& schedule, const BlockInfo& block,
                             const MachineFacts& facts) {
  std::optional<size_t> axis = FindReducedVectorAxis(block);
  std::optional<LoopsByKind> loops = SortLoops(schedule, block);
  if (!axis || !loops || loops->reduce.empty() || loops->reduce.back() != block.axes[*axis].loop)
    return {};
  Nest nest = NestOf(schedule.function()->body, FindBlockNamed(schedule, block.name));
  // Spatial loops are the outer ones.
  for (size_t i = 0; i < loops->spatial.size(); ++i)
    if (nest.loops[i]->var.name() != loops->spatial[i]) return {};
  const int64_t* extent = ir::AsConstInt(block.axes[*axis].extent);
  Steps steps;
  steps.lanes = LanesFor(block, *axis, facts, 1);
  if (!extent || steps.lanes == 0 || *extent < 2 * steps.lanes) return {};
  steps.extent = *extent;
  steps.loop = loops->reduce.back();
  if (!loops->spatial.empty()) steps.row = loops->spatial.back();
  // No tail: the code for it would take longer than is gained.
  if (steps.extent % steps.lanes != 0) return {};
  while (steps.vectors < kVectors && steps.extent % (2 * steps.vectors * steps.lanes) == 0)
    steps.vectors *= 2;
  return steps;
}

// Of a block that Rfactor made: the loop of its parts, and those of the steps of each.
struct PartLoops {
  std::string parts;
  Names steps;
};
PartLoops LoopsOfPart(const Schedule& schedule, const std::string& part) {
  BlockInfo info = DescribeBlock(FindBlockNamed(schedule, part));
  PartLoops loops;
  loops.parts = info.axes[0].loop;
  for (const BlockAxis& axis : info.axes)
    if (axis.kind == IterKind::kReduce) loops.steps.push_back(axis.loop);
  return loops;
}

// The parts are vectors.
void VectorizeParts(Schedule* schedule, const std::string& part, int64_t lanes) {
  PartLoops loops = LoopsOfPart(*schedule, part);
  Lanes split = SplitLanes(schedule, part, loops.parts, lanes);
  Names order = Around(part, loops.steps);
  if (!split.outer.empty()) order.push_back(LoopOf(part, split.outer));
  order.push_back(LoopOf(part, split.inner));
  schedule->Reorder(order);
  std::string init = schedule->DecomposeReduction(part, order[0]);
  for (const std::string& block : {init, part}) {
    if (!split.outer.empty()) schedule->Unroll(LoopOf(block, split.outer));
    schedule->Vectorize(LoopOf(block, split.inner));
  }
}

VectorReduction DoFactor(Schedule* schedule, const std::string& block, const Steps& steps) {
  VectorReduction result;
  result.block = block;
  result.width = steps.lanes;
  std::string outer = FreshLoopName(*schedule, steps.loop + "_o");
  result.last = FreshLoopName(*schedule, steps.loop + "_i");
  schedule->Split(LoopOf(block, steps.loop), {steps.vectors * steps.lanes}, {outer, result.last});
  result.parts =
      schedule->Rfactor(LoopOf(block, result.last), FreshBlockName(*schedule, block + "_parts"));
  schedule->SetScope(result.parts, "local");
  if (steps.vectors == 1) return result;
  std::string vectors = FreshLoopName(*schedule, steps.loop + "_v"),
              lanes = FreshLoopName(*schedule, steps.loop + "_l");
  schedule->Split(LoopOf(block, result.last), {steps.lanes}, {vectors, lanes});
  result.last = lanes;
  result.lanes =
      schedule->Rfactor(LoopOf(block, lanes), FreshBlockName(*schedule, block + "_lanes"));
  schedule->SetScope(result.lanes, "local");
  return result;
}

// All of a reduction, in the rows of its block.
bool ReduceInRows(Schedule* schedule, const BlockInfo& block, const Steps& steps,
                  const MachineFacts& facts) {
  std::optional<VectorReduction> reduction = FactorVectors(schedule, block.name, facts);
  if (!reduction) return false;
  Names made = reduction->made();
  for (size_t i = made.size(); i-- > 0 && !steps.row.empty();)
    schedule->ComputeAt(made[i], LoopOf(block.name, steps.row));
  Vectorize(schedule, *reduction);
  return true;
}

bool ReduceRows(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts) {
  std::optional<Steps> steps = StepsOf(*schedule, block, facts);
  if (!steps) return false;
  int64_t work = WorkOf(*schedule, block.name);
  if (!steps->row.empty() || facts.threads == 1 || steps->extent < 2 * kPartSteps ||
      steps->extent % kPartSteps != 0) {
    if (!ReduceInRows(schedule, block, *steps, facts)) return false;
    ParallelizeOuter(schedule, block.name, work, facts);
    return true;
  }
  // One sum: parts of it are rows.
  std::string outer = FreshLoopName(*schedule, steps->loop + "_p"),
              inner = FreshLoopName(*schedule, steps->loop + "_q");
  schedule->Split(LoopOf(block.name, steps->loop), {kPartSteps}, {outer, inner});
  std::string rows =
      schedule->Rfactor(LoopOf(block.name, outer), FreshBlockName(*schedule, block.name + "_rows"));
  BlockInfo info = DescribeBlock(FindBlockNamed(*schedule, rows));
  std::optional<Steps> row_steps = StepsOf(*schedule, info, facts);
  if (!row_steps || !ReduceInRows(schedule, info, *row_steps, facts)) return false;
  schedule->Parallel(LoopOf(rows, row_steps->row));
  return true;
}

}  // namespace

Names VectorReduction::made() const { return lanes.empty() ? Names{parts} : Names{parts, lanes}; }

std::optional<VectorReduction> FactorVectors(Schedule* schedule, const std::string& block,
                                             const MachineFacts& facts) {
  BlockInfo info = DescribeBlock(FindBlockNamed(*schedule, block));
  std::optional<Steps> steps = StepsOf(*schedule, info, facts);
  if (!steps) return {};
  VectorReduction result;
  bool done = Try(schedule, [&](Schedule* attempt) { result = DoFactor(attempt, block, *steps); });
  return done ? std::optional(result) : std::nullopt;
}

void Vectorize(Schedule* schedule, const VectorReduction& reduction) {
  for (const std::string& block : reduction.made())
    VectorizeParts(schedule, block, reduction.width);
  if (!reduction.lanes.empty())
    schedule->Unroll(LoopOf(reduction.lanes, LoopsOfPart(*schedule, reduction.lanes).steps[0]));
  schedule->DecomposeReduction(reduction.block, LoopOf(reduction.block, reduction.last));
  schedule->Unroll(LoopOf(reduction.block, reduction.last));
}

void RegisterHostReductionRules() {
  RegisterRule({.name = "reduce_in_vectors",
                .description = "what lies side by side is reduced to vectors first",
                .kinds = {BlockKind::kReduction},
                .fits = [](const MachineFacts& facts) { return facts.is_host_with_vectors(); },
                .priority = 20,
                .apply = ReduceRows});
}

}  // namespace tern::schedule
