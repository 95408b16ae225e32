// SPDX-License-Identifier: Apache-2.0
//
// What the rules for reductions on devices share (device_reductions.cc, device_columns.cc): the
// match, how many parts a result has, and threads for the loops.
#ifndef TERN_SCHEDULE_RULES_REDUCTION_LOOPS_H_
#define TERN_SCHEDULE_RULES_REDUCTION_LOOPS_H_

#include <optional>
#include <string>
#include <vector>

#include "tern/schedule/rules/device_reductions.h"

namespace tern::schedule {

// Fewer steps are one thread's; and so many loads of a thread are under way at a time.
inline constexpr int64_t kLeastSharedSteps = 8, kLeastLoads = 4;

// Extents of loops that become one: 0 where one is dynamic.
struct Size {
  int64_t number = 1;
  void operator*=(int64_t extent) { number *= extent; }
  bool is_known() const { return number > 0; }
};

// A reduction, matched.
struct Reduction {
  BlockRef name;
  size_t contiguous = 0;  // axis
  bool is_row = false;    // the contiguous axis is reduced
  bool is_flat = false;   // nothing but inner reduced axes are in what is read: aligned at any size
  LoopRefs spatial;       // loops of results, in their order; without `columns`
  LoopRefs columns;       // of results that are neighbours in memory, in its order; rows: none
  LoopRefs outer, inner;  // loops of the reduction; inner ones are adjacent in memory
  Size results, outer_steps, inner_steps, width;  // width: of the columns
  int64_t lanes = 1;
  int64_t bytes = 4;  // of an element that is read

  Size steps() const { return {outer_steps.number * inner_steps.number}; }
};

// Refuses what is no reduction along a loop of its own, in any order.
Reduction MatchReduction(const Schedule& schedule, const BlockInfo& block,
                         const TargetInfo& target);

// How many parts results have, so that the device is full, of thread blocks of so many threads. The
// threads that share a result have a few loads each, of so many lanes.
int64_t PartsFor(const Reduction& reduction, int64_t blocks, int64_t threads, int64_t sharing,
                 int64_t lanes, const TargetInfo& target);

// Splits a loop by factors, given outermost first. The loops, that of the rest first; none for
// those of a factor of 1, and for a rest of one iteration.
LoopRefs SplitBy(Schedule* schedule, const BlockRef& block, const LoopRef& loop,
                 const std::vector<int64_t>& factors, const std::vector<const char*>& suffixes);
void AddIf(const LoopRef& loop, LoopRefs* loops);
void Order(Schedule* schedule, const BlockRef& block, const LoopRefs& loops);

// The elementwise block that alone reads the results, with these.
struct Epilogue {
  BlockRef block;
  tir::Buffer results;
};
std::optional<Epilogue> EpilogueOf(const Schedule& schedule, const BlockRef& block);

// Loops of a block by what becomes of them: thread blocks, threads, loops of a thread, a vector.
// Blocks and threads are outside of the loops.
struct Binding {
  LoopRefs blocks;
  LoopRef part, x, y;
  LoopRefs serial;
  LoopRef vector;
  // Loops of results, outermost, that hold an epilogue, too: they stay where they are.
  LoopRefs placed = {};
  // Of results, neighbours in memory, which a thread reduces its part of in registers; none: it has
  // one.
  LoopRef neighbours = {};
  std::optional<Epilogue> epilogue = {};  // of a thread's neighbours
};
void BindReduction(Schedule* schedule, const BlockRef& name, Binding loops);
// The parts of a result, by blocks and threads as given; then the results of the parts, as rows.
void ReduceParts(Schedule* schedule, const Reduction& reduction, const Binding& loops,
                 int64_t parts, const LoopRefs& spatial, const TargetInfo& target);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_REDUCTION_LOOPS_H_
