// SPDX-License-Identifier: Apache-2.0
//
// Where the tensors of a function lie in one piece of memory.
#ifndef TERN_RUNTIME_VM_PLAN_H_
#define TERN_RUNTIME_VM_PLAN_H_

#include <cstdint>
#include <vector>

#include "tern/runtime/vm/flow.h"

namespace tern::runtime::vm {

struct PlanItem {
  uint64_t bytes = 0;
  Lifetime lifetime;
};
struct Plan {
  std::vector<uint64_t> offsets;  // of the items, each a multiple of kPlanAlignment
  uint64_t bytes = 0;             // of all together
};
inline constexpr uint64_t kPlanAlignment = 64;

// Items whose lifetimes overlap do not share memory. The largest are placed first, each into the
// smallest gap that takes it. Without `reuse` no two items share memory. Throws where 64 bits
// cannot count the bytes.
Plan MakePlan(const std::vector<PlanItem>& items, bool reuse = true);

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_PLAN_H_
