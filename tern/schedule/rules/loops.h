// SPDX-License-Identifier: Apache-2.0
//
// What rules are made of.
#ifndef TERN_SCHEDULE_RULES_LOOPS_H_
#define TERN_SCHEDULE_RULES_LOOPS_H_

#include <functional>
#include <optional>
#include <string>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// An extent that is not constant is taken as this large.
inline constexpr int64_t kUnknownExtent = 128;

// Refuses where there is none. It lives until the next step.
const tir::BlockNode* FindBlockNamed(const Schedule& schedule, const std::string& name);
// A loop around a block, so that no other is meant.
std::string LoopOf(const std::string& block, const std::string& loop);
// A name for a loop that no other has: the one wished for, or with a number behind it.
std::string FreshLoopName(const Schedule& schedule, const std::string& wish);
// The same for a block and its buffer.
std::string FreshBlockName(const Schedule& schedule, const std::string& wish);

// The block's loops by what they are to it; nothing where one is not an axis's own.
struct LoopsByKind {
  Schedule::Names spatial, reduce;
};
std::optional<LoopsByKind> SortLoops(const Schedule& schedule, const BlockInfo& block);
// Refuses where it has none.
LoopsByKind RequireLoops(const Schedule& schedule, const BlockInfo& block);
// The same as references.
struct OwnLoops {
  LoopRefs spatial, reduce;
};
OwnLoops RequireOwnLoops(const Schedule& schedule, const BlockInfo& block);
bool Contains(const Schedule::Names& names, const std::string& name);
bool Contains(const LoopRefs& loops, const LoopRef& loop);
// Loops around a block, so that no others are meant. Of references that is LoopRefs::Of.
Schedule::Names Around(const std::string& block, const Schedule::Names& loops);
// The loop, one of `loops` around a block, becomes the last of them.
void MakeInnermost(Schedule* schedule, const std::string& block, const std::string& loop,
                   Schedule::Names* loops);
void MakeInnermost(Schedule* schedule, const BlockRef& block, const LoopRef& loop, LoopRefs* loops);
// Loops around a block, each right inside of the one before, become one.
std::string FuseLoops(Schedule* schedule, const std::string& block, const Schedule::Names& loops);
LoopRef FuseLoops(Schedule* schedule, const BlockRef& block, const LoopRefs& loops);
// The loop of the last row axis, where the loops of the rows are the outer ones; else "".
std::string RowLoop(const Schedule& schedule, const BlockInfo& block);

// What lanes of a vector may read.
struct LaneReads {
  int64_t stride = 1;        // neighbours, or elements up to so far apart
  bool are_guarded = false;  // under a condition, which may differ between lanes
};
// The spatial axis along which neighbours are neighbours in memory: the last of every element that
// is written, and the last or none of every element that is read. No access depends on it by a
// condition, unless `reads` says so.
std::optional<size_t> FindVectorAxis(const BlockInfo& block, const LaneReads& reads = {});
// Refuses where there is none, or where its loop is none of the spatial ones.
size_t RequireVectorAxis(const BlockInfo& block, const LoopsByKind& loops,
                         const LaneReads& reads = {});
// The same of a reduction: the axis that is summed over, along which neighbours are read.
std::optional<size_t> FindReducedVectorAxis(const BlockInfo& block);
// The block, whose steps may run in any order then: argmin and argmax compare indices too.
BlockInfo FreeOrder(Schedule* schedule, const BlockInfo& block);
// How many elements fill `registers` vectors, and no more than the extent; 0: not even two.
int64_t LanesFor(const BlockInfo& block, size_t axis, const TargetInfo& target, int64_t registers);

// Whether an extent is known, and a multiple of a factor: a split leaves no tail.
bool Divides(int64_t factor, const tir::Expr& extent);

// Splits the loop of an axis by lanes, unless it is as long already. The outer loop is "" then.
struct Lanes {
  std::string outer, inner;
};
Lanes SplitLanes(Schedule* schedule, const std::string& block, const std::string& loop,
                 int64_t lanes, TailStrategy tail = TailStrategy::kLoop);
struct LaneLoops {
  LoopRef outer, inner;
};
LaneLoops SplitLanes(Schedule* schedule, const BlockRef& block, const LoopRef& loop, int64_t lanes,
                     TailStrategy tail = TailStrategy::kLoop);
// For vectors along an axis: of a dynamic extent a masked vector is faster than a scalar loop. That
// of a static one is code that LLVM vectorizes.
TailStrategy VectorTail(const tir::Expr& extent);

// A loop around a block becomes several of no more iterations than `size`. Their blocks.
Schedule::Names CutLoop(Schedule* schedule, const std::string& block, std::string loop,
                        int64_t extent, int64_t size);
// The innermost loop around a block, of a static extent, becomes vectors, as few as there can be.
void VectorizeRow(Schedule* schedule, const std::string& block);

// How many operations the nest of a block is.
int64_t WorkOf(const Schedule& schedule, const std::string& block);
// The outermost loops around a block run on several threads where that pays: they are spatial, and
// all of them together are so much work. `plan`, where there is one, may say how many are joined to
// one loop; else it is told, and how many cycles are left. `inside_of`: the outermost loops inside
// of that one. With T threads, but no more than iterations,
//
//   operations = (work + (T - 1) * thread_start_operations) / T      # the caller's thread begins
//
// for up to `most_threads`. Loops are joined until there are as many iterations, each of them a
// task of `task_operations` where there are `enough_tasks`, or a dynamic number.
void ParallelizeOuter(Schedule* schedule, const std::string& block, int64_t work,
                      const TargetInfo& target, HostPlan* plan = nullptr,
                      const std::string& inside_of = "");

// Whether so many iterations, or more where that is not known, are worth several threads.
bool ThreadsPay(int64_t work, int64_t iterations, const TargetInfo& target);
// Notes that so many joined loops are of threads, which share their iterations.
void ShareWork(int64_t loops, int64_t work, int64_t iterations, const TargetInfo& target,
               HostPlan* plan);

// The plan of a rule whose one choice is how many loops threads share.
struct ThreadsPlan : HostPlan {
  static const std::vector<PlanField<ThreadsPlan>>& Fields();
};
std::vector<ThreadsPlan> ThreadsAlone(Schedule* schedule, const BlockInfo& block,
                                      const TargetInfo& target, const Wanted<ThreadsPlan>& want);

// Does steps that may be refused, and then leaves the schedule as it was. Whether they were done.
bool Try(Schedule* schedule, const std::function<void(Schedule*)>& steps);
// The same of what is done to a block before the rules are asked: it is told with these results.
bool TryBefore(Schedule* schedule, const BlockInfo& block, const std::string& rule,
               const std::function<void(Schedule*)>& steps, std::vector<RuleResult>* results);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_LOOPS_H_
