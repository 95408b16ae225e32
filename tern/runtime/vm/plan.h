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

// A tensor register whose memory is planned: what its allocations need is known from the int
// parameters of the function.
struct PlannedTensor {
  uint32_t tensor = 0;
  std::vector<uint32_t> allocations;  // instructions
  Lifetime lifetime;
};
// Those that are written by such allocations alone. What a function other than main returns
// outlives it, and is not planned. The function is verified.
std::vector<PlannedTensor> PlannedTensors(const Function& function, bool is_main);
// One item for each of them, with the int parameters as they are.
Plan PlanFunction(const Function& function, const std::vector<PlannedTensor>& planned,
                  const int64_t* ints, bool reuse = true);

// Of the elements of a tensor. Throws on a negative extent and where 64 bits cannot count them.
uint64_t TensorBytes(DataType dtype, const int64_t* shape, uint32_t rank);

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_PLAN_H_
