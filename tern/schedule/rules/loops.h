// SPDX-License-Identifier: Apache-2.0
//
// What rules are made of.
#ifndef TERN_SCHEDULE_RULES_LOOPS_H_
#define TERN_SCHEDULE_RULES_LOOPS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// An extent that is not constant is taken as this large.
inline constexpr int64_t kUnknownExtent = 128;

// The loop around a block that is `loop`, or the copy of it that a step made with the block, as
// decompose_reduction does with an init. Refuses where there is none.
LoopRef LoopAround(const Schedule& schedule, const BlockRef& block, const LoopRef& loop);
LoopRefs LoopsAround(const Schedule& schedule, const BlockRef& block, const LoopRefs& loops);
// The loops around a block that hold nothing else, outermost first.
LoopRefs NestLoops(const Schedule& schedule, const BlockRef& block);
// The block of a name that a step gave it; none where there is none.
BlockRef FindBlock(const Schedule& schedule, const std::string& name);
// A name for a loop that no other has: the one wished for, or with a number behind it.
std::string FreshLoopName(const Schedule& schedule, const std::string& wish);
// The same for a block and its buffer.
std::string FreshBlockName(const Schedule& schedule, const std::string& wish);

// The block's loops by what they are to it; nothing where one is not an axis's own.
struct LoopsByKind {
  LoopRefs spatial, reduce;
};
std::optional<LoopsByKind> SortLoops(const Schedule& schedule, const BlockInfo& block);
// Refuses where it has none.
LoopsByKind RequireLoops(const Schedule& schedule, const BlockInfo& block);
bool Contains(const Schedule::Names& names, const std::string& name);
bool Contains(const LoopRefs& loops, const LoopRef& loop);
bool Contains(const BlockRefs& blocks, const BlockRef& block);
// The loop, one of `loops` around a block, becomes the last of them.
void MakeInnermost(Schedule* schedule, const BlockRef& block, const LoopRef& loop, LoopRefs* loops);
// Loops around a block, each right inside of the one before, become one.
LoopRef FuseLoops(Schedule* schedule, const BlockRef& block, const LoopRefs& loops);
// The loop of the last row axis, where the loops of the rows are the outer ones; else none.
LoopRef RowLoop(const Schedule& schedule, const BlockInfo& block);

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

// Loops that a rule makes around a block, by what it calls them: "jb" for BLOCK_jb.
class NamedLoops {
 public:
  explicit NamedLoops(BlockRef block) : block_(std::move(block)) {}

  // Splits a loop of the block, and names what it becomes.
  LoopRefs Split(Schedule* schedule, const LoopRef& loop, const std::vector<int64_t>& factors,
                 const std::vector<std::string>& names, TailStrategy tail = TailStrategy::kLoop);
  void Add(const std::string& name, LoopRef loop) { loops_[name] = std::move(loop); }
  // Around the block.
  const LoopRef& At(const std::string& name) const;
  LoopRef Bare(const std::string& name) const { return At(name).Of({}); }

 private:
  BlockRef block_;
  std::map<std::string, LoopRef> loops_;
};

// Whether an extent is known, and a multiple of a factor: a split leaves no tail.
bool Divides(int64_t factor, const tir::Expr& extent);

// Splits the loop of an axis by lanes, unless it is as long already. There is no outer loop then.
struct Lanes {
  LoopRef outer, inner;
};
Lanes SplitLanes(Schedule* schedule, const BlockRef& block, const LoopRef& loop, int64_t lanes,
                 TailStrategy tail = TailStrategy::kLoop);
// For vectors along an axis: of a dynamic extent a masked vector is faster than a scalar loop. That
// of a static one is code that LLVM vectorizes.
TailStrategy VectorTail(const tir::Expr& extent);

// A loop around a block becomes several of no more iterations than `size`. Their blocks.
BlockRefs CutLoop(Schedule* schedule, const BlockRef& block, LoopRef loop, int64_t extent,
                  int64_t size);
// The innermost loop around a block, of a static extent, becomes vectors, as few as there can be.
void VectorizeRow(Schedule* schedule, const BlockRef& block);

// How many operations the nest of a block is.
int64_t WorkOf(const Schedule& schedule, const BlockRef& block);
// The outermost loops around a block run on several threads where that pays: they are spatial, and
// all of them together are so much work. `plan`, where there is one, may say how many are joined to
// one loop; else it is told, and how many cycles are left. `inside_of`: the outermost loops inside
// of that one. With T threads, but no more than iterations,
//
//   operations = (work + (T - 1) * thread_start_operations) / T      # the caller's thread begins
//
// for up to `most_threads`. Loops are joined until there are as many iterations, each of them a
// task of `task_operations` where there are `enough_tasks`, or a dynamic number.
void ParallelizeOuter(Schedule* schedule, const BlockRef& block, int64_t work,
                      const TargetInfo& target, HostPlan* plan = nullptr,
                      const LoopRef& inside_of = {});

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
