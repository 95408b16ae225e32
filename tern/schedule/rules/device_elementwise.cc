// SPDX-License-Identifier: Apache-2.0
//
// Elementwise blocks on devices.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_threads.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

bool MovesVectors(const TargetInfo& target) { return IsDevice(target) && target.vector_bytes > 0; }

// coalesced_elementwise: elementwise, broadcast, injective and gather blocks.
//
//   for o bind(blockIdx.x) {
//     for t in 256 bind(threadIdx.x) { for v in 16 bytes vectorized { block } }
//   }
//
// Declines where no axis is contiguous in all accesses, or its extent is no multiple of a vector.
void MoveElements(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  LoopsByKind sorted = RequireAlone(*schedule, block);
  size_t axis = RequireVectorAxis(block, sorted);
  Schedule::Names loops = sorted.spatial;
  const std::string& loop = block.axes[axis].loop;
  int64_t lanes = MoveLanes(block, axis, target);
  if (lanes == 1)
    Refuse("the contiguous axis " + block.axes[axis].var.name() + " is no multiple of a vector");
  MakeInnermost(schedule, block.name, loop, &loops);
  Lanes split = SplitLanes(schedule, block.name, loop, lanes);
  loops.pop_back();
  if (!split.outer.empty()) loops.push_back(split.outer);
  if (loops.empty()) Refuse("all elements are one vector");
  schedule->Vectorize(LoopOf(block.name, split.inner));
  SpreadOverThreads(schedule, block.name, FuseLoops(schedule, block.name, loops),
                    std::min(kBlockThreads, target.max_threads));
}

}  // namespace

void RegisterDeviceElementwiseRules() {
  using K = BlockKind;
  RegisterRule({.name = "coalesced_elementwise",
                .description = "coalesced vector loads and stores, one vector per thread",
                .kinds = {K::kElementwise, K::kBroadcast, K::kInjective, K::kGather},
                .fits = MovesVectors,
                .priority = 10,
                .apply = MoveElements});
}

}  // namespace tern::schedule
