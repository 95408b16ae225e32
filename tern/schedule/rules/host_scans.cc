// SPDX-License-Identifier: Apache-2.0
//
// parallel_scan: one long scan, by an operator that may be combined in parts (integers, or
// `reassociate`), on several threads:
//
//   for p, parallel: totals[p] = X[p * 16384] op ..      # vector accumulators
//   for p: carries[p] = carries[p - 1] op totals[p - 1]
//   for p, parallel: for r in 16384: Y[p, r] = X[p, r] op (Y[p, r - 1], or carries[p])
//
// Cost: an operation of a scan waits for the one before, one of a carry too; threads start twice.
//
//   cycles = steps / threads * (latency + 1 / lanes) + parts * latency + 2 * thread_start_cycles
//
// Declines scans of rows, which are threads' each (parallel_loops), and those of less than 4 parts.
//
// vectorize_steps: a block whose outer loops run in order, and the innermost one along contiguous
// memory in any, as updates of rows at indices that may be the same:
//
//   for j_p, parallel { for i (scan) { for j_o { for j_i in 2 * lanes vectorized { block } } } }
//
// A thread takes all steps of its 1024 columns, so that threads meet once: as long as what hardware
// prefetches of a row. Up to as many columns, and few operations in all, stay on one thread
// (`columns = 0`); of a dynamic number the innermost loop is plain (`vector = 0`). Cost, of one
// thread; of several as ParallelizeOuter has it:
//
//   cycles = elements * (operations / lanes of a register + 1 / vector)
//
// Declines where the innermost loop is not that of a contiguous spatial axis, or an outer one is
// spatial: its iterations are threads' (parallel_loops).
#include <algorithm>
#include <cmath>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/host_reductions.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/analysis/scan_update.h"
#include "tern/tir/transform/loops/vectorize_loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Elements of a part, at most: 64 KiB of int32, which are still in L2 when a thread comes back.
constexpr int64_t kPart = 1 << 14;
// Columns of a part.
constexpr int64_t kColumns = 1024;
// A guess of the steps of a long scan.
constexpr int64_t kManySteps = 1 << 20;

struct ScanPlan : HostPlan {
  int64_t part = 0;  // steps that a thread takes at a time

  static const std::vector<PlanField<ScanPlan>>& Fields() {
    using P = ScanPlan;
    static const std::vector<PlanField<P>> fields = {{"part", &P::part},
                                                     {"parallel", &P::parallel}};
    return fields;
  }
};

std::vector<ScanPlan> ScanPlans(Schedule* schedule, const BlockInfo& block,
                                const TargetInfo& target, const Wanted<ScanPlan>& want) {
  if (target.threads == 1) Refuse("there is one thread");
  const BlockNode* node = schedule->At(block.ref);
  if (!FindScanUpdate(node))
    Refuse("it is no scan by +, *, min, max, && or ||: Y[v] = x op select(v > 0, Y[v - 1], start)");
  Nest nest = NestOf(schedule->tree(), node);
  if (!nest.around.empty() || nest.loops.size() != 1)
    Refuse("there is more than the one loop of the scan");
  std::optional<int64_t> length = ir::AsConstInt(nest.loops[0]->extent);
  if (length && *length < 4 * kPart && !want.is_asked()) Refuse("there are too few steps");
  auto steps = static_cast<double>(length.value_or(kManySteps)),
       latency = static_cast<double>(target.fma_latency),
       lanes = static_cast<double>(target.vector_bytes) /
               static_cast<double>(block.accesses[0].buffer->dtype.bytes());
  std::vector<ScanPlan> plans;
  for (int64_t part : {want.Or(&ScanPlan::part, kPart), kPart / 2, kPart / 4}) {
    ScanPlan plan;
    plan.part = part;
    plan.parallel = 1;
    if (part < 1) continue;
    double parts = std::ceil(steps / static_cast<double>(part)),
           threads = std::min(parts, static_cast<double>(target.likely_threads));
    plan.cycles = steps / threads * (latency + 1 / lanes) + parts * latency +
                  2 * static_cast<double>(target.thread_start_cycles);
    plans.push_back(plan);
  }
  return plans;
}

void ScanParts(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
               ScanPlan* plan) {
  const BlockRef& name = block.ref;
  Nest nest = NestOf(schedule->tree(), schedule->At(name));
  LoopRef loop(nest.loops[0]);
  CopyRefs made = schedule->SplitScan(
      name, loop.Of(name), plan->part,
      {FreshBlockName(*schedule, name + "_totals"), FreshBlockName(*schedule, name + "_carries")});
  bool vectors = Try(schedule, [&](Schedule* attempt) {
    ReduceRows(attempt, DescribeBlock(*attempt, made[0]), target);
  });
  for (const BlockRef& parts : BlockRefs{made[0], name}) {
    if (parts != name && vectors) continue;
    Nest parted = NestOf(schedule->tree(), schedule->At(parts));
    schedule->Parallel(LoopRef(parted.loops[0]).Of(parts));
  }
  plan->SetParallel(1);
}

struct StepsPlan : HostPlan {
  int64_t vector = 0;   // columns at a time; 0: one
  int64_t columns = 0;  // that a thread takes, of all steps; 0: one thread has all of them

  static const std::vector<PlanField<StepsPlan>>& Fields() {
    using P = StepsPlan;
    static const std::vector<PlanField<P>> fields = {
        {"vector", &P::vector}, {"columns", &P::columns}, {"parallel", &P::parallel}};
    return fields;
  }
};

std::vector<StepsPlan> StepsPlans(Schedule* schedule, const BlockInfo& block,
                                  const TargetInfo& target, const Wanted<StepsPlan>& want) {
  Nest nest = NestOf(schedule->tree(), schedule->At(block.ref));
  std::optional<size_t> axis = FindVectorAxis(block);
  if (!axis || nest.loops.size() < 2 || !nest.around.empty() ||
      LoopRef(nest.loops.back()) != block.axes[*axis].loop)
    Refuse("the innermost loop is not that of a spatial axis along contiguous memory");
  for (size_t i = 0; i + 1 < nest.loops.size(); ++i)
    if (UseOf(nest.block, nest.loops[i]->var.node()).spatial)
      Refuse("the iterations of loop " + nest.loops[i]->var.name() + " are independent");
  int64_t most = LanesFor(block, *axis, target, 2), registers = LanesFor(block, *axis, target, 1);
  if (most == 0) Refuse("fewer than two elements fit in a vector");
  std::optional<int64_t> columns = ir::AsConstInt(block.axes[*axis].extent);
  if (!columns && target.threads == 1)
    Refuse("there is one thread, and the number of columns is dynamic");
  int64_t work = block.operations;
  for (const ForNode* around : nest.loops) {
    std::optional<int64_t> count = ir::AsConstInt(around->extent);
    work *= count.value_or(kUnknownExtent);
    if (!count) work = std::max(work, target.thread_start_operations);
  }
  std::vector<StepsPlan> plans;
  auto add = [&](int64_t vector, int64_t part) {
    int64_t lanes = std::max<int64_t>(vector, 1);
    StepsPlan plan;
    plan.vector = vector;
    plan.columns = part;
    plan.parallel = 0;
    auto operations = static_cast<double>(work);
    plan.cycles = operations / static_cast<double>(std::clamp<int64_t>(registers, 1, lanes)) +
                  operations / static_cast<double>(std::max<int64_t>(block.operations, 1) * lanes);
    if (part)
      ShareWork(1, work, columns ? CeilDiv(*columns, part) : target.most_threads, target, &plan);
    plans.push_back(plan);
  };
  auto add_parts = [&](int64_t vector) {
    int64_t lanes = std::max<int64_t>(vector, 1),
            part = want.Or(&StepsPlan::columns, std::max(kColumns / lanes, int64_t{1}) * lanes);
    bool several = target.threads != 1 && (!columns || *columns > part);
    if (several && part > 0 && part % lanes == 0) add(vector, part);
  };
  // A dynamic number of columns is left to the compiler of the code to vectorize: what a masked
  // vector stores has to reach memory before the next step loads it.
  if (!columns) add_parts(0);
  for (int64_t lanes = most; columns && lanes >= kMinLanes; lanes /= 2) {
    add_parts(lanes);
    add(lanes, 0);
  }
  return plans;
}

void VectorizeSteps(Schedule* schedule, const BlockInfo& block, const TargetInfo&,
                    StepsPlan* plan) {
  const BlockRef& name = block.ref;
  Nest nest = NestOf(schedule->tree(), schedule->At(name));
  const BlockAxis& axis = block.axes[*FindVectorAxis(block)];
  plan->SetParallel(plan->columns ? 1 : 0);
  if (plan->columns == 0) {
    Lanes split = SplitLanes(schedule, name, axis.loop, plan->vector, VectorTail(axis.extent));
    return schedule->Vectorize(split.inner.Of(name));
  }
  Schedule::Names names;
  for (const char* suffix : {"_p", "_o", "_i"})
    names.push_back(FreshLoopName(*schedule, axis.loop + suffix));
  std::vector<int64_t> factors = {plan->columns};
  if (plan->vector)
    factors = {plan->columns / plan->vector, plan->vector};
  else
    names.pop_back();
  LoopRefs parts = schedule->Split(axis.loop.Of(name), factors, names,
                                   plan->vector ? TailStrategy::kMask : TailStrategy::kLoop);
  LoopRefs order = {parts[0].Of(name)};
  for (size_t i = 0; i + 1 < nest.loops.size(); ++i)
    order.push_back(LoopRef(nest.loops[i]).Of(name));
  schedule->Reorder(order);
  if (plan->vector) schedule->Vectorize(parts[2].Of(name));
  schedule->Parallel(parts[0].Of(name));
}

}  // namespace

void RegisterHostScanRules() {
  RegisterRule({.name = "vectorize_steps",
                .description = "steps in order, by vectors; threads take columns",
                .kinds = {BlockKind::kScan, BlockKind::kScatter},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 5,
                .planned = Planned<StepsPlan>(StepsPlans, VectorizeSteps)});
  RegisterRule({.name = "parallel_scan",
                .description = "parts of one long scan on several threads, from the totals before",
                .kinds = {BlockKind::kScan},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 10,
                .planned = Planned<ScanPlan>(ScanPlans, ScanParts)});
}

}  // namespace tern::schedule
