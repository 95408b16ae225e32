// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/device_threads.h"

#include <algorithm>

#include "tern/schedule/nest.h"

namespace tern::schedule {

using namespace tern::tir;

bool IsDevice(const TargetInfo& target) { return target.is_device && target.max_threads > 0; }

LoopsByKind RequireAlone(const Schedule& schedule, const BlockInfo& block) {
  Nest nest = NestOf(schedule.tree(), schedule.At(block.ref));
  if (!nest.around.empty())
    Refuse("loop " + nest.around[0]->var.name() + " holds more than block " + block.name);
  return RequireLoops(schedule, block);
}

int64_t ConstExtent(const BlockAxis& axis) {
  std::optional<int64_t> extent = ir::AsConstInt(axis.extent);
  return extent ? *extent : 0;
}

int64_t PowerIn(int64_t number, int64_t limit) {
  int64_t power = 1;
  while (power * 2 <= limit && number % (power * 2) == 0) power *= 2;
  return power;
}

int64_t PowerFor(int64_t number, int64_t limit) {
  int64_t power = 1;
  while (power < number && power * 2 <= limit) power *= 2;
  return power;
}

int64_t MostLanes(const BlockInfo& block, size_t axis, const TargetInfo& target) {
  int64_t bytes = target.vector_bytes;
  for (const BlockAccess& access : block.accesses)
    if (std::count(access.axes.begin(), access.axes.end(), axis) > 0)
      bytes = std::min<int64_t>(bytes, access.buffer->dtype.bytes());
  return bytes > 0 ? target.vector_bytes / bytes : 1;
}

int64_t MoveLanes(const BlockInfo& block, size_t axis, const TargetInfo& target) {
  int64_t extent = ConstExtent(block.axes[axis]);
  return extent > 0 ? PowerIn(extent, MostLanes(block, axis, target)) : 1;
}

int64_t ThreadsForRow(int64_t length, int64_t lanes, const TargetInfo& target) {
  int64_t warp = std::max<int64_t>(target.warp_size, 32), threads = warp;
  int64_t most = std::min<int64_t>(512, target.max_threads);
  while (threads * 2 <= most && threads * lanes * 4 <= length) threads *= 2;
  return threads;
}

void SpreadOverThreads(Schedule* schedule, const BlockRef& block, const LoopRef& loop,
                       int64_t threads) {
  Lanes split = SplitLanes(schedule, block, loop, threads);
  if (!split.outer.empty()) schedule->Bind(split.outer.Of(block), kBlockX);
  schedule->Bind(split.inner.Of(block), kThreadX);
}

void RequireReassociate(const Schedule& schedule) {
  if (!HasFlag(schedule.function(), attr::kReassociate))
    Refuse("threads would sum in another order, and the function does not say reassociate");
}

}  // namespace tern::schedule
