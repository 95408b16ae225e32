// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_HOST_REDUCTIONS_H_
#define TERN_SCHEDULE_RULES_HOST_REDUCTIONS_H_

#include <optional>
#include <string>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// A reduction in vector accumulators: block `parts` fills several, `lanes` combines them to one
// vector, and the original block reduces that horizontally.
struct VectorReduction {
  std::string block, parts, lanes;  // "" for none
  std::string last;                 // the loop of the horizontal reduction
  int64_t width = 0;                // lanes of a vector
  int64_t vectors = 1;              // accumulators
  std::string rest;                 // the block of the tail, "" for none

  // In the order in which they are computed, without the block.
  Schedule::Names made() const;
};

// Gives a reduction along contiguous memory vector accumulators; nothing where its order is fixed.
std::optional<VectorReduction> FactorVectors(Schedule* schedule, const std::string& block,
                                             const TargetInfo& target);
// The same for the tail too: several accumulators, then one vector, then single elements. `blocks`
// gets the resulting blocks in the order in which they are computed. Empty where there is just the
// block itself.
std::vector<VectorReduction> FactorAll(Schedule* schedule, const std::string& block,
                                       const TargetInfo& target, Schedule::Names* blocks);
// Row fusion: moves blocks, given in the order in which they are computed, into the row loops of a
// later block, given outermost first.
void ComputeInRows(Schedule* schedule, const Schedule::Names& blocks, const Schedule::Names& rows);
// Vectorizes such a reduction, when its blocks are in their final place. UnrollVectors comes last.
void Vectorize(Schedule* schedule, const VectorReduction& reduction);
void UnrollVectors(Schedule* schedule, const VectorReduction& reduction);
// All of a reduction along contiguous memory, whose loops are the innermost: rows in parallel, or
// parts of the one row.
void ReduceRows(Schedule* schedule, const BlockInfo& block, const TargetInfo& target);
// Fuses a producer, whose innermost loop is `loop`, into the loop of the reduction that reads it.
bool ComputeOnTheWay(Schedule* schedule, const std::string& block, const std::string& loop,
                     const VectorReduction& reduction);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_HOST_REDUCTIONS_H_
