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

  // In the order in which they are computed, without the block.
  Schedule::Names made() const;
};

// A block that reduces what lies side by side in memory adds to several vectors in turn, which are
// added up at the end. Only where the order is free.
std::optional<VectorReduction> FactorVectors(Schedule* schedule, const std::string& block,
                                             const MachineFacts& facts);
// The same as vectors of instructions, when all of its blocks are where they shall be computed.
void Vectorize(Schedule* schedule, const VectorReduction& reduction);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_HOST_REDUCTIONS_H_
