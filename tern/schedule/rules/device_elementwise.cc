// SPDX-License-Identifier: Apache-2.0
//
// coalesced_elementwise: elementwise, broadcast, injective and gather blocks of devices.
//
// Vectors of rows, which are a static multiple of one (flat = 0), or of a tensor of any sizes in
// the order of its memory (flat = 1), where all tensors are indexed alike:
//
//   for rows, j / threads / vector        blockIdx.x
//     for j in threads                    threadIdx.x
//       for j in vector                   one vector; of a whole tensor the last is predicated
//
// Single elements (vector = 1), coalesced, of a row each (flat = 0) or of all rows as one:
//
//   for rows, j / unroll / threads        blockIdx.x
//     for j in threads                    threadIdx.x
//       for j in unroll                   `threads` apart, predicated: so many loads are under way
//
// Cost: accesses of a multiprocessor, which has a thread block or waits for those that have one.
//
//   blocks = elements / (vector * unroll * threads)
//   cycles = max(blocks, busy_blocks) / busy_blocks * threads * unroll * accesses
//
// Of equals the plan with wider accesses, more threads, and more elements of a thread is taken, as
// long as there are two blocks for each multiprocessor. Declines where there are no elements, or
// all of them are one vector.
#include <algorithm>

#include "tern/ir/structural.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_threads.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Bytes that a thread writes, element by element, so that as many loads are under way at a time.
constexpr int64_t kUnrolledBytes = 16;
// Thread blocks of shorter rows have threads without an element: of all others they are taken to be
// of rows as long.
constexpr int64_t kShortRow = 512;
// Fewer threads of a block are none the better where blocks are few.
constexpr int64_t kLeastThreads = 64;
// A guess of a dynamic number of elements.
constexpr int64_t kManyElements = 1 << 24;

struct MovePlan : PlanCost {
  int64_t vector = 1;   // neighbours that a thread loads and stores at once
  int64_t flat = 0;     // 1: all axes are one; 0: rows are apart
  int64_t threads = 0;  // of a block
  int64_t unroll = 1;   // accesses of a thread, `threads` apart

  static const std::vector<PlanField<MovePlan>>& Fields() {
    using P = MovePlan;
    static const std::vector<PlanField<P>> fields = {{"vector", &P::vector},
                                                     {"flat", &P::flat},
                                                     {"threads", &P::threads},
                                                     {"unroll", &P::unroll}};
    return fields;
  }
};
using P = MovePlan;

// Whether an access is of all elements of a dense tensor, along the axes in their order.
bool IsWhole(const BlockInfo& block, const BlockAccess& access) {
  if (!access.by_axes || !access.buffer->strides.empty() ||
      access.indices.size() != block.axes.size() || access.axes != block.accesses[0].axes)
    return false;
  for (size_t d = 0; d < access.axes.size(); ++d)
    if (!ir::StructuralEqual(block.axes[access.axes[d]].extent, access.buffer->shape[d]))
      return false;
  return true;
}

// Whether elements in the order of memory are neighbours in all tensors. Others may be read where
// the place costs little: all extents are static.
bool IsFlat(const BlockInfo& block) {
  bool is_static = std::all_of(block.axes.begin(), block.axes.end(),
                               [](const BlockAxis& axis) { return ConstExtent(axis) > 0; });
  if (block.conditional || !IsWhole(block, block.accesses[0])) return false;
  bool reads = false;
  for (const BlockAccess& access : block.accesses) {
    bool whole = IsWhole(block, access);
    if (!whole && !access.axes.empty() && !is_static) return false;
    reads |= whole && !access.store;
  }
  return reads;
}

// The elements of all axes; 0: dynamic.
int64_t NumElements(const BlockInfo& block) {
  int64_t count = 1;
  for (const BlockAxis& axis : block.axes) count *= ConstExtent(axis);
  return count;
}

// The loops of the axes in the order in which elements are written.
LoopRefs LoopsAsWritten(const BlockInfo& block, const LoopRefs& spatial) {
  LoopRefs loops = spatial;
  for (size_t axis : block.accesses[0].axes) {
    const LoopRef& loop = block.axes[axis].loop;
    if (!Contains(loops, loop)) continue;
    std::erase(loops, loop);
    loops.push_back(loop);
  }
  return loops;
}

// What the plans depend on.
struct Elements {
  LoopRefs loops;              // spatial
  std::optional<size_t> axis;  // along which accesses are contiguous
  int64_t count = 0;           // a guess where it is dynamic
  bool dynamic_rows = false;
  int64_t row = 0;                   // elements of one
  int64_t row_lanes = 1, lanes = 1;  // vectors of a row, and of all elements as one
  int64_t unrolled = 1;              // single elements of a thread, at most
};

Elements RequireElements(const Schedule& schedule, const BlockInfo& block,
                         const TargetInfo& target) {
  Elements elements;
  elements.loops = RequireAlone(schedule, block).spatial;
  if (elements.loops.empty()) Refuse("it has no loop of its own");
  elements.count = NumElements(block);
  if (elements.count == 0) elements.count = kManyElements;
  for (const BlockAxis& axis : block.axes)
    if (ir::IsConst(axis.extent, 0)) Refuse("there are no elements");
  elements.axis = FindVectorAxis(block);
  if (elements.axis && !Contains(elements.loops, block.axes[*elements.axis].loop))
    elements.axis = {};
  if (elements.axis) {
    int64_t most = MostLanes(block, *elements.axis, target);
    elements.row_lanes = MoveLanes(block, *elements.axis, target);
    elements.lanes = IsFlat(block) ? most : 1;
  }
  LoopRef last = LoopsAsWritten(block, elements.loops).back();
  for (const BlockAxis& axis : block.axes)
    if (axis.loop == last) elements.row = ConstExtent(axis);
  elements.dynamic_rows = elements.row == 0;
  if (elements.dynamic_rows)
    elements.row = target.likely_columns ? target.likely_columns : kManyElements;
  elements.unrolled =
      std::max<int64_t>(4, kUnrolledBytes / block.accesses[0].buffer->dtype.bytes());
  return elements;
}

void SetCost(const BlockInfo& block, const Elements& elements, const TargetInfo& target, P* plan) {
  auto processors = static_cast<double>(target.busy_blocks),
       accesses = static_cast<double>(plan->threads * plan->unroll),
       blocks =
           static_cast<double>(elements.count) / (static_cast<double>(plan->vector) * accesses);
  plan->cycles = std::max(blocks, processors) / processors * accesses *
                 static_cast<double>(block.accesses.size());
  if (plan->vector == 1 && !plan->flat)
    plan->cycles *=
        std::max(1.0, static_cast<double>(kShortRow) / static_cast<double>(elements.row));
}

std::vector<P> MovePlans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                         const Wanted<P>& want) {
  Elements elements = RequireElements(*schedule, block, target);
  std::vector<P> plans;
  auto add = [&](int64_t vector, int64_t flat) {
    // Half as many threads for rows of any length.
    bool any_row = vector == 1 && !flat && elements.dynamic_rows;
    int64_t most = std::min(any_row ? kBlockThreads / 2 : kBlockThreads, target.max_threads);
    std::vector<int64_t> numbers;
    for (int64_t threads = most; threads >= std::min(kLeastThreads, most); threads /= 2)
      numbers.push_back(threads);
    if (int64_t threads = want.Or(&P::threads, 0); threads > 0 && threads <= target.max_threads)
      numbers = {threads};
    for (int64_t threads : numbers)
      for (int64_t unroll = vector > 1 ? 1 : elements.unrolled; unroll >= 1; unroll /= 2) {
        P plan;
        plan.vector = vector;
        plan.flat = flat;
        plan.threads = threads;
        plan.unroll = unroll;
        bool asked = want.Or(&P::unroll, 0) == unroll;
        if (unroll > 1 && !asked && elements.count < 2 * target.busy_blocks * unroll * threads)
          continue;
        SetCost(block, elements, target, &plan);
        plans.push_back(plan);
      }
  };
  for (int64_t vector = std::max(elements.lanes, elements.row_lanes); vector > 1; vector /= 2) {
    if (vector <= elements.row_lanes) add(vector, 0);
    if (vector == elements.lanes) add(vector, 1);
  }
  if (elements.loops.size() > 1) add(1, 0);
  add(1, 1);
  return plans;
}

void MoveVectors(Schedule* schedule, const BlockInfo& block, const Elements& elements,
                 const P& plan) {
  const BlockRef& name = block.ref;
  if (plan.flat) {
    LoopRefs loops = LoopsAsWritten(block, elements.loops);
    if (loops.size() > 1) schedule->Reorder(loops.Of(name));
    LoopRef all = FuseLoops(schedule, name, loops);
    Schedule::Names names;
    for (const char* suffix : {"_o", "_t", "_v"})
      names.push_back(FreshLoopName(*schedule, all + suffix));
    LoopRefs made =
        schedule->Split(all.Of(name), {plan.threads, plan.vector}, names, TailStrategy::kGuard);
    schedule->Bind(made[0].Of(name), kBlockX);
    schedule->Bind(made[1].Of(name), kThreadX);
    return schedule->Vectorize(made[2].Of(name));
  }
  LoopRefs loops = elements.loops;
  const LoopRef& loop = block.axes[*elements.axis].loop;
  MakeInnermost(schedule, name, loop, &loops);
  Lanes split = SplitLanes(schedule, name, loop, plan.vector);
  loops.pop_back();
  if (!split.outer.empty()) loops.push_back(split.outer);
  if (loops.empty()) Refuse("all elements are one vector");
  schedule->Vectorize(split.inner.Of(name));
  SpreadOverThreads(schedule, name, FuseLoops(schedule, name, loops), plan.threads);
}

void MoveScalars(Schedule* schedule, const BlockInfo& block, const Elements& elements,
                 const P& plan) {
  const BlockRef& name = block.ref;
  LoopRefs loops = LoopsAsWritten(block, elements.loops), blocks;
  if (loops.size() > 1) schedule->Reorder(loops.Of(name));
  LoopRef last = plan.flat ? FuseLoops(schedule, name, loops) : loops.back();
  Schedule::Names names;
  for (const char* suffix : {"_o", "_u", "_t"})
    names.push_back(FreshLoopName(*schedule, last + suffix));
  std::vector<int64_t> factors = {plan.unroll, plan.threads};
  if (plan.unroll == 1) {
    factors.erase(factors.begin());
    names.erase(names.begin() + 1);
  }
  LoopRefs made = schedule->Split(last.Of(name), factors, names, TailStrategy::kGuard);
  if (plan.unroll > 1) {
    schedule->Reorder(LoopRefs{made[0], made[2], made[1]}.Of(name));
    schedule->Unroll(made[1].Of(name));
  }
  schedule->Bind(made.back().Of(name), kThreadX);
  if (!plan.flat) blocks.assign(loops.begin(), loops.end() - 1);
  blocks.push_back(made[0]);
  schedule->Bind(FuseLoops(schedule, name, blocks).Of(name), kBlockX);
}

void MoveElements(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                  const P& plan) {
  Elements elements = RequireElements(*schedule, block, target);
  (plan.vector > 1 ? MoveVectors : MoveScalars)(schedule, block, elements, plan);
}

}  // namespace

void RegisterDeviceElementwiseRules() {
  using K = BlockKind;
  RegisterRule({.name = "coalesced_elementwise",
                .description = "coalesced loads and stores, as vectors where rows or tensors allow",
                .kinds = {K::kElementwise, K::kBroadcast, K::kInjective, K::kGather},
                .fits = IsDevice,
                .priority = 10,
                .planned = Planned<P>(MovePlans, MoveElements)});
}

}  // namespace tern::schedule
