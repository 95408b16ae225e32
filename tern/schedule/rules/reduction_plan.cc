// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/reduction_plan.h"

#include <algorithm>
#include <bit>

#include "tern/ffi/error.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/transform/loops/vectorize_loops.h"

namespace tern::schedule {
namespace {

using P = ReductionPlan;

// Steps of a part that a thread is worth, and that threads share evenly.
constexpr int64_t kPartSteps = 1 << 14;

double AsDouble(int64_t number) { return static_cast<double>(number); }

// Of one row, without waiting for memory.
double RowCycles(const ReductionProblem& problem, const TargetInfo& target, const P& plan) {
  double vector_cycles = std::max(AsDouble(problem.loads) / AsDouble(target.loads_per_cycle),
                                  AsDouble(problem.operations) / AsDouble(target.fma_per_cycle));
  auto latency = AsDouble(target.fma_latency);
  int64_t iterations =
      plan.mask ? CeilDiv(problem.steps, plan.step()) : problem.steps / plan.step();
  double tail = plan.mask         ? 0
                : problem.dynamic ? AsDouble(plan.step() - 1) / 2
                                  : AsDouble(problem.steps % plan.step());
  // Additions of halves; other rows go on meanwhile.
  double horizontal = AsDouble(std::bit_width(static_cast<uint64_t>(plan.vector)) - 1);
  return AsDouble(iterations) * std::max(AsDouble(plan.unroll) * vector_cycles + 1, latency) +
         AsDouble(plan.unroll - 1) + horizontal + tail * latency;
}

void SetCost(const ReductionProblem& problem, const TargetInfo& target, P* plan) {
  double bytes = AsDouble(problem.rows) * AsDouble(problem.steps) * AsDouble(problem.bytes);
  if (bytes > AsDouble(target.l2_bytes))
    plan->limit = bytes / AsDouble(target.memory_bytes_per_cycle);
  else if (bytes > AsDouble(target.l1_bytes))
    plan->limit = bytes / AsDouble(target.l2_bytes_per_cycle);
  double busy = AsDouble(problem.rows) * RowCycles(problem, target, *plan);
  plan->cycles = std::max(busy, plan->limit) + std::min(busy, plan->limit) / 8;
  // Results of rows are stored, and loaded again.
  if (plan->stages > 1) plan->cycles += AsDouble(problem.rows * target.fma_latency);
  if (!problem.shared || (plan->part == 0 && plan->stages == 1)) return;
  int64_t tasks = plan->part ? CeilDiv(problem.steps, plan->part) : problem.rows;
  auto threads = AsDouble(std::min(tasks, target.likely_threads));
  plan->cycles = plan->cycles / threads + AsDouble(target.thread_start_cycles);
  plan->limit /= threads;
}

}  // namespace

std::vector<ReductionPlan> ReductionPlans(const ReductionProblem& problem, const TargetInfo& target,
                                          const Wanted<P>& want) {
  std::vector<int64_t> unrolls = {4, 2, 1}, parts = {0};
  if (int64_t unroll = want.Or(&P::unroll, 1); unroll > 1 && unroll < target.vector_registers)
    unrolls = {unroll};
  if (problem.shared && !problem.rows_are_steps) parts.push_back(want.Or(&P::part, kPartSteps));
  std::vector<P> plans;
  auto add = [&](const P& plan) {
    bool divides = !problem.dynamic && problem.steps % plan.step() == 0,
         fits = problem.dynamic || problem.steps >= plan.step(),
         cuts = problem.dynamic || (!plan.mask && !divides);
    // A part has whole vectors: what is behind all of them is a tail.
    if (plan.mask ? divides || !problem.masks || plan.part : !fits) return;
    if (plan.part < 0 || plan.part % plan.step() != 0) return;
    if (plan.stages > 1 ? !problem.rows_are_steps : problem.is_inner && cuts) return;
    plans.push_back(plan);
    SetCost(problem, target, &plans.back());
  };
  for (int64_t lanes = problem.lanes; lanes >= tir::kMinLanes; lanes /= 2)
    for (int64_t unroll : unrolls)
      for (int64_t mask : {1, 0})
        for (int64_t part : parts)
          for (int64_t stages : {1, 2}) {
            P plan;
            plan.vector = lanes;
            plan.unroll = unroll;
            plan.mask = mask;
            plan.part = part;
            plan.stages = stages;
            if (part) plan.parallel = 1;
            add(plan);
          }
  return plans;
}

ReductionPlan BestReductionPlan(const ReductionProblem& problem, const TargetInfo& target,
                                const Wanted<P>& want) {
  std::vector<P> plans = ReductionPlans(problem, target, want);
  std::erase_if(plans, [&](const P& plan) { return !want.Allows(plan); });
  if (plans.empty()) plans = ReductionPlans(problem, target, Wanted<P>(nullptr));
  TERN_ICHECK(!plans.empty()) << "a reduction of " << problem.steps << " steps has no plan";
  return *std::min_element(plans.begin(), plans.end(),
                           [](const P& a, const P& b) { return a.cycles < b.cycles; });
}

}  // namespace tern::schedule
