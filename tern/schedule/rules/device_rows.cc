// SPDX-License-Identifier: Apache-2.0
//
// Softmax and normalization on devices: chains of blocks over the same rows.
#include <algorithm>
#include <cmath>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_reductions.h"
#include "tern/schedule/rules/device_threads.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Steps of a thread.
constexpr int64_t kMostUnrolled = 8;

// Spreads the innermost loop of a block over threads, in vector accesses of so many lanes.
void SpreadRow(Schedule* schedule, const BlockRef& name, const LoopRef& loop, int64_t threads,
               int64_t lanes) {
  LoopRef rest = loop;
  if (lanes > 1) {
    Lanes split = SplitLanes(schedule, name, loop, lanes);
    // A row of one vector is left to threads by its elements: no thread but one may write it.
    if (!split.outer.empty()) {
      schedule->Vectorize(split.inner.Of(name));
      rest = split.outer;
    }
  }
  // Few steps that are no multiple of the threads are unrolled, the last one under a condition:
  // their loads are under way at once.
  int64_t steps = ir::AsConstInt(schedule->At(rest)->extent).value_or(0);
  bool unrolls = steps > threads && steps % threads != 0 && steps <= kMostUnrolled * threads;
  Lanes split = SplitLanes(schedule, name, rest, threads,
                           unrolls ? TailStrategy::kGuard : TailStrategy::kLoop);
  if (unrolls) schedule->Unroll(split.outer.Of(name));
  schedule->Bind(split.inner.Of(name), kThreadX);
}

// The buffers that several of the blocks read whole rows of, and none of them writes.
std::vector<Buffer> SharedReads(const Schedule& schedule, const BlockRefs& blocks, size_t rank) {
  std::vector<std::pair<Buffer, int>> counts;
  std::vector<Buffer> written;
  for (const BlockRef& name : blocks)
    written.push_back(DescribeBlock(schedule, name).accesses[0].buffer);
  auto is_written = [&](const Buffer& buffer) {
    return std::any_of(written.begin(), written.end(),
                       [&](const Buffer& other) { return other.same(buffer); });
  };
  for (const BlockRef& name : blocks) {
    std::vector<Buffer> seen;
    for (const BlockAccess& access : DescribeBlock(schedule, name).accesses) {
      bool whole = !access.store && access.by_axes && access.axes.size() > rank;
      if (!whole || is_written(access.buffer)) continue;
      if (std::any_of(seen.begin(), seen.end(),
                      [&](const Buffer& other) { return other.same(access.buffer); }))
        continue;
      seen.push_back(access.buffer);
      auto it = std::find_if(counts.begin(), counts.end(),
                             [&](const auto& entry) { return entry.first.same(access.buffer); });
      it == counts.end() ? (void)counts.emplace_back(access.buffer, 1) : (void)++it->second;
    }
  }
  std::vector<Buffer> result;
  for (const auto& [buffer, count] : counts)
    if (count > 1) result.push_back(buffer);
  return result;
}

// Copies rows that several blocks read to memory of the thread block, or of its threads.
CopyRefs CopyRows(Schedule* schedule, const BlockRefs& blocks, size_t rank, StorageScope scope) {
  CopyRefs copies;
  for (const Buffer& buffer : SharedReads(*schedule, blocks, rank)) {
    Try(schedule, [&](Schedule* attempt) {
      CopyRef copy;
      for (const BlockRef& name : blocks) {
        BlockInfo info = DescribeBlock(*attempt, name);
        bool reads = std::any_of(info.accesses.begin(), info.accesses.end(), [&](const auto& a) {
          return !a.store && a.buffer->name == buffer->name;
        });
        if (!reads) continue;
        if (copy.empty())
          copy = attempt->CacheRead(name, buffer, scope);
        else
          attempt->ReuseCache(name, copy);
      }
      copies.push_back(copy);
    });
  }
  return copies;
}

// Inlines elementwise blocks of the row.
BlockRefs InlineElements(Schedule* schedule, const BlockInfo& block) {
  BlockRefs kept;
  for (const BlockRef& name : block.member_refs) {
    BlockInfo info = DescribeBlock(*schedule, name);
    bool reduces = std::any_of(info.axes.begin(), info.axes.end(), [](const BlockAxis& axis) {
      return axis.kind == IterKind::kReduce;
    });
    if (reduces || !Try(schedule, [&](Schedule* attempt) { attempt->ComputeInline(name); }))
      kept.push_back(name);
  }
  return kept;
}

// Whether the sizes of buffers are known, and shared memory has room for all of them.
bool FitShared(const Schedule& schedule, const BufferRefs& buffers, const TargetInfo& target) {
  constexpr int64_t kForResults = 1024;
  int64_t all = kForResults;
  for (const BufferRef& ref : buffers) {
    const Buffer& buffer = schedule.BufferAt(ref);
    int64_t bytes = buffer->dtype.bytes();
    for (const Expr& extent : buffer->shape) {
      std::optional<int64_t> known = ir::AsConstInt(extent);
      if (!known) return false;
      bytes *= *known;
    }
    all += bytes;
  }
  return all <= target.shared_bytes;
}

// row_per_thread_block: softmax, normalization.
//
//   for row / rows bind(blockIdx.x)
//     for row in rows bind(threadIdx.y) {
//       X_kept = X[row]                                   # once: registers, or shared memory
//       for each reduction { for threads { ... } }        # vector loads; shuffles, shared memory
//       for threads { Y[row] = ... }                      # vector stores; elementwise is inlined
//     }
//
// A row of dynamic length is kept where a version of the function bounds it (reduction_versions.h):
// its loops have as many steps as the longest one, those beyond its end do nothing. Otherwise each
// block reads it again. Declines: floats without `reassociate`, results that do not fit in shared
// memory.
//
// The cost is the largest of what memory takes, what thread blocks that follow each other wait for,
// and the instructions; and a fifth of the others.

// Where a thread block has the elements of its rows.
enum Keep : int64_t { kNowhere, kShared, kRegisters };

struct RowPlan : PlanCost {
  int64_t threads = 1;  // that share a row
  int64_t rows = 1;     // of a thread block; several are of a warp each, or less
  int64_t lanes = 1;    // elements that a thread moves at once
  int64_t keep = kNowhere;

  static const std::vector<PlanField<RowPlan>>& Fields() {
    using P = RowPlan;
    static const std::vector<PlanField<P>> fields = {
        {"threads", &P::threads}, {"rows", &P::rows}, {"lanes", &P::lanes}, {"keep", &P::keep}};
    return fields;
  }
};

// Guesses of what is dynamic: there are fewer rows where they are long.
constexpr int64_t kLikelyRows = 4096, kLikelyLength = 1 << 16, kLikelyElements = 1 << 24;
// Rows that may be longer than this are not kept.
constexpr int64_t kMostBound = 1 << 16;
// Elements of a thread in registers, of four bytes or less each, and of the loop over them.
constexpr int64_t kMostKept = 32, kMostSteps = 16;
// Shared memory of a thread block that keeps rows: several of them hide what each waits for.
constexpr int64_t kMostShared = 48 << 10, kSharedForResults = 1024;
// Of a multiprocessor: thread blocks, memory that they share, registers; warps that keep it busy.
constexpr double kResidentBlocks = 32, kResidentShared = 220 << 10, kRegistersOfAll = 65536;
constexpr double kBusyWarps = 64;
// Registers of a thread, and of each element that it keeps.
constexpr double kRegistersOfThread = 24, kRegistersOfElement = 1;
// Bytes from memory in a cycle, to a single multiprocessor, and from L2.
constexpr double kBytesPerCycle = 2400, kBytesOfOne = 24, kCachedBytesPerCycle = 5000;
// Cycles before the first load of a thread block, until loads are there, of each element in each
// block of the program, more where it is not in a register, until a warp has combined its parts,
// and several warps.
constexpr double kStartCycles = 800, kLatency = 700, kElementCycles = 25, kLoadCycles = 25;
constexpr double kWarpCycles = 150, kBarrierCycles = 100, kOtherWarpCycles = 10;
// Loads that are under way at once, in a loop. Instructions of a multiprocessor in a cycle; those
// of an element in each block, of a step, and of a load from other than registers.
constexpr double kLoadsAtOnce = 4, kIssued = 128;
constexpr double kElementWork = 5, kStepWork = 6, kLoadWork = 8;
// Cycles of a multiprocessor to begin a thread block.
constexpr double kBlockCycles = 25;
// The part of what is not the longest that it does not hide.
constexpr double kNotHidden = 0.2;

// What the plans of a row depend on.
struct RowProblem {
  int64_t count = 0, length = 0;  // of rows, and of the elements of one; 0: dynamic
  int64_t bound = 0;              // that a dynamic length is known not to exceed; 0: none
  int64_t lanes = 1;              // that all blocks can move
  int64_t bytes = 4;              // of an element that is read
  int64_t kept = 0;               // tensors that several blocks read
  int64_t kept_bytes = 0;         // of an element of all of them
  int64_t blocks = 1;             // that go through a row
  bool is_one_loop = false;       // the elements of a row are one axis

  int64_t most() const { return length > 0 ? length : bound; }
};

// The axis that a block moves vectors along, or reduces vectors of one result along.
std::optional<size_t> AxisOfVectors(const BlockInfo& info) {
  if (std::optional<size_t> axis = FindVectorAxis(info)) return axis;
  auto stores = std::count_if(info.accesses.begin(), info.accesses.end(),
                              [](const BlockAccess& access) { return access.store; });
  const BlockAccess* read = stores == 1 ? MainReadOf(info) : nullptr;
  std::optional<size_t> axis = read ? ContiguousAxis(info, *read) : std::nullopt;
  return axis && info.axes[*axis].kind == IterKind::kReduce ? axis : std::nullopt;
}

// Lanes of a block along its innermost loop: as many as divide its extent.
int64_t LanesOf(const BlockInfo& info, const LoopRef& loop, const TargetInfo& target) {
  std::optional<size_t> axis = AxisOfVectors(info);
  bool moves =
      axis && !info.conditional && info.axes[*axis].loop == loop && target.vector_bytes > 0;
  int64_t lanes = moves ? MostLanes(info, *axis, target) : 1;
  auto divides = [&] {
    Expr extent = info.axes[*axis].extent;
    Expr rest = ir::FloorMod(extent, ir::MakeConst(extent.dtype(), static_cast<double>(lanes)));
    return ir::IsConst(arith::Analyzer().Simplify(rest), 0);
  };
  while (lanes > 1 && !divides()) lanes /= 2;
  return lanes;
}

LoopRef InnerLoop(const Schedule& schedule, const BlockRef& name) {
  Nest own = NestOf(schedule.tree(), schedule.At(name));
  if (own.loops.empty()) Refuse("block " + name.name() + " has no loop of its own in a row");
  return LoopRef(own.loops.back());
}

// The most elements that a row has by the condition of a version; 0: any number.
int64_t BoundOf(const Schedule& schedule, const BlockInfo& block) {
  const BlockNode* node = schedule.At(block.ref);
  arith::Analyzer analyzer = AnalyzerAt(schedule.function(), PathTo(schedule.tree(), node));
  for (size_t a = 0; a < block.axes.size(); ++a) {
    if (std::count(block.rows.begin(), block.rows.end(), a) > 0) continue;
    int64_t most = analyzer.Bounds(block.axes[a].extent).hi;
    return most <= kMostBound ? most : 0;
  }
  return 0;
}

RowProblem Describe(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target) {
  RowProblem problem;
  problem.count = problem.length = 1;
  for (size_t a = 0; a < block.axes.size(); ++a) {
    bool is_row = std::count(block.rows.begin(), block.rows.end(), a) > 0;
    (is_row ? problem.count : problem.length) *= ConstExtent(block.axes[a]);
  }
  problem.is_one_loop = block.rows.size() + 1 == block.axes.size();
  if (problem.length == 0 && problem.is_one_loop) problem.bound = BoundOf(schedule, block);
  Schedule probe = schedule;
  BlockRefs all = InlineElements(&probe, block);
  all.push_back(block.ref);
  std::vector<Buffer> kept = SharedReads(probe, all, block.rows.size());
  problem.kept = static_cast<int64_t>(kept.size());
  for (const Buffer& buffer : kept) problem.kept_bytes += std::max(buffer->dtype.bytes(), 1);
  problem.lanes = target.vector_bytes;
  problem.blocks = 0;
  for (const BlockRef& name : all) {
    BlockInfo info = DescribeBlock(probe, name);
    if (info.axes.size() <= block.rows.size()) continue;
    ++problem.blocks;
    problem.lanes = std::min(problem.lanes, LanesOf(info, InnerLoop(probe, name), target));
  }
  problem.lanes = std::max<int64_t>(problem.lanes, 1);
  problem.bytes = kept.empty() ? 4 : problem.kept_bytes;
  return problem;
}

void SetCost(const RowProblem& problem, const TargetInfo& target, RowPlan* plan) {
  auto as = [](int64_t number) { return static_cast<double>(number); };
  double most = as(problem.most());
  if (most == 0) most = as(target.likely_steps > 0 ? target.likely_steps : kLikelyLength);
  double count =
      problem.count > 0 ? as(problem.count) : std::min(as(kLikelyRows), as(kLikelyElements) / most);
  // Of the lengths that a version is for, most are below the longest.
  double length = problem.length > 0 ? most : most * 3 / 4;
  double processors = as(target.busy_blocks), threads = as(plan->threads * plan->rows);
  double blocks = std::ceil(count / as(plan->rows)), passes = as(problem.blocks);
  double steps = std::ceil(most / as(plan->threads * plan->lanes)), own = steps * as(plan->lanes);
  bool is_kept = plan->keep != kNowhere, in_registers = plan->keep == kRegisters;
  double bytes = count * length * as(problem.bytes);
  plan->limit = 2 * bytes / kBytesPerCycle;
  double memory = 2 * bytes / std::min(kBytesPerCycle, kBytesOfOne * blocks) +
                  (is_kept ? 0 : (passes - 1) * bytes / kCachedBytesPerCycle);
  // Of a multiprocessor: thread blocks, and warps.
  double registers = kRegistersOfThread + (in_registers ? kRegistersOfElement * own : 0);
  double resident = std::min(
      {kResidentBlocks, as(kResidentThreads) / threads, kRegistersOfAll / registers / threads});
  if (plan->keep == kShared)
    resident =
        std::min(resident, kResidentShared / (most * as(plan->rows * problem.kept_bytes) + 1024));
  double warps = std::min(resident, blocks / processors) * threads / 32;
  double combined = kWarpCycles + (plan->threads > 32 ? kBarrierCycles : 0) +
                    as(plan->threads) / 32 * kOtherWarpCycles;
  double waited =
      kStartCycles +
      passes * (combined + own * (kElementCycles + (in_registers ? 0 : kLoadCycles))) +
      std::ceil(steps / (in_registers ? steps : kLoadsAtOnce)) * kLatency * (is_kept ? 1 : passes);
  waited *= std::max(1.0, blocks / (processors * resident));
  double element = kElementWork + kStepWork / as(plan->lanes) + (in_registers ? 0 : kLoadWork);
  double work = blocks * threads * passes * (own * element + combined / 4) /
                    (processors * kIssued) * std::max(1.0, kBusyWarps / warps) +
                blocks * kBlockCycles / processors;
  double longest = std::max({memory, waited, work});
  plan->cycles = longest + kNotHidden * (memory + waited + work - longest);
}

void ApplyRows(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
               const RowPlan& plan);

// Drops plans that are like one which is cheaper than all others, and is refused: whether rows may
// share a thread block, or be kept, depends on what all blocks read. Whether any is left.
bool DropRefused(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target,
                 std::vector<RowPlan>* plans) {
  while (!plans->empty()) {
    RowPlan best =
        *std::min_element(plans->begin(), plans->end(),
                          [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
    Schedule probe = schedule;
    if (Try(&probe, [&](Schedule* attempt) { ApplyRows(attempt, block, target, best); }))
      return true;
    std::erase_if(*plans, [&](const RowPlan& plan) {
      return (plan.rows > 1) == (best.rows > 1) && plan.keep == best.keep;
    });
  }
  return false;
}

std::vector<RowPlan> RowPlans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                              const Wanted<RowPlan>& want) {
  if (RowLoop(*schedule, block).empty()) Refuse("the loops of the rows are not the outer ones");
  RequireReassociate(*schedule);
  RowProblem problem = Describe(*schedule, block, target);
  int64_t warp = std::max<int64_t>(target.warp_size, 32), most = problem.most();
  int64_t likely = most > 0 ? most : target.likely_steps > 0 ? target.likely_steps : kLikelyLength;
  std::vector<RowPlan> plans;
  auto add = [&](int64_t threads, int64_t rows, int64_t lanes, int64_t keep) {
    RowPlan plan;
    plan.threads = threads;
    plan.rows = rows;
    plan.lanes = lanes;
    plan.keep = keep;
    SetCost(problem, target, &plan);
    plans.push_back(plan);
  };
  int64_t lanes = problem.lanes, groups = (likely + lanes - 1) / lanes;
  for (int64_t threads = PowerFor(groups, warp / 4);
       threads <= std::min(PowerFor(groups, 1024), target.max_threads); threads *= 2) {
    int64_t own = (most + threads * lanes - 1) / (threads * lanes) * lanes;
    int64_t all = threads > warp ? 1 : std::min(kBlockThreads, target.max_threads) / threads;
    if (problem.count > 0) all = std::min(all, PowerFor((problem.count + 1) / 2, all));
    for (int64_t rows = 1; rows <= all && (rows == 1 || problem.is_one_loop); rows *= 2) {
      bool fits = most > 0 && problem.kept > 0;
      if (fits && problem.is_one_loop && own <= kMostSteps * lanes &&
          own * problem.kept_bytes <= kMostKept * 4)
        add(threads, rows, lanes, kRegisters);
      if (fits && most * rows * problem.kept_bytes + kSharedForResults <=
                      std::min(kMostShared, target.shared_bytes))
        add(threads, rows, lanes, kShared);
      else
        add(threads, rows, lanes, kNowhere);
    }
  }
  std::erase_if(plans, [&](const RowPlan& plan) { return !want.Allows(plan); });
  // Rows that can be kept are.
  std::vector<RowPlan> kept = plans, others = plans;
  std::erase_if(kept, [](const RowPlan& plan) { return plan.keep == kNowhere; });
  std::erase_if(others, [](const RowPlan& plan) { return plan.keep != kNowhere; });
  if (DropRefused(*schedule, block, target, &kept)) return kept;
  return DropRefused(*schedule, block, target, &others) ? others : plans;
}

// The loops of rows become thread blocks, so many rows each. The loop of the blocks.
LoopRef BindRows(Schedule* schedule, const BlockInfo& block, int64_t rows_of_block) {
  LoopRefs rows;
  Nest nest = NestOf(schedule->tree(), schedule->At(block.ref));
  for (size_t i = 0; i < block.rows.size(); ++i) rows.emplace_back(nest.loops[i]);
  if (rows_of_block > 1) {
    Lanes split = SplitLanes(schedule, block.ref, rows.back(), rows_of_block);
    rows.pop_back();
    if (!split.outer.empty()) rows.push_back(split.outer);
    if (rows.empty()) Refuse("all rows are one thread block's");
  }
  LoopRef row = FuseLoops(schedule, block.ref, rows);
  schedule->Bind(row.Of(block.ref), kBlockX);
  return row;
}

// All loops over the elements of a row have the same number of steps.
void PadRows(Schedule* schedule, const BlockRefs& blocks, size_t rank, int64_t steps) {
  for (const BlockRef& name : blocks) {
    Nest nest = NestOf(schedule->tree(), schedule->At(name));
    if (nest.loops.size() <= rank || ir::IsConst(nest.loops.back()->extent, steps)) continue;
    Lanes padded =
        SplitLanes(schedule, name, LoopRef(nest.loops.back()), steps, TailStrategy::kGuard);
    if (padded.outer && !ir::IsConst(schedule->At(padded.outer)->extent, 1))
      Refuse("it cannot be proven that rows of block " + name.name() + " have no more than " +
             std::to_string(steps) + " elements");
  }
}

// The loop of the rows of a thread block around that of the elements.
const ForNode* LoopOfRows(const Nest& own, int64_t rows) {
  for (size_t i = own.loops.size() - 1; i-- > 0;) {
    if (ir::IsConst(own.loops[i]->extent, rows)) return own.loops[i];
    if (!ir::IsConst(own.loops[i]->extent, 1)) break;
  }
  Refuse("block " + own.block->name + " has no loop of rows");
}

// Each thread has some vectors of a row in registers: those that it uses in all blocks.
void KeepInRegisters(Schedule* schedule, const CopyRef& copy, const RowPlan& plan) {
  size_t rank = schedule->BufferAt(copy.buffer())->shape.size();
  std::string axes, indices;
  for (size_t d = 0; d < rank; ++d) {
    std::string axis = "i" + std::to_string(d);
    axes += (d ? ", " : "") + axis;
    if (d + 1 < rank) indices += axis + ", ";
    if (d + 1 < rank) continue;
    std::string lanes = std::to_string(plan.lanes), threads = std::to_string(plan.threads);
    indices += axis + " // " + std::to_string(plan.threads * plan.lanes) + ", " + axis + " // " +
               lanes + " % " + threads + ", " + axis + " % " + lanes;
  }
  schedule->TransformLayout(copy, IndexMap::Parse("(" + axes + ") -> (" + indices + ")"));
}

// A loop over the elements of a row, of a multiple of the threads' vectors, by threads.
void SpreadRegisters(Schedule* schedule, const BlockRef& name, const LoopRef& loop,
                     const RowPlan& plan) {
  LoopRefs loops =
      schedule->Split(loop.Of(name), {plan.threads, plan.lanes},
                      {FreshLoopName(*schedule, loop + "_o"), FreshLoopName(*schedule, loop + "_t"),
                       FreshLoopName(*schedule, loop + "_v")});
  // A thread has all of its elements before threads combine what they have.
  schedule->Reorder(LoopRefs{loops[1], loops[0], loops[2]}.Of(name));
  schedule->Unroll(loops[0].Of(name));
  schedule->Bind(loops[1].Of(name), kThreadX);
  if (plan.lanes > 1) schedule->Vectorize(loops[2].Of(name));
}

void ApplyRows(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
               const RowPlan& plan) {
  RowProblem problem = Describe(*schedule, block, target);
  size_t rank = block.rows.size();
  BlockRefs members = InlineElements(schedule, block), all = members;
  CopyRefs copies;
  all.push_back(block.ref);
  bool in_registers = plan.keep == kRegisters;
  if (plan.keep != kNowhere)
    copies =
        CopyRows(schedule, all, rank, in_registers ? StorageScope::kLocal : StorageScope::kShared);
  int64_t step = plan.threads * plan.lanes;
  if (in_registers || problem.bound > 0)
    PadRows(schedule, all, rank, (problem.most() + step - 1) / step * step);
  BufferRefs shared;
  if (!in_registers) shared.assign(copies.begin(), copies.end());
  for (const BlockRef& name : members) {
    BlockInfo info = DescribeBlock(*schedule, name);
    shared.push_back(info.accesses[0].buffer);
    schedule->SetScope(shared.back(), StorageScope::kShared);
  }
  LoopRef row = BindRows(schedule, block, plan.rows);
  for (size_t i = members.size(); i-- > 0;) schedule->ComputeAt(members[i], row.Of(block.ref));
  for (const BlockRef& copy : copies) schedule->ComputeAt(copy, row.Of(block.ref));
  // Which row it is of several dynamic axes cannot be told: all of them would be computed.
  if (!FitShared(*schedule, shared, target))
    Refuse("a row does not fit in shared memory, or its size is dynamic");
  if (in_registers)
    for (const CopyRef& copy : copies) KeepInRegisters(schedule, copy, plan);

  all.insert(all.begin(), copies.begin(), copies.end());
  for (const BlockRef& name : all) {
    BlockInfo info = DescribeBlock(*schedule, name);
    Nest own = NestOf(schedule->tree(), schedule->At(name));
    LoopRef loop = InnerLoop(*schedule, name);
    if (plan.rows > 1) schedule->Bind(LoopRef(LoopOfRows(own, plan.rows)).Of(name), kThreadY);
    if (in_registers)
      SpreadRegisters(schedule, name, loop, plan);
    else
      SpreadRow(schedule, name, loop, plan.threads,
                problem.bound > 0 ? plan.lanes : LanesOf(info, loop, target));
  }
}

}  // namespace

void RegisterDeviceRowRules() {
  using K = BlockKind;
  RegisterRule(
      {.name = "row_per_thread_block",
       .description = "the threads of a block, or of a warp, share a row, which is read once",
       .kinds = {K::kSoftmax, K::kNormalization},
       .fits = [](const TargetInfo& target) { return target.has_shared_memory(); },
       .priority = 30,
       .planned = Planned<RowPlan>(RowPlans, ApplyRows)});
}

}  // namespace tern::schedule
