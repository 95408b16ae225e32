// SPDX-License-Identifier: Apache-2.0
//
// thread_per_output: reductions of few steps to many results: poolings, depthwise convolutions, and
// other sums of windows.
//
//   for outputs, in the order of memory / 256    blockIdx.x
//     for outputs in 256                         threadIdx.x: coalesced stores
//       acc = init                               a register
//       for steps { acc op= f(X) }               innermost loops of up to 32 steps unrolled
//       Y = acc
//
// Cost: steps of a multiprocessor, with the branch of those that are not unrolled; and as many as a
// thread block takes to start.
//
//   cycles = outputs / busy_blocks * (steps * (1 + 1 / unroll) + 32 / threads)
//
// A step's loads are coalesced as far as neighbouring outputs read neighbours. Nothing is combined
// in another order. Declines where there are too few outputs to fill the device and a thread would
// have many steps: threads should share these, which takes `reassociate`.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_threads.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

constexpr int64_t kFewSteps = 64, kUnrolledSteps = 32;
// What a thread block takes to start, and guesses of dynamic numbers of outputs and steps.
constexpr double kBlockSteps = 32;
constexpr int64_t kManyOutputs = 1 << 20, kLikelySteps = 16;

struct OutputPlan : PlanCost {
  int64_t threads = 0;  // of a block
  int64_t unroll = 1;   // steps that are written out, at most

  static const std::vector<PlanField<OutputPlan>>& Fields() {
    using P = OutputPlan;
    static const std::vector<PlanField<P>> fields = {{"threads", &P::threads},
                                                     {"unroll", &P::unroll}};
    return fields;
  }
};
using P = OutputPlan;

// The product of the extents of loops; 0: dynamic.
int64_t NumIterations(const BlockInfo& block, const LoopRefs& loops) {
  int64_t product = 1;
  for (const BlockAxis& axis : block.axes)
    if (Contains(loops, axis.loop)) product *= ConstExtent(axis);
  return product;
}

// The loops in the order in which the axes index the result.
LoopRefs InOrderOfMemory(const BlockInfo& block, LoopRefs loops) {
  for (size_t axis : block.accesses[0].axes) {
    const LoopRef& loop = block.axes[axis].loop;
    if (std::erase(loops, loop) > 0) loops.push_back(loop);
  }
  return loops;
}

LoopsByKind RequireOutputs(const Schedule& schedule, const BlockInfo& block) {
  RequireAlone(schedule, block);
  LoopsByKind loops = RequireLoops(schedule, block);
  if (loops.spatial.empty() || loops.reduce.empty())
    Refuse("it has no loops of outputs, or none of steps");
  for (const BlockAxis& axis : block.axes)
    if (ir::IsConst(axis.extent, 0)) Refuse("axis " + axis.var.name() + " is empty");
  return loops;
}

std::vector<P> OutputPlans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                           const Wanted<P>& want) {
  LoopsByKind loops = RequireOutputs(*schedule, block);
  int64_t outputs = NumIterations(block, loops.spatial), steps = NumIterations(block, loops.reduce);
  int64_t most = std::min(kBlockThreads, target.max_threads);
  if (outputs > 0 && outputs < target.busy_blocks * most / 4 && (steps == 0 || steps > kFewSteps))
    Refuse("there are " + std::to_string(outputs) + " outputs, of more than " +
           std::to_string(kFewSteps) + " steps each");
  std::vector<P> plans;
  for (int64_t threads = most; threads >= std::min(most, kBlockThreads / 4); threads /= 2)
    for (int64_t unroll : {want.Or(&P::unroll, kUnrolledSteps), int64_t{1}}) {
      P plan;
      plan.threads = threads;
      plan.unroll = unroll;
      plan.cycles = static_cast<double>(outputs ? outputs : kManyOutputs) /
                    static_cast<double>(target.busy_blocks) *
                    (static_cast<double>(steps ? steps : kLikelySteps) *
                         (1 + 1 / static_cast<double>(unroll)) +
                     kBlockSteps / static_cast<double>(threads));
      if (unroll > 0) plans.push_back(plan);
    }
  return plans;
}

void Apply(Schedule* schedule, const BlockInfo& block, const TargetInfo&, const P& plan) {
  BlockRef name = block.ref;
  LoopsByKind loops = RequireOutputs(*schedule, block);
  LoopRefs spatial = InOrderOfMemory(block, loops.spatial), order = spatial;
  order.insert(order.end(), loops.reduce.begin(), loops.reduce.end());
  schedule->Reorder(order.Of(name));
  Lanes split = SplitLanes(schedule, name, FuseLoops(schedule, name, spatial), plan.threads);
  std::vector<Buffer> results;
  for (const BlockAccess& access : block.accesses)
    if (access.store && std::none_of(results.begin(), results.end(), [&](const Buffer& other) {
          return other.same(access.buffer);
        }))
      results.push_back(access.buffer);
  Try(schedule, [&](Schedule* attempt) {
    for (const Buffer& result : results) {
      CopyRef copy = attempt->CacheWrite(name, result, StorageScope::kLocal);
      attempt->ReverseComputeAt(copy, split.inner.Of(name));
    }
  });
  if (split.outer) schedule->Bind(split.outer.Of(name), kBlockX);
  schedule->Bind(split.inner.Of(name), kThreadX);
  int64_t unrolled = 1;
  for (size_t i = loops.reduce.size(); i-- > 0;) {
    unrolled *= NumIterations(block, {loops.reduce[i]});
    if (unrolled == 0 || unrolled > plan.unroll) break;
    schedule->Unroll(loops.reduce[i].Of(name));
  }
}

}  // namespace

void RegisterDeviceOutputRules() {
  using K = BlockKind;
  RegisterRule({.name = "thread_per_output",
                .description = "a thread for each output, whose few steps are in registers",
                .kinds = {K::kReduction, K::kPooling, K::kConvolution},
                .fits = IsDevice,
                .priority = 5,
                .planned = Planned<P>(OutputPlans, Apply)});
}

}  // namespace tern::schedule
