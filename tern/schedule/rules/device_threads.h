// SPDX-License-Identifier: Apache-2.0
//
// What the rules for devices share: how many threads, how many thread blocks, how many lanes.
#ifndef TERN_SCHEDULE_RULES_DEVICE_THREADS_H_
#define TERN_SCHEDULE_RULES_DEVICE_THREADS_H_

#include <string>

#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

// Threads of a block: enough to hide latencies, few enough for many blocks.
inline constexpr int64_t kBlockThreads = 256;
// Threads that a multiprocessor holds at a time.
inline constexpr int64_t kResidentThreads = 2048;

inline constexpr const char* kThreadX = "threadIdx.x";
inline constexpr const char* kThreadY = "threadIdx.y";
inline constexpr const char* kBlockX = "blockIdx.x";

bool IsDevice(const TargetInfo& target);

// The loops of a block by itself, along its axes; refuses where there are others around.
LoopsByKind RequireAlone(const Schedule& schedule, const BlockInfo& block);

// 0: not constant.
int64_t ConstExtent(const BlockAxis& axis);
// The largest power of two that divides a number, up to a limit.
int64_t PowerIn(int64_t number, int64_t limit);
// The smallest power of two that is not below a number, up to a limit that is one too.
int64_t PowerFor(int64_t number, int64_t limit);

// Lanes of the widest vector access along an axis, of the narrowest elements.
int64_t MostLanes(const BlockInfo& block, size_t axis, const TargetInfo& target);
// As many as divide the extent; 1 where it is dynamic.
int64_t MoveLanes(const BlockInfo& block, size_t axis, const TargetInfo& target);

// Threads per row of so many elements: a power of two of warps, four vectors a thread or more.
int64_t ThreadsForRow(int64_t length, int64_t lanes, const TargetInfo& target);

// Splits a loop over the grid: blockIdx.x and threadIdx.x.
void SpreadOverThreads(Schedule* schedule, const BlockRef& block, const LoopRef& loop,
                       int64_t threads);

void RequireReassociate(const Schedule& schedule);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_DEVICE_THREADS_H_
