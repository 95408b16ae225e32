// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_HOST_REDUCTIONS_H_
#define TERN_SCHEDULE_RULES_HOST_REDUCTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "tern/schedule/rules/reduction_plan.h"
#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// A reduction in vector accumulators: block `parts` fills several, `lanes` combines them to one
// vector, and the original block reduces that horizontally.
struct VectorReduction {
  BlockRef block;
  CopyRef parts, lanes;  // none, where there is no such block
  LoopRef last;          // of the horizontal reduction
  int64_t width = 0;     // lanes of a vector
  int64_t vectors = 1;   // accumulators
  BlockRef rest;         // of the tail, or none

  // In the order in which they are computed, without the block.
  BlockRefs made() const;
};

// Gives a reduction along contiguous memory vector accumulators, and its tail too: several, then
// one vector, then single elements. `blocks` gets the resulting blocks in the order in which they
// are computed. Empty where there is just the block itself, as where its order is fixed. `wanted`:
// of a ReductionPlan (reduction_plan.h), where that is possible.
std::vector<VectorReduction> FactorAll(Schedule* schedule, const BlockRef& block,
                                       const TargetInfo& target, BlockRefs* blocks,
                                       const Plan* wanted = nullptr);
// What the plans of a reduction along contiguous memory depend on, in the loops of a row; nothing
// where it has no vector accumulators.
std::optional<ReductionProblem> RowProblem(const Schedule& schedule, const BlockRef& block,
                                           const TargetInfo& target);
// Row fusion: moves blocks, given in the order in which they are computed, into the row loops of a
// later block, given outermost first.
void ComputeInRows(Schedule* schedule, const BlockRefs& blocks, const LoopRefs& rows);
// Vectorizes such a reduction, when its blocks are in their final place. UnrollVectors comes last.
void Vectorize(Schedule* schedule, const VectorReduction& reduction);
void UnrollVectors(Schedule* schedule, const VectorReduction& reduction);
// All of a reduction along contiguous memory, whose loops are the innermost: rows in parallel, or
// parts of the one row. By the cheapest plan, with what is wanted where that is possible; the plan.
ReductionPlan ReduceRows(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                         const Plan* wanted = nullptr);
// The same in two steps. Refuses what is no such reduction.
std::vector<ReductionPlan> RowPlans(const Schedule& schedule, const BlockInfo& block,
                                    const TargetInfo& target, const Wanted<ReductionPlan>& want);
void ReduceRows(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                ReductionPlan* plan);
// Fuses a producer, whose innermost loop is `loop`, into the loop of the reduction that reads it.
bool ComputeOnTheWay(Schedule* schedule, const BlockRef& block, const LoopRef& loop,
                     const VectorReduction& reduction);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_HOST_REDUCTIONS_H_
