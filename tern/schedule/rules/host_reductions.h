// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_HOST_REDUCTIONS_H_
#define TERN_SCHEDULE_RULES_HOST_REDUCTIONS_H_

#include <optional>
#include <string>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// A reduction that is made of others, each the sum of some of its steps: of vectors, and of the
// lanes of the last one.
struct VectorReduction {
  std::string block, parts, lanes;  // "" for none
  std::string last;                 // what is left to the block to reduce, a loop
  int64_t width = 0;                // of a vector
  int64_t vectors = 1;              // that are added to in turn
  std::string rest;                 // the block that reduces what fills no vectors, "" for none

  // In the order in which they are computed, without the block.
  Schedule::Names made() const;
};

// A block that reduces what lies side by side in memory adds to several vectors in turn, which are
// added up at the end. Only where the order is free.
std::optional<VectorReduction> FactorVectors(Schedule* schedule, const std::string& block,
                                             const MachineFacts& facts);
// The same of all steps: those that fill several vectors, then those that fill one, then the rest.
// `blocks` gets what there is then, in the order in which it is computed; nothing is returned where
// that is the block alone.
std::vector<VectorReduction> FactorAll(Schedule* schedule, const std::string& block,
                                       const MachineFacts& facts, Schedule::Names* blocks);
// Blocks, in the order in which they are computed, become part of the loops over rows of another
// one behind them, outermost first.
void ComputeInRows(Schedule* schedule, const Schedule::Names& blocks, const Schedule::Names& rows);
// A reduction as vectors of instructions, when all of its blocks are where they shall be computed;
// the loop over the vectors is unrolled at the end.
void Vectorize(Schedule* schedule, const VectorReduction& reduction);
void UnrollVectors(Schedule* schedule, const VectorReduction& reduction);
// Elements that such a reduction reads are computed in its loop, right before they are. The block
// computes them along its innermost loop, `loop`.
bool ComputeOnTheWay(Schedule* schedule, const std::string& block, const std::string& loop,
                     const VectorReduction& reduction);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_HOST_REDUCTIONS_H_
