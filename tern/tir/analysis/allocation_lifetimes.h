// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_ALLOCATION_LIFETIMES_H_
#define TERN_TIR_ANALYSIS_ALLOCATION_LIFETIMES_H_

#include <set>

#include "tern/tir/function.h"

namespace tern::tir {

// When the memory of an allocation holds something that is still needed, in steps of a walk over
// the function: from the first use to the last one, or all of a loop that uses what was allocated
// outside of it.
struct AllocationLifetime {
  const AllocateNode* allocation;
  // The innermost of what gives each of its iterations or instances memory of its own: a parallel
  // or vectorized loop, a launch, a block. Null: the function.
  const StmtNode* frame;
  bool in_launch;
  int64_t first = 0, last = -1;  // last < first: never used
  // Seen through another buffer or as a pointer, allocated in two places, or in a block's init.
  bool escapes = false;

  bool Overlaps(const AllocationLifetime& other) const {
    return first <= other.last && other.first <= last;
  }
};

struct AllocationLifetimes {
  std::vector<AllocationLifetime> all;  // in the order of their statements
  // Addresses (x, y) where y is first written, element by element from the same one of x, by the
  // statement that needs x last: they overlap in that statement alone, and may lie in one place.
  std::set<std::pair<const VarNode*, const VarNode*>> in_place;
};

AllocationLifetimes FindAllocationLifetimes(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_ALLOCATION_LIFETIMES_H_
