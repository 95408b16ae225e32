// SPDX-License-Identifier: Apache-2.0
//
// block_scan: scans by an operator that may be combined in parts (integers, or `reassociate`).
//
// Along the contiguous axis a thread block scans a tile of a row:
//
//   for rows                             blockIdx.x
//     values[p, r] = X[p * E + r]        shared memory; threadIdx.x: coalesced
//     totals[p], carries[p]              threadIdx.x: a thread for each p
//     values[p, r] scanned               threadIdx.x; r in order
//     Y[p * E + r] = values[p, r]        threadIdx.x: coalesced
//
// E is odd, against bank conflicts. Rows longer than a tile are cut in tiles first: one kernel for
// their totals, a scan of these, and the kernel above, from the carry of its tile on.
//
// Along another axis columns are a thread's each. Where they are too few to fill the device, they
// are cut in parts likewise.
#include <algorithm>
#include <cmath>

#include "tern/arith/linear.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_reductions.h"
#include "tern/schedule/rules/device_threads.h"
#include "tern/tir/analysis/scan_update.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

using Names = Schedule::Names;

// Threads of a tile, and the most elements that each has.
constexpr int64_t kThreads = 64, kFewThreads = 32, kMostSteps = 33;
// Shorter scans are one thread's.
constexpr int64_t kLeastSteps = 32;
// How often carries are cut in tiles themselves.
constexpr int kMostDepth = 1;
// Carries of so many parts are scanned by one thread for each row.
constexpr int64_t kSerialParts = 16;
// Columns that keep a device busy; elements of a part of a column of dynamic length.
constexpr int64_t kManyColumns = 1 << 14, kDynamicPart = 128;

struct ScanPlan : PlanCost {
  int64_t threads = 0;  // of a tile of a row; 0: columns are a thread's each
  int64_t steps = 0;    // of a thread; of a part of a column

  static const std::vector<PlanField<ScanPlan>>& Fields() {
    using P = ScanPlan;
    static const std::vector<PlanField<P>> fields = {{"threads", &P::threads},
                                                     {"steps", &P::steps}};
    return fields;
  }
};
using P = ScanPlan;

struct ScanLoops {
  LoopRefs spatial;
  LoopRef scan;
  int64_t rows = 1, length = 0;  // 0: dynamic
  bool is_row = false;           // the scan is along contiguous memory
};

ScanLoops Match(const Schedule& schedule, const BlockRef& name) {
  const BlockNode* node = schedule.At(name);
  std::optional<ScanUpdate> update = FindScanUpdate(node);
  if (!update)
    Refuse("it is no scan by +, *, min, max, && or ||: Y[v] = x op select(v > 0, Y[v - 1], start)");
  if (update->result->dtype.is_float()) RequireReassociate(schedule);
  Nest nest = NestOf(schedule.tree(), node);
  if (!nest.around.empty())
    Refuse("loop " + nest.around[0]->var.name() + " holds more than block " + name.name());
  BlockInfo block = DescribeBlock(node);
  ScanLoops loops;
  for (const ForNode* loop : nest.loops) {
    auto axis = std::find_if(block.axes.begin(), block.axes.end(),
                             [&](const BlockAxis& a) { return a.loop == LoopRef(loop); });
    if (axis == block.axes.end())
      Refuse("loop " + loop->var.name() + " is not the own loop of an axis");
    if (axis->kind == IterKind::kScan) {
      loops.scan = axis->loop;
      loops.length = ConstExtent(*axis);
    } else {
      loops.spatial.push_back(axis->loop);
      loops.rows *= ConstExtent(*axis);
    }
  }
  if (loops.scan.empty()) Refuse("it has no loop along the scan");
  const Expr& last = update->indices.back();
  auto linear = arith::AsLinear(last, node->iters[update->axis].var.node());
  loops.is_row = linear && linear->coefficient == 1;
  if (loops.length > 0 && loops.length < kLeastSteps)
    Refuse("it has " + std::to_string(loops.length) + " steps; threads share them from " +
           std::to_string(kLeastSteps) + " on");
  return loops;
}

Names FreshNames(const Schedule& schedule, const BlockRef& name,
                 const std::vector<const char*>& suffixes) {
  Names names;
  for (const char* suffix : suffixes) names.push_back(FreshBlockName(schedule, name + suffix));
  return names;
}

// Elements of two loops, one right in the other, by the threads of a block, coalesced.
void MoveTile(Schedule* schedule, const BlockRef& name, int64_t threads) {
  Nest nest = NestOf(schedule->tree(), schedule->At(name));
  size_t count = nest.loops.size();
  LoopRefs last = {LoopRef(nest.loops[count - 2]), LoopRef(nest.loops[count - 1])};
  Lanes split = SplitLanes(schedule, name, FuseLoops(schedule, name, last), threads);
  schedule->Bind(split.inner.Of(name), kThreadX);
  if (!split.outer.empty())
    Try(schedule, [&](Schedule* attempt) { attempt->Unroll(split.outer.Of(name)); });
}

// A tile that has so many steps.
P TileOf(int64_t length) {
  P plan;
  plan.threads = length > kFewThreads * kMostSteps ? kThreads : kFewThreads;
  plan.steps = (length + plan.threads - 1) / plan.threads;
  plan.steps += plan.steps % 2 == 0;
  return plan;
}

// A thread block for each row, or for each tile of one: no more steps than a tile has.
void ScanTiles(Schedule* schedule, const BlockRef& name, const LoopRefs& rows, const LoopRef& scan,
               const P& plan) {
  if (rows.empty()) Refuse("there is one row, of one tile");
  schedule->Bind(FuseLoops(schedule, name, rows).Of(name), kBlockX);
  CopyRefs made = schedule->SplitScan(
      name, scan.Of(name), plan.steps, StorageScope::kShared,
      FreshNames(*schedule, name, {"_values", "_totals", "_carries", "_parts"}));
  for (const BlockRef& block : BlockRefs{made[0], name}) MoveTile(schedule, block, plan.threads);
  for (size_t i = 1; i < made.size(); ++i) {
    Nest nest = NestOf(schedule->tree(), schedule->At(made[i]));
    Lanes split = SplitLanes(schedule, made[i], LoopRef(nest.loops[0]), plan.threads);
    schedule->Bind(split.inner.Of(made[i]), kThreadX);
  }
}

// The most steps that a scan has by the condition of a version; 0: any number.
int64_t MostSteps(const Schedule& schedule, const BlockRef& name, const LoopRef& scan) {
  const BlockNode* node = schedule.At(name);
  arith::Analyzer analyzer = AnalyzerAt(schedule.function(), PathTo(schedule.tree(), node));
  for (const ForNode* loop : NestOf(schedule.tree(), node).loops) {
    int64_t most = LoopRef(loop) == scan ? analyzer.Bounds(loop->extent).hi : 0;
    if (most > 0 && most <= kThreads * kMostSteps) return most;
  }
  return 0;
}

// Whether a row is one tile, so that there are no others to scan before.
bool IsOneTile(const Schedule& schedule, const BlockRef& name, const ScanLoops& loops,
               int64_t* most) {
  *most = loops.length > 0 ? loops.length : MostSteps(schedule, name, loops.scan);
  return *most > 0 && *most <= kThreads * kMostSteps && !loops.spatial.empty();
}

P RowPlan(const Schedule& schedule, const BlockRef& name, const ScanLoops& loops) {
  int64_t most = 0;
  return TileOf(IsOneTile(schedule, name, loops, &most) ? most : kThreads * kMostSteps);
}

void ScanRows(Schedule* schedule, const BlockRef& name, const TargetInfo& target, int depth,
              const P& plan);

// The parts' totals as a reduction, their carries as a scan.
void ScanCarries(Schedule* schedule, const CopyRefs& made, const TargetInfo& target, int depth) {
  ReduceOnDevice(schedule, made[0], target);
  if (depth > 0)
    Try(schedule, [&](Schedule* attempt) {
      ScanRows(attempt, made[1], target, depth - 1,
               RowPlan(*attempt, made[1], Match(*attempt, made[1])));
    });
}

void ScanRows(Schedule* schedule, const BlockRef& name, const TargetInfo& target, int depth,
              const P& plan) {
  ScanLoops loops = Match(*schedule, name);
  if (depth < kMostDepth && loops.length > 0 && loops.length <= kSerialParts)
    Refuse("there are few parts");
  LoopRefs order = loops.spatial;
  order.push_back(loops.scan);
  if (order.size() > 1) schedule->Reorder(order.Of(name));
  int64_t most = 0, tile = plan.threads * plan.steps;
  if (IsOneTile(*schedule, name, loops, &most) && most <= tile)
    return ScanTiles(schedule, name, loops.spatial, loops.scan, plan);
  CopyRefs made =
      schedule->SplitScan(name, order[0].Of(name), tile,
                          FreshNames(*schedule, name, {"_tile_totals", "_tile_carries"}));
  LoopRefs rows = LoopsAround(*schedule, name, loops.spatial);
  // What the scan has become: parts, and the steps of one.
  LoopRefs own = NestLoops(*schedule, name);
  rows.push_back(own[own.size() - 2]);
  ScanTiles(schedule, name, rows, own.back(), plan);
  ScanCarries(schedule, made, target, depth);
}

void ScanColumns(Schedule* schedule, const BlockRef& name, const ScanLoops& loops,
                 const TargetInfo& target, const P& plan) {
  LoopRefs order = loops.spatial;
  order.insert(order.begin(), loops.scan);
  if (order.size() > 1) schedule->Reorder(order.Of(name));
  CopyRefs made = schedule->SplitScan(name, order[0].Of(name), plan.steps,
                                      FreshNames(*schedule, name, {"_totals", "_carries"}));
  ScanCarries(schedule, made, target, 0);
}

// Memory, or the steps of a thread, one after the other, in waves of thread blocks.
std::vector<P> Plans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                     const Wanted<P>& want) {
  constexpr double kBytesPerCycle = 2400, kStartCycles = 2000, kStepCycles = 30;
  ScanLoops loops = Match(*schedule, block.ref);
  P plan;
  if (loops.is_row) {
    plan = RowPlan(*schedule, block.ref, loops);
  } else {
    if (loops.rows == 0 || loops.rows >= kManyColumns)
      Refuse("the contiguous axis is not scanned, and a thread for each column suffices");
    plan.steps = loops.length == 0
                     ? kDynamicPart
                     : static_cast<int64_t>(std::sqrt(static_cast<double>(loops.length) / 2));
    if (plan.steps < kLeastSteps / 2) Refuse("columns are too short for parts");
  }
  plan.threads = want.Or(&P::threads, plan.threads);
  plan.steps = want.Or(&P::steps, plan.steps);
  bool fits =
      plan.steps > 0 &&
      (loops.is_row ? plan.threads > 0 && plan.threads <= target.max_threads : plan.threads == 0);
  if (!fits) return {};
  auto rows = static_cast<double>(std::max<int64_t>(loops.rows, 1)),
       length = static_cast<double>(loops.length > 0 ? loops.length : kUnknownExtent),
       steps = static_cast<double>(plan.steps),
       parts = rows *
               std::ceil(length / steps / static_cast<double>(std::max<int64_t>(plan.threads, 1)));
  plan.limit = 2 * rows * length * static_cast<double>(block.accesses[0].buffer->dtype.bytes()) /
               kBytesPerCycle;
  double waves = std::ceil(parts / static_cast<double>(target.busy_blocks));
  plan.cycles = std::max(plan.limit, waves * (kStartCycles + 2 * steps * kStepCycles));
  return {plan};
}

void ApplyScan(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
               const P& plan) {
  ScanLoops loops = Match(*schedule, block.ref);
  if (loops.is_row)
    ScanRows(schedule, block.ref, target, kMostDepth, plan);
  else
    ScanColumns(schedule, block.ref, loops, target, plan);
}

}  // namespace

void RegisterDeviceScanRules() {
  RegisterRule({.name = "block_scan",
                .description = "thread blocks scan tiles of rows, from the totals of those before",
                .kinds = {BlockKind::kScan},
                .fits = [](const TargetInfo& target) { return target.has_shared_memory(); },
                .priority = 10,
                .planned = Planned<P>(Plans, ApplyScan)});
}

}  // namespace tern::schedule
