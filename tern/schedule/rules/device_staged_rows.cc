// SPDX-License-Identifier: Apache-2.0
//
// staged_rows: reductions along contiguous memory whose order is fixed: float sums without
// `reassociate`. One thread per row, in order, through shared memory, so that loads are
// coalesced.
//
//   for rows / 32                       blockIdx.x
//     for k / 64                        pipelined: the next tile is copied meanwhile
//       X_shared[32, 64] = X            threadIdx.x along k
//       for rows in 32                  threadIdx.x
//         for k in 64                   S[row] = f(S[row], X_shared[row, k])
//
// X_shared has an odd row stride, against bank conflicts. Declines rows below 64 elements, and
// where shared memory does not suffice.
#include <algorithm>
#include <cmath>
#include <set>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_threads.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

constexpr int64_t kRows = 32, kColumns = 64;
// Cycles of a step, which waits for the one before.
constexpr double kStepCycles = 30;

struct StagedPlan : PlanCost {
  int64_t rows = kRows;        // of a thread block, a thread each
  int64_t columns = kColumns;  // of a tile in shared memory

  static const std::vector<PlanField<StagedPlan>>& Fields() {
    using P = StagedPlan;
    static const std::vector<PlanField<P>> fields = {{"rows", &P::rows}, {"columns", &P::columns}};
    return fields;
  }
};
using P = StagedPlan;

// The one read of all axes, of which the last is the only reduced one.
const BlockAccess* StagedRead(const BlockInfo& block) {
  const BlockAccess* found = nullptr;
  for (const BlockAccess& access : block.accesses) {
    bool along = !access.store && !access.axes.empty() &&
                 block.axes[access.axes.back()].kind == IterKind::kReduce;
    if (!along) continue;
    if (!access.by_axes || access.indices.size() != block.axes.size()) return nullptr;
    if (found && !found->buffer.same(access.buffer)) return nullptr;
    found = &access;
  }
  return found;
}

// The tensor and the loops of such a reduction. Refuses what is none.
struct StagedRows {
  const BlockAccess* read;
  const BlockAxis* reduced;
  LoopsByKind loops;
};
StagedRows Match(const Schedule& schedule, const BlockInfo& block) {
  const BlockAccess* read = StagedRead(block);
  if (!read) Refuse("there is no one tensor that is read along its rows");
  LoopsByKind loops = RequireAlone(schedule, block);
  const BlockAxis& reduced = block.axes[read->axes.back()];
  if (loops.reduce != LoopRefs{reduced.loop} || loops.spatial.empty())
    Refuse("it reduces not only along the rows of " + read->buffer->name);
  return {read, &reduced, loops};
}

std::vector<P> StagedPlans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                           const Wanted<P>& want) {
  StagedRows match = Match(*schedule, block);
  P plan;
  plan.rows = want.Or(&P::rows, plan.rows);
  plan.columns = want.Or(&P::columns, plan.columns);
  int64_t length = ConstExtent(*match.reduced), bytes = match.read->buffer->dtype.bytes();
  if (ir::IsConst(match.reduced->extent, 0) || (length > 0 && length < plan.columns))
    Refuse("a row has fewer than " + std::to_string(plan.columns) + " elements");
  if (plan.rows < 1 || plan.rows > target.max_threads || plan.columns < 1) return {};
  if (2 * plan.rows * (plan.columns + 1) * bytes > target.shared_bytes)
    Refuse("shared memory does not suffice for two tiles");
  double rows = 1;
  for (const BlockAxis& axis : block.axes)
    if (axis.kind == IterKind::kSpatial)
      rows *= static_cast<double>(std::max(ConstExtent(axis), int64_t{1}));
  auto resident = static_cast<double>(target.busy_blocks * kResidentThreads);
  plan.cycles = std::ceil(rows / resident) * kStepCycles *
                static_cast<double>(length > 0 ? length : kUnknownExtent);
  return {plan};
}

void StageRows(Schedule* schedule, const BlockInfo& block, const TargetInfo&, const P& plan) {
  auto [read, axis, loops] = Match(*schedule, block);
  const BlockAxis& reduced = *axis;
  int64_t bytes = read->buffer->dtype.bytes();
  const BlockRef& name = block.ref;
  LoopRefs order = loops.spatial;
  order.push_back(reduced.loop);
  if (order.size() > 1) schedule->Reorder(order.Of(name));
  // Of several dynamic axes the last are the rows of a tile: which others it has is known.
  LoopRef row = loops.spatial.back();
  LoopRefs blocks(loops.spatial.begin(), loops.spatial.end() - 1);
  Lanes rows = SplitLanes(schedule, name, row, plan.rows);
  Lanes steps = SplitLanes(schedule, name, reduced.loop, plan.columns);
  if (rows.outer.empty() && blocks.empty()) Refuse("all rows are one tile");
  if (steps.outer.empty()) Refuse("a row is one tile");
  LoopRefs dynamic;
  for (const BlockAxis& axis : block.axes)
    if (ConstExtent(axis) == 0) dynamic.push_back(axis.loop == row ? rows.outer : axis.loop);
  if (!rows.outer.empty()) blocks.push_back(rows.outer);
  // Fused loops are taken apart by the extents of all but the first: those are constants.
  std::stable_partition(blocks.begin(), blocks.end(),
                        [&](const LoopRef& loop) { return Contains(dynamic, loop); });
  LoopRefs nest = blocks;
  nest.insert(nest.end(), {steps.outer, rows.inner, steps.inner});
  schedule->Reorder(nest.Of(name));
  schedule->Bind(FuseLoops(schedule, name, blocks).Of(name), kBlockX);
  schedule->Bind(rows.inner.Of(name), kThreadX);
  CopyRef copy = schedule->CacheRead(name, read->buffer, StorageScope::kShared);
  LoopRefs made = schedule->ComputeAt(copy, steps.outer.Of(name));
  if (made.size() != 2) Refuse("a tile of " + read->buffer->name + " is no matrix");
  if (!ir::AsConstInt(schedule->At(made[0])->extent))
    Refuse("a tile of " + read->buffer->name + " has no constant number of rows");
  int64_t odd = std::max<int64_t>(1, 4 / bytes);
  for (int64_t d = static_cast<int64_t>(read->indices.size()) - 1; d-- > 0;)
    Try(schedule, [&](Schedule* attempt) { attempt->StorageAlign(copy, d, plan.columns, odd); });
  Lanes columns = SplitLanes(schedule, copy, made[1], plan.rows);
  schedule->Bind(columns.inner.Of(copy), kThreadX);
  // All loads of a tile are under way at once; those of the next one while this one is reduced.
  for (const LoopRef& loop : {made[0], columns.outer})
    Try(schedule, [&](Schedule* attempt) { attempt->Unroll(loop.Of(copy)); });
  Try(schedule, [&](Schedule* attempt) { attempt->Pipeline(steps.outer.Of(name), {0, 1}, {0}); });
}

}  // namespace

void RegisterDeviceStagedRowRules() {
  RegisterRule({.name = "staged_rows",
                .description = "one thread per row, in order: rows come through shared memory",
                .kinds = {BlockKind::kReduction},
                .fits = [](const TargetInfo& target) { return target.has_shared_memory(); },
                .priority = 5,
                .planned = Planned<P>(StagedPlans, StageRows)});
}

}  // namespace tern::schedule
