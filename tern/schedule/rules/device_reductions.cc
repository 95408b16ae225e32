// SPDX-License-Identifier: Apache-2.0
//
// Reductions on devices, along any axes: integers, argmin and argmax always, other floats with
// `reassociate`. Which rule takes a block follows from the axis that is contiguous in what it
// reads: the one here, or column_reduction (device_columns.cc). The order is fixed: the same bits
// in every run.
//
// row_reduction: the contiguous axis is reduced. Adjacent reduced axes are fused to k, the others
// to o.
//
//   for rows, p in parts                     blockIdx.x; threadIdx.y: several short rows
//     for o / parts / ty                     threadIdx.y
//       for k / tx / lanes                   threadIdx.x, vector loads
//         S[row] op= X[o, row, k]            warp shuffles, then shared memory
//     Y[row] = epilogue(S[row])              by one of the threads, where a row is one index
//
// argmin and argmax, whose value and index are reduced together, are taken too: of equal values
// that of the lowest index, whatever the order (break_ties).
//
// Where results are too few to fill the device, there are `parts` of each, in another buffer, which
// a second kernel reduces (rfactor). Extents are any; tails are predicated.
#include "tern/schedule/rules/device_reductions.h"

#include <algorithm>
#include <cmath>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_threads.h"
#include "tern/schedule/rules/reduction_loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Threads of a block of short rows.
constexpr int64_t kRowThreads = 128;

// Bytes from memory in a cycle, of the device; cycles before the first load of a thread block,
// until loads are there, and until another kernel runs.
constexpr double kBytesPerCycle = 2400, kStartCycles = 800, kLatency = 700, kLaunchCycles = 4000;

struct RowPlan : PlanCost {
  int64_t threads = 1;  // along the contiguous axis
  int64_t outer = 1;    // threads along the other reduced axes
  int64_t rows = 1;     // of a thread block
  int64_t lanes = 1;    // elements that a thread loads at once
  int64_t parts = 1;    // of a result, by thread blocks of their own

  static const std::vector<PlanField<RowPlan>>& Fields() {
    using P = RowPlan;
    static const std::vector<PlanField<P>> fields = {{"threads", &P::threads},
                                                     {"outer", &P::outer},
                                                     {"rows", &P::rows},
                                                     {"lanes", &P::lanes},
                                                     {"parts", &P::parts}};
    return fields;
  }
};
using P = RowPlan;

void SetCost(const Reduction& reduction, const TargetInfo& target, P* plan) {
  auto results = static_cast<double>(
           std::max({reduction.results.number, target.likely_results, int64_t{1}})),
       steps = static_cast<double>(
           std::max({reduction.steps().number, target.likely_steps, plan->threads * plan->outer}));
  double sharing = static_cast<double>(plan->threads * plan->outer * plan->parts),
         loads = std::ceil(steps / sharing / static_cast<double>(plan->lanes)),
         blocks = results * static_cast<double>(plan->parts) / static_cast<double>(plan->rows),
         resident = static_cast<double>(target.busy_blocks * kResidentThreads) /
                    static_cast<double>(plan->threads * plan->outer * plan->rows);
  plan->limit = results * steps * static_cast<double>(reduction.bytes) / kBytesPerCycle;
  double waited =
      std::ceil(blocks / resident) * (kStartCycles + std::ceil(loads / kLeastLoads) * kLatency);
  plan->cycles = std::max(plan->limit, waited) + (plan->parts > 1 ? kLaunchCycles : 0);
}

// The threads follow from the lengths, the parts from how many results there are.
std::vector<P> Plans(const Reduction& reduction, const TargetInfo& target, bool in_parts,
                     const Wanted<P>& want) {
  const Size &outer = reduction.outer_steps, &inner = reduction.inner_steps;
  P plan;
  plan.lanes = want.Or(&P::lanes, reduction.lanes);
  if (plan.lanes < 1 || reduction.lanes % plan.lanes != 0) return {};
  int64_t most = std::min(kBlockThreads, target.max_threads);
  int64_t warp = std::max<int64_t>(target.warp_size, 32);
  int64_t loads = (inner.number + plan.lanes - 1) / plan.lanes;
  int64_t likely = target.likely_steps ? std::max(warp, target.likely_steps / 16) : most;
  plan.threads =
      want.Or(&P::threads, !inner.is_known() ? std::min(likely, most)
                           : loads <= warp   ? PowerFor(loads, std::min(warp, most))
                                             : ThreadsForRow(inner.number, plan.lanes, target));
  if (plan.threads < 1) return {};
  plan.outer = want.Or(&P::outer, reduction.outer.empty() ? 1
                                  : outer.is_known() ? PowerFor(outer.number, most / plan.threads)
                                                     : std::max<int64_t>(most / plan.threads, 1));
  // Short rows are several of a thread block, where there are many.
  if (reduction.outer.empty() && plan.threads < kRowThreads && !reduction.spatial.empty()) {
    plan.rows = std::min(kRowThreads, target.max_threads) / plan.threads;
    if (reduction.results.is_known())
      plan.rows =
          std::min(plan.rows, PowerFor(reduction.results.number / target.busy_blocks, plan.rows));
  }
  plan.rows = want.Or(&P::rows, plan.rows);
  bool fits = plan.outer > 0 && plan.rows > 0 && (plan.outer == 1 || !reduction.outer.empty()) &&
              (plan.rows == 1 || (reduction.outer.empty() && !reduction.spatial.empty())) &&
              (!want.is_asked() || plan.threads * plan.outer * plan.rows <= target.max_threads);
  if (!fits) return {};
  int64_t results = reduction.results.is_known() ? reduction.results.number : target.likely_results;
  if (in_parts)
    plan.parts = PartsFor(reduction, results / plan.rows, plan.threads * plan.outer * plan.rows,
                          plan.threads * plan.outer, plan.lanes, target);
  plan.parts = want.Or(&P::parts, plan.parts);
  if (plan.parts < 1) return {};
  SetCost(reduction, target, &plan);
  return {plan};
}

void ReduceRow(Schedule* schedule, const Reduction& reduction, const TargetInfo& target,
               const P& plan);

void ReduceRowWith(Schedule* schedule, const Reduction& reduction, const TargetInfo& target,
                   const P& plan, const std::optional<Epilogue>& epilogue) {
  const BlockRef& name = reduction.name;
  const Size &outer = reduction.outer_steps, &inner = reduction.inner_steps;
  int64_t x = plan.threads, y = plan.outer, rows = plan.rows, lanes = plan.lanes,
          parts = plan.parts;
  // What is split in parts: the longer one.
  bool of_outer =
      !reduction.outer.empty() &&
      (!outer.is_known() || (inner.is_known() && outer.number / y >= inner.number / (x * lanes)));
  if (of_outer && outer.is_known()) parts = std::min(parts, outer.number);

  LoopRefs order = reduction.spatial;
  order.insert(order.end(), reduction.outer.begin(), reduction.outer.end());
  order.insert(order.end(), reduction.inner.begin(), reduction.inner.end());
  Order(schedule, name, order);
  LoopRefs spatial = reduction.spatial;
  bool is_full =
      rows == 1 || (reduction.results.is_known() && reduction.results.number % rows == 0);
  if (epilogue && parts == 1 && !spatial.empty()) {
    // Threads that wait for each other would be under a condition.
    if (!is_full) Refuse("the last thread block has fewer rows");
    schedule->SetScope(epilogue->results, StorageScope::kShared);
    schedule->ReverseComputeAt(epilogue->block, spatial.back().Of(name));
    // One index is that of a row, no part of a fused one.
    std::erase_if(spatial, [&](const LoopRef& loop) {
      return loop != reduction.spatial.back() && ir::IsConst(schedule->At(loop)->extent, 1);
    });
  }
  Binding loops;
  LoopRef k = FuseLoops(schedule, name, reduction.inner);
  LoopRefs steps = SplitBy(schedule, name, k, {of_outer ? 1 : parts, x, lanes}, {"_p", "_t", "_v"});
  loops.part = steps[1];
  loops.x = steps[2];
  loops.vector = steps[3];
  if (!reduction.outer.empty()) {
    LoopRef o = FuseLoops(schedule, name, reduction.outer);
    LoopRefs others = SplitBy(schedule, name, o, {of_outer ? parts : 1, y}, {"_p", "_t"});
    AddIf(others[0], &loops.serial);
    if (!others[1].empty()) loops.part = others[1];
    loops.y = others[2];
  }
  AddIf(steps[0], &loops.serial);
  if (rows > 1) {
    LoopRef row = FuseLoops(schedule, name, spatial);
    Lanes split = SplitLanes(schedule, name, row, rows);
    spatial.clear();
    AddIf(split.outer, &spatial);
    spatial.push_back(split.inner);
    loops.y = split.inner;
    AddIf(split.outer, &loops.blocks);
  } else {
    loops.blocks = spatial;
  }
  if (epilogue) loops.placed = spatial;
  if (parts > 1) return ReduceParts(schedule, reduction, loops, parts, spatial, target);
  BindReduction(schedule, name, loops);
}

void ReduceRow(Schedule* schedule, const Reduction& reduction, const TargetInfo& target,
               const P& plan) {
  std::optional<Epilogue> epilogue = EpilogueOf(*schedule, reduction.name);
  bool fused = epilogue && Try(schedule, [&](Schedule* attempt) {
                 ReduceRowWith(attempt, reduction, target, plan, epilogue);
               });
  if (!fused) ReduceRowWith(schedule, reduction, target, plan, {});
}

Reduction RequireRows(Schedule* schedule, const BlockInfo& given, const TargetInfo& target) {
  BlockInfo block = FreeOrder(schedule, given);
  Reduction reduction = MatchReduction(*schedule, block, target);
  if (!reduction.is_row) Refuse("the contiguous axis of what is read is not reduced");
  if (Size steps = reduction.steps(); steps.is_known() && steps.number < kLeastSharedSteps)
    Refuse("a result has " + std::to_string(steps.number) + " steps; threads share them from " +
           std::to_string(kLeastSharedSteps) + " on");
  return reduction;
}

std::vector<P> RowPlans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                        const Wanted<P>& want) {
  return Plans(RequireRows(schedule, block, target), target, true, want);
}

void ApplyRows(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
               const P& plan) {
  ReduceRow(schedule, RequireRows(schedule, block, target), target, plan);
}

}  // namespace

void ReduceParts(Schedule* schedule, const Reduction& reduction, const Binding& loops,
                 int64_t parts, const LoopRefs& spatial, const TargetInfo& target) {
  LoopRefs order = spatial;
  for (const LoopRef& loop : {loops.part, loops.y, loops.x})
    if (!loop.empty() && !Contains(order, loop)) order.push_back(loop);
  order.insert(order.end(), loops.serial.begin(), loops.serial.end());
  AddIf(loops.vector, &order);
  Order(schedule, reduction.name, order);
  CopyRef made = schedule->Rfactor(loops.part.Of(reduction.name),
                                   FreshBlockName(*schedule, reduction.name + "_parts"));
  Binding of_parts = loops;
  for (LoopRefs* some : {&of_parts.blocks, &of_parts.serial, &of_parts.placed})
    *some = LoopsAround(*schedule, made, *some);
  for (LoopRef* one :
       {&of_parts.part, &of_parts.x, &of_parts.y, &of_parts.vector, &of_parts.neighbours})
    if (*one) *one = LoopAround(*schedule, made, *one).Of({});
  BindReduction(schedule, made, of_parts);
  Reduction rest;
  rest.name = reduction.name;
  rest.is_row = true;
  rest.spatial = spatial;
  rest.results = reduction.results;
  rest.inner = {loops.part};
  rest.inner_steps.number = parts;
  ReduceRow(schedule, rest, target, Plans(rest, target, false, Wanted<P>(nullptr))[0]);
}

void ReduceOnDevice(Schedule* schedule, const BlockRef& block, const TargetInfo& target) {
  BlockInfo info = DescribeBlock(*schedule, block);
  if (!Try(schedule, [&](Schedule* attempt) {
        Reduction reduction = RequireRows(attempt, info, target);
        ReduceRow(attempt, reduction, target,
                  Plans(reduction, target, true, Wanted<P>(nullptr))[0]);
      }))
    ReduceColumns(schedule, info, target);
}

void RegisterDeviceReductionRules() {
  RegisterDeviceRowTileRules();
  RegisterDeviceColumnRules();
  auto fits = [](const TargetInfo& target) { return target.has_shared_memory(); };
  using K = BlockKind;
  RegisterRule({.name = "row_reduction",
                .description = "the contiguous axis is reduced: by the threads of a block, or by "
                               "several blocks where there are few outputs",
                .kinds = {K::kReduction, K::kMatmul},
                .fits = fits,
                .priority = 10,
                .planned = Planned<P>(RowPlans, ApplyRows)});
}

}  // namespace tern::schedule
