// SPDX-License-Identifier: Apache-2.0
//
// Rules for GPUs: elementwise, transposition, reductions, row fusion. They use target info only:
// threads of a block, bytes of a vector access, shared memory. Floats are combined across threads
// only with `reassociate`. Each rule below has its loop sketch; none has a cost model.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

bool IsDevice(const TargetInfo& target) { return target.is_device && target.max_threads > 0; }
bool MovesVectors(const TargetInfo& target) { return IsDevice(target) && target.vector_bytes > 0; }

// Threads of a block: enough to hide latencies, few enough for many blocks.
constexpr int64_t kThreads = 256;

const char* const kThreadX = "threadIdx.x";
const char* const kThreadY = "threadIdx.y";
const char* const kBlockX = "blockIdx.x";

// The loops of a block by itself, along its axes; refuses where there are others around.
LoopsByKind RequireAlone(const Schedule& schedule, const BlockInfo& block) {
  Nest nest = NestOf(schedule.tree(), FindBlockNamed(schedule, block.name));
  if (!nest.around.empty())
    Refuse("loop " + nest.around[0]->var.name() + " holds more than block " + block.name);
  return RequireLoops(schedule, block);
}

int64_t ConstExtent(const BlockAxis& axis) {
  std::optional<int64_t> extent = ir::AsConstInt(axis.extent);
  return extent ? *extent : 0;
}

// The largest power of two that divides a number, up to a limit.
int64_t PowerIn(int64_t number, int64_t limit) {
  int64_t power = 1;
  while (power * 2 <= limit && number % (power * 2) == 0) power *= 2;
  return power;
}

// Lanes of a vector access along an axis, of the narrowest elements; 1 where the extent is no
// multiple.
int64_t MoveLanes(const BlockInfo& block, size_t axis, const TargetInfo& target) {
  int64_t bytes = target.vector_bytes;
  for (const BlockAccess& access : block.accesses)
    if (std::count(access.axes.begin(), access.axes.end(), axis) > 0)
      bytes = std::min<int64_t>(bytes, access.buffer->dtype.bytes());
  return PowerIn(ConstExtent(block.axes[axis]), target.vector_bytes / bytes);
}

// Splits a loop over the grid: blockIdx.x and threadIdx.x.
void SpreadOverThreads(Schedule* schedule, const std::string& block, const std::string& loop,
                       int64_t threads) {
  Lanes split = SplitLanes(schedule, block, loop, threads);
  if (!split.outer.empty()) schedule->Bind(LoopOf(block, split.outer), kBlockX);
  schedule->Bind(LoopOf(block, split.inner), kThreadX);
}

// ---- Elements

// coalesced_elementwise: elementwise, broadcast, injective and gather blocks.
//
//   for o bind(blockIdx.x) {
//     for t in 256 bind(threadIdx.x) { for v in 16 bytes vectorized { block } }
//   }
//
// Declines where no axis is contiguous in all accesses, or its extent is no multiple of a vector.
void MoveElements(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  LoopsByKind sorted = RequireAlone(*schedule, block);
  size_t axis = RequireVectorAxis(block, sorted);
  Schedule::Names loops = sorted.spatial;
  const std::string& loop = block.axes[axis].loop;
  int64_t lanes = MoveLanes(block, axis, target);
  if (lanes == 1)
    Refuse("the contiguous axis " + block.axes[axis].var.name() + " is no multiple of a vector");
  MakeInnermost(schedule, block.name, loop, &loops);
  Lanes split = SplitLanes(schedule, block.name, loop, lanes);
  loops.pop_back();
  if (!split.outer.empty()) loops.push_back(split.outer);
  if (loops.empty()) Refuse("all elements are one vector");
  schedule->Vectorize(LoopOf(block.name, split.inner));
  SpreadOverThreads(schedule, block.name, FuseLoops(schedule, block.name, loops),
                    std::min(kThreads, target.max_threads));
}

// ---- Transposition

// The one load whose contiguous axis is not that of the result, both indexed by plain axes.
struct Transposition {
  Buffer buffer;
  size_t written, read;  // axes along which neighbours are written, and read
};
std::optional<Transposition> FindTransposition(const BlockInfo& block) {
  if (block.accesses.empty() || !block.accesses[0].store || !block.accesses[0].by_axes ||
      block.conditional || block.accesses[0].axes.empty())
    return {};
  size_t written = block.accesses[0].axes.back();
  std::optional<Transposition> found;
  for (const BlockAccess& access : block.accesses) {
    if (access.store ? &access != &block.accesses[0] : !access.by_axes) return {};
    if (access.store || access.axes.empty() || access.axes.back() == written) continue;
    bool across = std::count(access.axes.begin(), access.axes.end(), written) > 0;
    if (!across) continue;
    if (found) return {};
    found = {access.buffer, written, access.axes.back()};
  }
  return found;
}

// shared_memory_transpose: injective blocks that read across the contiguous axis of the result.
//
//   for tile of 64 x 64 bind(blockIdx.x) {
//     for threads { X_shared[r, c] = X[...] }     # coalesced along the axis that is read
//     for threads { Y[...] = X_shared[c, r] }     # coalesced along the axis that is written
//   }
//
// X_shared has an odd row stride, against bank conflicts. Declines where an extent is no static
// multiple of 64, or shared memory does not suffice.
void TransposeTiles(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  std::optional<Transposition> across = FindTransposition(block);
  if (!across) Refuse("no tensor is read across the contiguous axis of the result");
  Schedule::Names outer = RequireAlone(*schedule, block).spatial;
  int64_t bytes = across->buffer->dtype.bytes();
  constexpr int64_t kTile = 64;
  int64_t columns = std::min(kThreads, target.max_threads) / kTile;
  int64_t shared = kTile * (kTile + 1) * bytes;
  for (size_t axis : {across->written, across->read})
    if (!Divides(kTile, block.axes[axis].extent))
      Refuse("axis " + block.axes[axis].var.name() + " is no static multiple of a tile of " +
             std::to_string(kTile));
  if (shared > target.shared_bytes || columns < 1)
    Refuse("a tile needs " + std::to_string(shared) + " bytes of shared memory and " +
           std::to_string(kTile) + " threads");
  const std::string &name = block.name, &written = block.axes[across->written].loop,
                    &read = block.axes[across->read].loop;
  std::erase(outer, written);
  std::erase(outer, read);
  Lanes w = SplitLanes(schedule, name, written, kTile), r = SplitLanes(schedule, name, read, kTile);
  for (const std::string& tile : {r.outer, w.outer})
    if (!tile.empty()) outer.push_back(tile);
  Schedule::Names order = outer;
  order.insert(order.end(), {r.inner, w.inner});
  schedule->Reorder(Around(name, order));
  if (outer.empty()) Refuse("all elements are one tile");
  std::string tile = FuseLoops(schedule, name, outer);
  schedule->Bind(LoopOf(name, tile), kBlockX);
  std::string copy = schedule->CacheRead(name, across->buffer->name, StorageScope::kShared);
  Schedule::Names made = schedule->ComputeAt(copy, LoopOf(name, tile));
  if (made.size() != 2) Refuse("a tile of " + across->buffer->name + " is no matrix");
  // Rows start on different banks.
  int64_t rank = static_cast<int64_t>(across->buffer->shape.size());
  int64_t odd = std::max<int64_t>(1, 4 / bytes);
  for (int64_t d = rank - 1; d-- > 0;)
    Try(schedule, [&](Schedule* attempt) { attempt->StorageAlign(copy, d, kTile, odd); });
  for (const auto& [part, row, column] :
       {std::tuple(copy, made[0], made[1]), std::tuple(name, r.inner, w.inner)}) {
    Lanes rows = SplitLanes(schedule, part, row, columns);
    schedule->Bind(LoopOf(part, rows.inner), kThreadY);
    schedule->Bind(LoopOf(part, column), kThreadX);
    if (!rows.outer.empty()) schedule->Unroll(LoopOf(part, rows.outer));
  }
}

// ---- Rows

// Threads per row of so many elements: a power of two of warps, four elements a thread or more.
int64_t ThreadsForRow(int64_t length, int64_t lanes, const TargetInfo& target) {
  int64_t warp = std::max<int64_t>(target.warp_size, 32), threads = warp;
  int64_t most = std::min<int64_t>(512, target.max_threads);
  while (threads * 2 <= most && threads * lanes * 4 <= length) threads *= 2;
  return threads;
}

// Spreads the innermost loop of a block over threads, in vector accesses of so many lanes.
void SpreadRow(Schedule* schedule, const std::string& name, const std::string& loop,
               int64_t threads, int64_t lanes) {
  std::string rest = loop;
  if (lanes > 1) {
    Lanes split = SplitLanes(schedule, name, loop, lanes);
    // A row of one vector is left to threads by its elements: no thread but one may write it.
    if (!split.outer.empty()) {
      schedule->Vectorize(LoopOf(name, split.inner));
      rest = split.outer;
    }
  }
  Lanes split = SplitLanes(schedule, name, rest, threads);
  schedule->Bind(LoopOf(name, split.inner), kThreadX);
}

void RequireReassociate(const Schedule& schedule) {
  if (!HasFlag(schedule.function(), attr::kReassociate))
    Refuse("threads would sum in another order, and the function does not say reassociate");
}

// Whether threads may combine what a block reduces: integers always.
void RequireAnyOrder(const Schedule& schedule, const BlockInfo& block) {
  if (block.accesses[0].buffer->dtype.is_float()) RequireReassociate(schedule);
}

// Whether the last index of a buffer is the one axis that a block reduces along.
std::optional<size_t> ReducedRow(const BlockInfo& block) {
  std::optional<size_t> reduced;
  for (size_t a = 0; a < block.axes.size(); ++a) {
    if (block.axes[a].kind != IterKind::kReduce) continue;
    if (reduced) return {};
    reduced = a;
  }
  if (!reduced) return {};
  bool along = false;
  for (const BlockAccess& access : block.accesses)
    along |= !access.store && !access.axes.empty() && access.axes.back() == *reduced &&
             access.by_axes && access.axes.size() > 1;
  return along ? reduced : std::nullopt;
}

// thread_block_reduction: reductions along the last axis.
//
//   for row bind(blockIdx.x) {
//     for k_o { for k_i in threads bind(threadIdx.x) { S[row] op= X[row, k] } }
//   }
//
// Declines: floats without `reassociate`, one output, rows below 64 elements, matmul with N > 1.
void ReduceRows(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  constexpr int64_t kLeastLength = 64;
  std::optional<size_t> axis = ReducedRow(block);
  if (!axis) Refuse("the one reduced axis is not the last one of what is read");
  RequireAnyOrder(*schedule, block);
  LoopsByKind loops = RequireAlone(*schedule, block);
  int64_t length = ConstExtent(block.axes[*axis]);
  if (loops.reduce.size() != 1) Refuse("the reduction has no single loop of its own");
  if (loops.spatial.empty()) Refuse("there is one row alone");
  if (length > 0 && length < kLeastLength)
    Refuse("a row has " + std::to_string(length) + " elements; threads share one from " +
           std::to_string(kLeastLength) + " on");
  // A matrix product has enough results to give each a thread, or a rule of its own.
  for (const BlockAxis& other : block.axes)
    if (other.role == AxisRole::kN && ConstExtent(other) != 1)
      Refuse("it is a matmul, whose results are enough for the threads");
  Schedule::Names order = loops.spatial;
  order.push_back(loops.reduce[0]);
  schedule->Reorder(Around(block.name, order));
  std::string rows = FuseLoops(schedule, block.name, loops.spatial);
  schedule->Bind(LoopOf(block.name, rows), kBlockX);
  SpreadRow(schedule, block.name, loops.reduce[0],
            ThreadsForRow(length > 0 ? length : kUnknownExtent * 8, 1, target), 1);
}

// ---- Few results of many steps

// The steps of a thread, from which on there is work for several blocks.
constexpr int64_t kStepsOfThread = 32;
constexpr int64_t kMaxParts = 256;
// Where there are more results, each has threads of its own.
constexpr int64_t kFewResults = 32;
// Fewer are not worth a barrier.
constexpr int64_t kManySteps = 64;

// The spatial loops are blocks, the reduction loop threads.
void ShareSteps(Schedule* schedule, const std::string& name, const Schedule::Names& spatial,
                const std::string& loop, int64_t threads) {
  if (!spatial.empty()) schedule->Bind(LoopOf(name, FuseLoops(schedule, name, spatial)), kBlockX);
  SpreadRow(schedule, name, loop, threads, 1);
}

// The steps of a loop of the block's, 0 where that is not known.
int64_t StepsOf(const BlockInfo& block, const std::string& loop) {
  for (const BlockAxis& axis : block.axes)
    if (axis.loop == loop) return ConstExtent(axis);
  return 0;
}

// The loop whose steps become threads: the innermost, or the longest where that one is short.
std::string ThreadLoop(const BlockInfo& block, const Schedule::Names& reduce) {
  int64_t last = StepsOf(block, reduce.back());
  if (last == 0 || last >= kManySteps) return reduce.back();
  return *std::max_element(reduce.begin(), reduce.end(), [&](const auto& a, const auto& b) {
    return StepsOf(block, a) < StepsOf(block, b);
  });
}

// Two-level reduction: each thread block reduces a part, then one thread block the parts.
//
//   for p { for others { for t { S += X } } }
//   for p bind(blockIdx.x) { for others { for t bind(threadIdx.x) { P[p] += X } } }
//   for p bind(threadIdx.x) { S += P[p] }
void ReduceInParts(Schedule* schedule, const std::string& name, const Schedule::Names& spatial,
                   const std::string& part, int64_t num_parts, const std::string& thread,
                   int64_t threads, const TargetInfo& target) {
  std::string parts =
      schedule->Rfactor(LoopOf(name, part), FreshBlockName(*schedule, name + "_parts"));
  Schedule::Names blocks = spatial;
  blocks.push_back(part);
  ShareSteps(schedule, parts, blocks, thread, threads);
  ShareSteps(schedule, name, spatial, part, ThreadsForRow(num_parts, 1, target));
}

// grid_reduction: reductions to at most 32 outputs, of 64 steps or more each. One thread block per
// output, or ReduceInParts from 64 steps a thread on. The order is fixed: the same bits in every
// run.
void ReduceAll(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  RequireAnyOrder(*schedule, block);
  LoopsByKind loops = RequireAlone(*schedule, block);
  int64_t results = 1, steps = 1;
  for (const BlockAxis& axis : block.axes) {
    if (ir::IsConst(axis.extent, 0)) Refuse("axis " + axis.var.name() + " is empty");
    (axis.kind == IterKind::kReduce ? steps : results) *= ConstExtent(axis);
  }
  if (loops.reduce.empty()) Refuse("it reduces along no loop of its own");
  if (results == 0 || results > kFewResults)
    Refuse("there are more than " + std::to_string(kFewResults) +
           " results, or a dynamic number of them: each has threads of its own");
  if (steps > 0 && steps < kManySteps)
    Refuse("a result has " + std::to_string(steps) + " steps; threads share them from " +
           std::to_string(kManySteps) + " on");
  std::string thread = ThreadLoop(block, loops.reduce), part;
  int64_t length = StepsOf(block, thread), parts = 1;
  int64_t threads = ThreadsForRow(length > 0 ? length : kUnknownExtent * 8, 1, target);
  std::erase(loops.reduce, thread);
  if (steps < 2 * kStepsOfThread * threads) {
    // One block does it.
  } else if (!loops.reduce.empty()) {
    part = loops.reduce[0];
    parts = StepsOf(block, part);
    loops.reduce.erase(loops.reduce.begin());
  } else if (steps % threads == 0) {
    // k = (k_o * parts + k_p) * threads + k_t
    parts = PowerIn(steps / threads, std::min(kMaxParts, steps / (kStepsOfThread * threads)));
    if (parts > 1) {
      std::string outer = FreshLoopName(*schedule, thread + "_o"),
                  inner = FreshLoopName(*schedule, thread + "_t");
      part = FreshLoopName(*schedule, thread + "_p");
      schedule->Split(LoopOf(block.name, thread), {parts, threads}, {outer, part, inner});
      loops.reduce = {outer};
      thread = inner;
    }
  }
  Schedule::Names order = loops.spatial;
  if (!part.empty()) order.push_back(part);
  order.insert(order.end(), loops.reduce.begin(), loops.reduce.end());
  order.push_back(thread);
  schedule->Reorder(Around(block.name, order));
  if (part.empty())
    ShareSteps(schedule, block.name, loops.spatial, thread, threads);
  else
    ReduceInParts(schedule, block.name, loops.spatial, part, parts, thread, threads, target);
}

// ---- Row fusion

// The buffers that several of the blocks read whole rows of, and no block writes.
std::vector<Buffer> SharedReads(const Schedule& schedule, const Schedule::Names& blocks,
                                size_t rank) {
  std::vector<std::pair<Buffer, int>> counts;
  for (const std::string& name : blocks) {
    std::vector<Buffer> seen;
    for (const BlockAccess& access : DescribeBlock(FindBlockNamed(schedule, name)).accesses) {
      bool whole = !access.store && access.by_axes && access.axes.size() > rank;
      if (!whole || AllocationOf(schedule.tree(), access.buffer)) continue;
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

// Copies a row that several blocks read to shared memory, if it fits.
void KeepRows(Schedule* schedule, const Schedule::Names& blocks, size_t rank,
              const TargetInfo& target, int64_t length, Schedule::Names* copies) {
  int64_t bytes = 0;
  for (const Buffer& buffer : SharedReads(*schedule, blocks, rank)) {
    bytes += length * buffer->dtype.bytes();
    // Several blocks at a time hide what each waits for.
    constexpr int64_t kMost = 48 << 10, kForResults = 1024;
    if (length == 0 || bytes + kForResults > std::min(kMost, target.shared_bytes)) return;
    Try(schedule, [&](Schedule* attempt) {
      std::string copy;
      for (const std::string& name : blocks) {
        BlockInfo info = DescribeBlock(FindBlockNamed(*attempt, name));
        bool reads = std::any_of(info.accesses.begin(), info.accesses.end(), [&](const auto& a) {
          return !a.store && a.buffer->name == buffer->name;
        });
        if (!reads) continue;
        if (copy.empty())
          copy = attempt->CacheRead(name, buffer->name, StorageScope::kShared);
        else
          attempt->ReuseCache(name, copy);
      }
      copies->push_back(copy);
    });
  }
}

// Inlines elementwise blocks of the row.
Schedule::Names InlineElements(Schedule* schedule, const BlockInfo& block) {
  Schedule::Names kept;
  for (const std::string& name : block.members) {
    BlockInfo info = DescribeBlock(FindBlockNamed(*schedule, name));
    bool reduces = std::any_of(info.axes.begin(), info.axes.end(), [](const BlockAxis& axis) {
      return axis.kind == IterKind::kReduce;
    });
    if (reduces || !Try(schedule, [&](Schedule* attempt) { attempt->ComputeInline(name); }))
      kept.push_back(name);
  }
  return kept;
}

// Whether the sizes of buffers are known, and shared memory has room for all of them.
bool FitShared(const Schedule& schedule, const Schedule::Names& buffers, const TargetInfo& target) {
  constexpr int64_t kForResults = 1024;
  int64_t all = kForResults;
  for (const std::string& name : buffers) {
    const Buffer& buffer = FindAllocation(schedule.function()->body, name)->buffer;
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
//   for row bind(blockIdx.x) {
//     X_shared = X[row]                                   # once, where it fits in 48 KiB
//     for each reduction { for threads { ... } }          # shuffles, then shared memory
//     for threads { Y[row] = ... }                        # vector stores; elementwise is inlined
//   }
//
// Declines: floats without `reassociate`, results that do not fit in shared memory.
void RowsInBlocks(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  std::string row = RowLoop(*schedule, block);
  if (row.empty()) Refuse("the loops of the rows are not the outer ones");
  RequireReassociate(*schedule);
  int64_t length = 1;
  for (size_t a = 0; a < block.axes.size(); ++a)
    if (std::count(block.rows.begin(), block.rows.end(), a) == 0)
      length *= ConstExtent(block.axes[a]);
  Schedule::Names members = InlineElements(schedule, block), all = members, copies;
  all.push_back(block.name);
  KeepRows(schedule, all, block.rows.size(), target, length, &copies);
  Schedule::Names shared = copies;
  for (const std::string& name : members) {
    BlockInfo info = DescribeBlock(FindBlockNamed(*schedule, name));
    shared.push_back(info.accesses[0].buffer->name);
    schedule->SetScope(shared.back(), StorageScope::kShared);
  }
  Schedule::Names rows;
  Nest nest = NestOf(schedule->tree(), FindBlockNamed(*schedule, block.name));
  for (size_t i = 0; i < block.rows.size(); ++i) rows.push_back(nest.loops[i]->var.name());
  row = FuseLoops(schedule, block.name, rows);
  schedule->Bind(LoopOf(block.name, row), kBlockX);
  for (size_t i = members.size(); i-- > 0;)
    schedule->ComputeAt(members[i], LoopOf(block.name, row));
  for (const std::string& copy : copies) schedule->ComputeAt(copy, LoopOf(block.name, row));
  // Which row it is of several dynamic axes cannot be told: all of them would be computed.
  if (!FitShared(*schedule, shared, target))
    Refuse("a row does not fit in shared memory, or its size is dynamic");

  int64_t threads = ThreadsForRow(length > 0 ? length : 8 * kUnknownExtent, 1, target);
  all.insert(all.begin(), copies.begin(), copies.end());
  for (const std::string& name : all) {
    const BlockNode* node = FindBlockNamed(*schedule, name);
    BlockInfo info = DescribeBlock(node);
    Nest own = NestOf(schedule->tree(), node);
    if (own.loops.empty()) Refuse("block " + name + " has no loop of its own in a row");
    std::optional<size_t> axis = FindVectorAxis(info);
    std::string loop = own.loops.back()->var.name();
    bool moves =
        axis && !info.conditional && info.axes[*axis].loop == loop && target.vector_bytes > 0;
    int64_t lanes = moves ? MoveLanes(info, *axis, target) : 1;
    SpreadRow(schedule, name, loop, threads, lanes);
  }
}

}  // namespace

void RegisterDeviceRules() {
  RegisterDeviceMatmulRules();
  auto has_shared_memory = [](const TargetInfo& target) { return target.has_shared_memory(); };
  using K = BlockKind;
  RegisterRule(
      {.name = "row_per_thread_block",
       .description = "one thread block per row: the row is read once and reduced by the block",
       .kinds = {K::kSoftmax, K::kNormalization},
       .fits = has_shared_memory,
       .priority = 30,
       .apply = RowsInBlocks});
  RegisterRule({.name = "thread_block_reduction",
                .description = "one thread block per output: a tree reduction across its threads",
                .kinds = {K::kReduction, K::kMatmul},
                .fits = has_shared_memory,
                .priority = 10,
                .apply = ReduceRows});
  RegisterRule({.name = "grid_reduction",
                .description = "few outputs: the grid reduces parts, one thread block the parts",
                .kinds = {K::kReduction, K::kMatmul},
                .fits = has_shared_memory,
                .priority = 5,
                .apply = ReduceAll});
  RegisterRule({.name = "shared_memory_transpose",
                .description = "64 x 64 tiles through shared memory: coalesced loads and stores",
                .kinds = {K::kInjective},
                .fits = has_shared_memory,
                .priority = 20,
                .apply = TransposeTiles});
  RegisterRule({.name = "coalesced_elementwise",
                .description = "coalesced vector loads and stores, one vector per thread",
                .kinds = {K::kElementwise, K::kBroadcast, K::kInjective, K::kGather},
                .fits = MovesVectors,
                .priority = 10,
                .apply = MoveElements});
}

}  // namespace tern::schedule
