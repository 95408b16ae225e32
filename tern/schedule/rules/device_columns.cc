// SPDX-License-Identifier: Apache-2.0
//
// column_reduction: the axis j that is contiguous in what is read is kept, all reduced axes are
// fused to k. Axes of results before j that are adjacent in memory, too, are fused to it.
//
// Threads share the steps (threads > 1):
//
//   for others, j / lanes / columns, p in parts   blockIdx.x
//     for j in columns                            threadIdx.x: coalesced
//       for k / parts / threads                   threadIdx.y
//         for lanes                               vector loads
//           P[lane] op= X[k, j]                   registers
//       S[j] = P of all threads                   shared memory
//       Y[lanes] = epilogue(S)                    by one of them, where a result has one part
//
// Few steps, or many results (threads = 1): as an elementwise block, whose thread adds all steps.
//
//   for others / rows, j / lanes / columns        blockIdx.x
//     for others in rows, j in columns            threadIdx.y, threadIdx.x
//       for k                                     unrolled, up to 32
//         for lanes { P[lane] op= X[k, j] }       registers
//       Y[lanes] = epilogue(P)                    vector stores
//
// The cost is the largest of what memory takes, what the thread blocks that follow each other on a
// multiprocessor wait for, and the instructions; what a block takes to start and to combine, unless
// others on its multiprocessor load meanwhile; and a launch more where a result has parts.
#include <algorithm>
#include <cmath>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_threads.h"
#include "tern/schedule/rules/reduction_loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

constexpr int64_t kUnrolledSteps = 32;
// Guesses of what is dynamic, where the target has none: versions are for fewer
// (reduction_versions.h).
constexpr int64_t kLikelyResults = 32768, kLikelySteps = 4096, kLikelyWidth = 4096;
// Threads of a block; along the results that are neighbours: from a sector of memory on.
constexpr int64_t kLeastColumns = 8, kMostColumns = 256, kMostThreads = 2 * kBlockThreads;
// Threads of a block that has a part of its results.
constexpr int64_t kPartThreads = 128;
// Thread blocks that a multiprocessor holds, whatever their size.
constexpr int64_t kResidentBlocks = 32;
// Bytes from memory in a cycle, of the device and of a multiprocessor that has it almost to itself;
// and cycles until another kernel runs.
constexpr double kBytesPerCycle = 2400, kBytesOfOne = 24, kLaunchCycles = 4000;
// Cycles before the first load of a thread block, until a load is there, and until its threads have
// combined what they have of a column, by each halving.
constexpr double kStartCycles = 1600, kLatency = 700, kCombineCycles = 400, kHalvingCycles = 60;
// Instructions of a multiprocessor in a cycle; of a step, of a lane of it, and of a thread; those
// that find the place of a thread in the rows.
constexpr double kIssued = 128, kStepWork = 6, kLaneWork = 3, kThreadWork = 40;
// Neighbours that are worth an access of memory; and cycles of a multiprocessor to begin a block.
constexpr double kAccessBytes = 96, kBlockCycles = 25;
// The part of what is not the longest that it does not hide.
constexpr double kNotHidden = 0.1;

struct ColumnPlan : PlanCost {
  int64_t columns = 1;  // threads along results that are neighbours
  int64_t rows = 1;     // threads along the other results
  int64_t threads = 1;  // that share the steps of a result
  int64_t lanes = 1;    // neighbours that a thread loads at once
  int64_t parts = 1;    // of a result, by thread blocks of their own

  static const std::vector<PlanField<ColumnPlan>>& Fields() {
    using P = ColumnPlan;
    static const std::vector<PlanField<P>> fields = {{"columns", &P::columns},
                                                     {"rows", &P::rows},
                                                     {"threads", &P::threads},
                                                     {"lanes", &P::lanes},
                                                     {"parts", &P::parts}};
    return fields;
  }
};
using P = ColumnPlan;

// How many of each there are, or may be.
struct Sizes {
  double results, steps, width;
  double bytes;  // of an element that is read

  static Sizes Of(const Reduction& reduction, const BlockInfo& block, const TargetInfo& target) {
    auto guess = [](const Size& size, int64_t likely, int64_t otherwise) {
      return static_cast<double>(size.is_known() ? size.number : likely > 0 ? likely : otherwise);
    };
    Sizes sizes{guess(reduction.results, target.likely_results, kLikelyResults),
                guess(reduction.steps(), target.likely_steps, kLikelySteps),
                guess(reduction.width, target.likely_columns, kLikelyWidth),
                static_cast<double>(MainReadOf(block)->buffer->dtype.bytes())};
    if (reduction.width.is_known())
      sizes.results = std::max(sizes.results, sizes.width);
    else
      sizes.width =
          reduction.spatial.empty() ? sizes.results : std::min(sizes.results, sizes.width);
    return sizes;
  }
};

int64_t BlocksOf(const Sizes& sizes, const P& plan) {
  double others = std::ceil(sizes.results / sizes.width / static_cast<double>(plan.rows));
  return static_cast<int64_t>(
      others * std::ceil(sizes.width / static_cast<double>(plan.columns * plan.lanes)));
}

void SetCost(const Sizes& sizes, const TargetInfo& target, P* plan) {
  auto lanes = static_cast<double>(plan->lanes), parts = static_cast<double>(plan->parts),
       sharing = static_cast<double>(plan->threads),
       threads = static_cast<double>(plan->columns * plan->rows * plan->threads),
       processors = static_cast<double>(target.busy_blocks);
  double blocks = static_cast<double>(BlocksOf(sizes, *plan)) * parts;
  double elements = sizes.results * sizes.steps;
  double run = std::min(static_cast<double>(plan->columns) * lanes, sizes.width) * sizes.bytes;
  plan->limit = elements * sizes.bytes / kBytesPerCycle;
  double memory = elements * sizes.bytes * std::max(1.0, kAccessBytes / run) /
                  std::min(kBytesPerCycle, kBytesOfOne * std::min(blocks, processors));
  // Of a thread.
  double steps = std::ceil(sizes.steps / (sharing * parts));
  // One column of a thread after the other.
  double combined =
      sharing > 1 ? lanes * (kCombineCycles + kHalvingCycles * std::log2(sharing)) : 0;
  double resident = processors * std::min(static_cast<double>(kResidentBlocks),
                                          static_cast<double>(kResidentThreads) / threads);
  double waited = std::max(1.0, blocks / resident) *
                  (kStartCycles + std::ceil(steps / kLeastLoads) * kLatency + combined);
  double work = blocks * threads *
                    (kThreadWork + combined / 4 + steps * (kStepWork + kLaneWork * lanes)) /
                    (processors * kIssued) +
                blocks * kBlockCycles / processors;
  double most = std::max({memory, waited, work});
  plan->cycles = most + kNotHidden * (memory + waited + work - most);
  // While a thread block starts and combines, the others of its multiprocessor load.
  plan->cycles +=
      (kStartCycles + kLatency + combined) / std::max(1.0, std::min(blocks, resident) / processors);
  // The second kernel, of a warp for each result.
  if (plan->parts > 1)
    plan->cycles += 2 * sizes.results * parts * sizeof(float) / kBytesPerCycle + kLaunchCycles +
                    std::ceil(parts / (32 * kLeastLoads)) * kLatency;
}

// How many neighbours a thread may load at once.
int64_t ColumnLanes(const BlockInfo& block, const Reduction& reduction, const TargetInfo& target) {
  const BlockAccess* stored = nullptr;
  for (const BlockAccess& access : block.accesses)
    if (access.store && std::exchange(stored, &access)) return 1;
  if (block.conditional || target.vector_bytes == 0 || !reduction.width.is_known()) return 1;
  if (ContiguousAxis(block, *stored) != reduction.contiguous) return 1;
  return MoveLanes(block, reduction.contiguous, target);
}

std::vector<P> EnumeratePlans(const Reduction& reduction, const BlockInfo& block,
                              const TargetInfo& target) {
  Sizes sizes = Sizes::Of(reduction, block, target);
  int64_t most = std::min(kMostThreads, target.max_threads);
  int64_t most_lanes = ColumnLanes(block, reduction, target);
  bool is_static = reduction.steps().is_known(),
       is_shared = !is_static || reduction.steps().number >= kLeastSharedSteps;
  auto stores = std::count_if(block.accesses.begin(), block.accesses.end(),
                              [](const BlockAccess& access) { return access.store; });
  std::vector<P> plans;
  P plan;
  auto add = [&] {
    SetCost(sizes, target, &plan);
    plans.push_back(plan);
  };
  for (plan.lanes = most_lanes; plan.lanes >= 1; plan.lanes /= 2) {
    auto groups = static_cast<int64_t>(sizes.width) / plan.lanes;
    for (plan.columns = PowerFor(groups, kLeastColumns);
         plan.columns <= std::min(PowerFor(groups, kMostColumns), most); plan.columns *= 2) {
      plan.threads = plan.parts = 1;
      for (plan.rows = 1; plan.rows * plan.columns <= std::min(kBlockThreads, most); plan.rows *= 2)
        if (stores == 1 && (plan.rows == 1 || !reduction.spatial.empty())) add();
      plan.rows = 1;
      // Of dynamic steps a thread's parts are not in registers.
      if (!is_shared || (plan.lanes > 1 && !is_static)) continue;
      for (plan.threads = 2; plan.threads * plan.columns <= most; plan.threads *= 2) {
        if (static_cast<double>(plan.threads * 2) > sizes.steps) break;
        plan.parts = 1;
        add();
        plan.parts = PartsFor(reduction, BlocksOf(sizes, plan), plan.columns * plan.threads,
                              plan.threads, 1, target);
        // A thread block is more than a few threads of a part.
        if (plan.parts > 1 && plan.threads * plan.columns >= kPartThreads) add();
      }
    }
  }
  return plans;
}

// The reduction's loops in order, with those of its columns and steps each as one.
struct Loops {
  LoopRef j, k;
};
Loops PrepareLoops(Schedule* schedule, const Reduction& reduction) {
  LoopRefs order = reduction.spatial;
  order.insert(order.end(), reduction.columns.begin(), reduction.columns.end());
  order.insert(order.end(), reduction.outer.begin(), reduction.outer.end());
  Order(schedule, reduction.name, order);
  LoopRef j = FuseLoops(schedule, reduction.name, reduction.columns);
  return {j, FuseLoops(schedule, reduction.name, reduction.outer)};
}

// With the epilogue where there is one; it may be refused.
void ReduceByThreadWith(Schedule* schedule, const BlockInfo& block, const Reduction& reduction,
                        const P& plan, const std::optional<Epilogue>& epilogue) {
  const BlockRef& name = reduction.name;
  Loops loops = PrepareLoops(schedule, reduction);
  Lanes vector{loops.j, {}};
  if (plan.lanes > 1) vector = SplitLanes(schedule, name, loops.j, plan.lanes);
  Lanes x, y;
  if (!vector.outer.empty()) x = SplitLanes(schedule, name, vector.outer, plan.columns);
  LoopRefs blocks = reduction.spatial;
  if (plan.rows > 1) {
    y = SplitLanes(schedule, name, FuseLoops(schedule, name, reduction.spatial), plan.rows);
    blocks.clear();
    AddIf(y.outer, &blocks);
  }
  AddIf(x.outer, &blocks);
  LoopRefs order = blocks;
  AddIf(y.inner, &order);
  AddIf(x.inner, &order);
  if (order.empty()) Refuse("all results are one vector");
  LoopRef last = order.back();
  order.push_back(loops.k);
  AddIf(vector.inner, &order);
  Order(schedule, name, order);
  BlockRefs readers;
  if (epilogue) {
    schedule->SetScope(epilogue->results, StorageScope::kLocal);
    readers.push_back(epilogue->block);
  }
  for (const BlockAccess& access : block.accesses)
    if (access.store && !epilogue)
      readers.push_back(schedule->CacheWrite(name, access.buffer, StorageScope::kLocal));
  if (!blocks.empty()) {
    LoopRef fused = FuseLoops(schedule, name, blocks);
    if (blocks.back() == last) last = fused;
    schedule->Bind(fused.Of(name), kBlockX);
  }
  if (!y.inner.empty()) schedule->Bind(y.inner.Of(name), kThreadY);
  if (!x.inner.empty()) schedule->Bind(x.inner.Of(name), kThreadX);
  for (const BlockRef& reader : readers) {
    LoopRefs made = schedule->ReverseComputeAt(reader, last.Of(name));
    if (plan.lanes > 1 && !made.empty()) schedule->Vectorize(made.back().Of(reader));
  }
  if (plan.lanes > 1) {
    BlockRef init = schedule->DecomposeReduction(name, loops.k.Of(name),
                                                 FreshBlockName(*schedule, name + "_init"));
    schedule->Unroll(LoopAround(*schedule, init, vector.inner));
    schedule->Vectorize(vector.inner.Of(name));
  }
  Size steps = reduction.steps();
  if (steps.is_known() && steps.number <= kUnrolledSteps) schedule->Unroll(loops.k.Of(name));
}

void ReduceByThread(Schedule* schedule, const BlockInfo& block, const Reduction& reduction,
                    const P& plan) {
  std::optional<Epilogue> epilogue = EpilogueOf(*schedule, reduction.name);
  bool fused = epilogue && Try(schedule, [&](Schedule* attempt) {
                 ReduceByThreadWith(attempt, block, reduction, plan, epilogue);
               });
  if (!fused) ReduceByThreadWith(schedule, block, reduction, plan, {});
}

void ReduceByThreadsWith(Schedule* schedule, const Reduction& reduction, const P& plan,
                         const TargetInfo& target, const std::optional<Epilogue>& epilogue) {
  const BlockRef& name = reduction.name;
  Loops made = PrepareLoops(schedule, reduction);
  LoopRefs split = SplitBy(schedule, name, made.k, {plan.parts, plan.threads}, {"_p", "_t"});
  Binding loops;
  LoopRef groups = made.j;
  if (plan.lanes > 1) {
    Lanes neighbours = SplitLanes(schedule, name, made.j, plan.lanes);
    groups = neighbours.outer;
    loops.neighbours = neighbours.inner;
  }
  Lanes threads = SplitLanes(schedule, name, groups, plan.columns);
  loops.part = split[1];
  loops.y = split[2];
  loops.x = threads.inner;
  loops.blocks = reduction.spatial;
  AddIf(threads.outer, &loops.blocks);
  AddIf(split[0], &loops.serial);
  loops.epilogue = epilogue;
  if (plan.parts == 1) return BindReduction(schedule, name, loops);
  LoopRefs spatial = loops.blocks;
  spatial.push_back(threads.inner);
  AddIf(loops.neighbours, &spatial);
  ReduceParts(schedule, reduction, loops, plan.parts, spatial, target);
}

void ReduceByThreads(Schedule* schedule, const Reduction& reduction, const P& plan,
                     const TargetInfo& target) {
  std::optional<Epilogue> epilogue;
  if (plan.parts == 1 && plan.lanes > 1) epilogue = EpilogueOf(*schedule, reduction.name);
  bool fused = epilogue && Try(schedule, [&](Schedule* attempt) {
                 ReduceByThreadsWith(attempt, reduction, plan, target, epilogue);
               });
  if (!fused) ReduceByThreadsWith(schedule, reduction, plan, target, {});
}

Reduction MatchColumns(Schedule* schedule, const BlockInfo& given, const TargetInfo& target,
                       BlockInfo* block) {
  *block = FreeOrder(schedule, given);
  Reduction reduction = MatchReduction(*schedule, *block, target);
  if (reduction.is_row) Refuse("the contiguous axis of what is read is reduced");
  return reduction;
}

std::vector<P> ColumnPlans(Schedule* schedule, const BlockInfo& given, const TargetInfo& target,
                           const Wanted<P>&) {
  BlockInfo block;
  Reduction reduction = MatchColumns(schedule, given, target, &block);
  std::vector<P> plans = EnumeratePlans(reduction, block, target);
  if (plans.empty()) Refuse("it has few steps, and a thread's results are several");
  return plans;
}

void ApplyColumns(Schedule* schedule, const BlockInfo& given, const TargetInfo& target,
                  const P& plan) {
  BlockInfo block;
  Reduction reduction = MatchColumns(schedule, given, target, &block);
  if (plan.threads == 1)
    ReduceByThread(schedule, block, reduction, plan);
  else
    ReduceByThreads(schedule, reduction, plan, target);
}

}  // namespace

void ReduceColumns(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  std::vector<P> plans = ColumnPlans(schedule, block, target, Wanted<P>(nullptr));
  auto best = std::min_element(plans.begin(), plans.end(),
                               [](const P& a, const P& b) { return a.cycles < b.cycles; });
  ApplyColumns(schedule, DescribeBlock(*schedule, block.ref), target, *best);
}

void RegisterDeviceColumnRules() {
  using K = BlockKind;
  RegisterRule({.name = "column_reduction",
                .description = "the contiguous axis is kept: coalesced threads along it, others "
                               "along the reduced axes",
                .kinds = {K::kReduction, K::kMatmul},
                .fits = [](const TargetInfo& target) { return target.has_shared_memory(); },
                .priority = 9,
                .planned = Planned<P>(ColumnPlans, ApplyColumns)});
}

}  // namespace tern::schedule
