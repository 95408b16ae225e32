// SPDX-License-Identifier: Apache-2.0
//
// The plans of reductions along contiguous memory on hosts (host_reductions.cc), and their cost:
//
//   row    = steps / (unroll * vector) * max(unroll * vector_cycles + 1, latency)
//          + unroll - 1 + log2(vector) + elements of the tail * latency
//   cycles = max(rows * row, memory) + min(...) / 8, memory = bytes / bandwidth of L2 or beyond
//
// vector_cycles are those of the loads and the arithmetic of one vector. Threads that share one
// result are as many as are likely, and cost what it takes to start them.
#ifndef TERN_SCHEDULE_RULES_REDUCTION_PLAN_H_
#define TERN_SCHEDULE_RULES_REDUCTION_PLAN_H_

#include <vector>

#include "tern/schedule/rules/plan.h"
#include "tern/schedule/rules/target_info.h"

namespace tern::schedule {

struct ReductionPlan : HostPlan {
  int64_t vector = 0;  // lanes of an accumulator
  int64_t unroll = 1;  // accumulators that take turns: they hide the latency of an addition
  int64_t mask = 0;    // 1: the last vectors are masked; 0: the tail is single elements, or none
  int64_t part = 0;    // steps of the one result that a thread reduces at a time; 0: all
  int64_t stages = 1;  // 2: first each row of the other reduced axes, then what they resulted in

  int64_t step() const { return vector * unroll; }

  static const std::vector<PlanField<ReductionPlan>>& Fields() {
    using P = ReductionPlan;
    static const std::vector<PlanField<P>> fields = {
        {"vector", &P::vector}, {"unroll", &P::unroll}, {"mask", &P::mask},
        {"part", &P::part},     {"stages", &P::stages}, {"parallel", &P::parallel}};
    return fields;
  }
};

// What the plans of one reduction depend on.
struct ReductionProblem {
  int64_t rows = 1;      // results, and steps of reduced axes outside of those below
  int64_t steps = 0;     // along memory, of each; where they are dynamic, a guess
  bool dynamic = false;  // they are not known
  int64_t lanes = 0;     // the most that a vector has
  int64_t loads = 1;     // of one step
  int64_t bytes = 0;     // that these are
  int64_t operations = 1;
  bool masks = false;           // the last vectors can be masked
  bool shared = false;          // there is one result, and there are threads to share its steps
  bool rows_are_steps = false;  // rows are of reduced axes too, and ...
  bool is_inner = false;        // ... their loops are outside, where a tail is no part of its own
};

// The plans that are possible, with what is wanted.
std::vector<ReductionPlan> ReductionPlans(const ReductionProblem& problem, const TargetInfo& target,
                                          const Wanted<ReductionPlan>& want);
// The cheapest; of equals the first. There is always one.
ReductionPlan BestReductionPlan(const ReductionProblem& problem, const TargetInfo& target,
                                const Wanted<ReductionPlan>& want);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_REDUCTION_PLAN_H_
