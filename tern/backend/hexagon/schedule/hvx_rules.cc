// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/hexagon/schedule/hvx_rules.h"

#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"

namespace tern::backend::hexagon {
namespace {

using namespace tern::schedule;

constexpr int64_t kVectorBytes = 128;

bool HasHvx(const TargetInfo& target) {
  const target::TargetNode* node = target.target.get();
  return node && node->kind->name == "hexagon" && node->GetString("hvx") != "0";
}

// How many elements fill a register, where all are integers of one size; 0: they are not.
int64_t RegisterLanes(const BlockInfo& block) {
  int bits = block.accesses[0].buffer->dtype.bits();
  bool alike = std::all_of(block.accesses.begin(), block.accesses.end(), [&](const auto& access) {
    DataType dtype = access.buffer->dtype;
    return dtype.is_integer() && !dtype.is_bool() && dtype.bits() == bits;
  });
  return alike && bits >= 8 && bits <= 32 ? kVectorBytes * 8 / bits : 0;
}

// hvx_elementwise: elementwise, broadcast and injective blocks of integers of one size.
//
//   for outer loops, bound to threads by the pass bind_threads
//     for j_o in J / lanes                  J: the axis that is contiguous in all accesses
//       for j_i in lanes, vectorized        128 bytes
//
// Declines: floats, sizes that differ or exceed 32 bits, fewer elements than one HVX vector.
void FillRegisters(Schedule* schedule, const BlockInfo& block, const TargetInfo&) {
  size_t axis = RequireVectorAxis(block, RequireLoops(*schedule, block));
  const LoopRef& loop = block.axes[axis].loop;
  BlockRef ref = block.ref;
  LoopRefs loops = RequireLoops(*schedule, block).spatial;
  int64_t lanes = RegisterLanes(block);
  std::optional<int64_t> extent = ir::AsConstInt(block.axes[axis].extent);
  if (lanes == 0) Refuse("its elements are not integers of one size, up to 32 bits");
  if (extent && *extent < lanes)
    Refuse("axis " + block.axes[axis].var.name() + " has " + std::to_string(*extent) +
           " elements, and a register " + std::to_string(lanes));
  MakeInnermost(schedule, ref, loop, &loops);
  schedule->Vectorize(SplitLanes(schedule, ref, loop, lanes).inner.Of(ref));
}

}  // namespace

void RegisterHvxRules() {
  using K = BlockKind;
  RegisterRule({.name = "hvx_elementwise",
                .description = "integers in whole HVX vectors of 128 bytes",
                .kinds = {K::kElementwise, K::kBroadcast, K::kInjective},
                .fits = HasHvx,
                .priority = 30,
                .apply = FillRegisters});
}

}  // namespace tern::backend::hexagon
