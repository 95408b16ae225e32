// SPDX-License-Identifier: Apache-2.0
//
// Reductions on devices, along any axes: integers, argmin and argmax always, other floats with
// `reassociate`. Which rule takes a block follows from the axis that is contiguous in what it
// reads. The order is fixed: the same bits in every run.
//
// row_reduction: the contiguous axis is reduced. Adjacent reduced axes are fused to k, the others
// to o.
//
//   for rows, p in parts                     blockIdx.x; threadIdx.y: several short rows
//     for o / parts / ty                     threadIdx.y
//       for k / tx / lanes                   threadIdx.x, vector loads
//         S[row] op= X[o, row, k]            warp shuffles, then shared memory
//     Y[row] = epilogue(S[row])              by one of the threads, where a row is one index
//
// column_reduction: the contiguous axis j is kept, all reduced axes are fused to k.
//
//   for others, j / lanes / tx, p in parts   blockIdx.x
//     for j in tx                            threadIdx.x: coalesced
//       for k / parts / ty                   threadIdx.y
//         for lanes                          vector loads
//           P[lane] op= X[k, j]              registers
//       S[j] = P of all ty                   shared memory
//
// argmin and argmax, whose value and index are reduced together, are taken too: of equal values
// that of the lowest index, whatever the order (break_ties).
//
// Where results are too few to fill the device, there are `parts` of each, in another buffer, which
// a second kernel reduces (rfactor). Extents are any; tails are predicated.
#include "tern/schedule/rules/device_reductions.h"

#include <algorithm>
#include <limits>

#include "tern/arith/linear.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_threads.h"
#include "tern/schedule/rules/gemm.h"

namespace tern::schedule {

using namespace tern::tir;

std::optional<size_t> ContiguousAxis(const BlockInfo& block, const BlockAccess& access) {
  const Buffer& buffer = access.buffer;
  if (access.indices.empty()) return {};
  if (!buffer->strides.empty() && !ir::IsConst(buffer->strides.back(), 1)) return {};
  for (size_t a : access.axes) {
    const VarNode* axis = block.axes[a].var.node();
    bool elsewhere = std::any_of(access.indices.begin(), access.indices.end() - 1,
                                 [&](const Expr& index) { return ir::UsesVar(index, axis); });
    const Expr& last = access.indices.back();
    if (elsewhere || !ir::UsesVar(last, axis) || !arith::IsIndexType(last.dtype())) continue;
    auto linear = arith::AsLinear(last, axis);
    if (linear && linear->coefficient == 1) return a;
  }
  return {};
}

const BlockAccess* MainReadOf(const BlockInfo& block) {
  const BlockAccess* found = nullptr;
  int64_t most = 0;
  auto elements = [&](const BlockAccess& access) {
    int64_t product = 1;
    for (size_t a : access.axes)
      if (__builtin_mul_overflow(
              product, ir::AsConstInt(block.axes[a].extent).value_or(kUnknownExtent), &product))
        return std::numeric_limits<int64_t>::max();
    return product;
  };
  auto is_result = [&](const Buffer& buffer) {
    return std::any_of(block.accesses.begin(), block.accesses.end(), [&](const BlockAccess& other) {
      return other.store && other.buffer.same(buffer);
    });
  };
  for (const BlockAccess& access : block.accesses)
    if (!access.store && !is_result(access.buffer) && ContiguousAxis(block, access) &&
        (!found || elements(access) > most)) {
      found = &access;
      most = elements(access);
    }
  return found;
}

void RequireAnyOrder(const Schedule& schedule, const BlockInfo& block) {
  std::optional<SelectionUpdate> selection =
      FindSelectionUpdate(FindBlockNamed(schedule, block.name)->body);
  if (selection && selection->order != SelectionUpdate::Order::kNotNaN) return;
  for (const BlockAccess& access : block.accesses)
    if (access.store && access.buffer->dtype.is_float()) RequireReassociate(schedule);
}

namespace {

using Names = Schedule::Names;

// Fewer steps are one thread's.
constexpr int64_t kLeastSteps = 8;
// Loads of a thread, of several parts, which are worth a second kernel from so many on.
constexpr int64_t kLeastLoads = 4, kLeastParts = 8;
// Parts of a result; of dynamic extents, where there may be work for so many.
constexpr int64_t kMostParts = 1024, kDynamicParts = 512;
// Thread blocks for each multiprocessor, before columns are taken together.
constexpr int64_t kFullBlocks = 2;
// Threads that share a warp's columns; of a block of short rows.
constexpr int64_t kColumns = 32, kRowThreads = 128;

// Extents of loops that become one: 0 where one is dynamic.
struct Size {
  int64_t number = 1;
  void operator*=(int64_t extent) { number *= extent; }
  bool is_known() const { return number > 0; }
};

// A reduction, matched.
struct Reduction {
  std::string name;
  size_t contiguous = 0;  // axis
  bool is_row = false;    // the contiguous axis is reduced
  bool is_flat = false;   // nothing but inner reduced axes are in what is read: aligned at any size
  Names spatial;          // loops, in their order; of columns without the contiguous one
  Names outer, inner;     // loops of the reduction; inner ones are adjacent in memory
  Size results, outer_steps, inner_steps, columns;
  int64_t lanes = 1;

  Size steps() const { return {outer_steps.number * inner_steps.number}; }
};

int64_t ExtentOfLoop(const BlockInfo& block, const std::string& loop) {
  for (const BlockAxis& axis : block.axes)
    if (axis.loop == loop) return ConstExtent(axis);
  return 0;
}

Reduction Match(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target) {
  RequireAnyOrder(schedule, block);
  LoopsByKind loops = RequireAlone(schedule, block);
  if (loops.reduce.empty()) Refuse("it reduces along no loop of its own");
  Size m, n;
  for (const BlockAxis& axis : block.axes) {
    if (ir::IsConst(axis.extent, 0)) Refuse("axis " + axis.var.name() + " is empty");
    if (axis.role == AxisRole::kM) m *= ConstExtent(axis);
    if (axis.role == AxisRole::kN) n *= ConstExtent(axis);
  }
  if (m.number != 1 && n.number != 1) Refuse("it is a matmul with M and N above 1");
  const BlockAccess* read = MainReadOf(block);
  if (!read) Refuse("nothing is read along contiguous memory");
  Reduction result;
  result.name = block.name;
  result.contiguous = *ContiguousAxis(block, *read);
  result.is_row = block.axes[result.contiguous].kind == IterKind::kReduce;
  for (const std::string& loop : loops.spatial) {
    int64_t extent = ExtentOfLoop(block, loop);
    result.results *= extent;
    if (loop == block.axes[result.contiguous].loop)
      result.columns *= extent;
    else
      result.spatial.push_back(loop);
  }
  // Reduction loops in the order of memory; those at its end are the inner ones.
  Names order;
  for (size_t a : read->axes)
    if (Contains(loops.reduce, block.axes[a].loop)) order.push_back(block.axes[a].loop);
  size_t inner = 0;
  bool dense = read->by_axes && read->buffer->strides.empty();
  if (result.is_row) {
    inner = 1;
    while (dense && inner < read->axes.size() &&
           Contains(order, block.axes[read->axes[read->axes.size() - 1 - inner]].loop))
      ++inner;
    result.is_flat = inner == read->indices.size();
  }
  for (const std::string& loop : loops.reduce)
    if (!Contains(order, loop)) order.insert(order.begin(), loop);
  for (size_t i = 0; i < order.size(); ++i) {
    bool is_inner = i + inner >= order.size();
    (is_inner ? result.inner : result.outer).push_back(order[i]);
    (is_inner ? result.inner_steps : result.outer_steps) *= ExtentOfLoop(block, order[i]);
  }
  // Lanes combine sums and the like, not a value and its place.
  auto stores = std::count_if(block.accesses.begin(), block.accesses.end(),
                              [](const BlockAccess& access) { return access.store; });
  if (result.is_row && !block.conditional && stores == 1 && target.vector_bytes > 0) {
    int64_t most = MostLanes(block, result.contiguous, target);
    if (result.is_flat)
      result.lanes = most;
    else if (dense && result.inner_steps.is_known())
      result.lanes = PowerIn(result.inner_steps.number, most);
  }
  if (Size steps = result.steps(); steps.is_known() && steps.number < kLeastSteps)
    Refuse("a result has " + std::to_string(steps.number) + " steps; threads share them from " +
           std::to_string(kLeastSteps) + " on");
  return result;
}

// How many parts results have, so that the device is full, of thread blocks of so many threads. The
// threads that share a result have a few loads each.
int64_t PartsFor(const Reduction& reduction, int64_t blocks, int64_t threads, int64_t sharing,
                 const TargetInfo& target) {
  if (!reduction.results.is_known() && target.likely_results == 0) return 1;
  Size steps = reduction.steps();
  int64_t wanted = target.busy_blocks * kResidentThreads / threads / std::max<int64_t>(blocks, 1);
  if (!steps.is_known()) steps.number = target.likely_steps;
  int64_t most =
      steps.is_known() ? steps.number / (sharing * reduction.lanes * kLeastLoads) : kDynamicParts;
  int64_t parts = std::min({wanted, most, kMostParts});
  return most < kLeastParts || parts < 2 ? 1 : parts;
}

// Splits a loop by factors, given outermost first. Names of the loops, that of the rest first; ""
// for those of a factor of 1, and for a rest of one iteration.
Names SplitBy(Schedule* schedule, const std::string& block, const std::string& loop,
              const std::vector<int64_t>& factors, const std::vector<const char*>& suffixes) {
  Names made(factors.size() + 1), fresh = {FreshLoopName(*schedule, loop + "_o")};
  made[0] = loop;
  std::vector<int64_t> real;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] == 1) continue;
    real.push_back(factors[i]);
    fresh.push_back(FreshLoopName(*schedule, loop + suffixes[i]));
    made[i + 1] = fresh.back();
  }
  if (real.empty()) return made;
  made[0] = fresh[0];
  const BlockNode* node = FindBlockNamed(*schedule, block);
  for (const ForNode* around : NestOf(schedule->tree(), node).loops)
    if (around->var.name() == loop && real.size() == 1 && ir::IsConst(around->extent, real[0])) {
      made[0] = "";
      std::replace(made.begin(), made.end(), fresh[1], loop);
      return made;
    }
  schedule->Split(LoopOf(block, loop), real, fresh);
  return made;
}

void AddIf(const std::string& loop, Names* loops) {
  if (!loop.empty()) loops->push_back(loop);
}

void Order(Schedule* schedule, const std::string& block, const Names& loops) {
  if (loops.size() > 1) schedule->Reorder(Around(block, loops));
}

// Loops of a block by what becomes of them: thread blocks, threads, loops of a thread, a vector.
// Blocks and threads are outside of the loops.
struct Binding {
  Names blocks;
  std::string part, x, y;
  Names serial;
  std::string vector;
  // Loops of results, outermost, that hold an epilogue, too: they stay where they are.
  Names placed = {};
  // Of results, neighbours in memory, which a thread reduces its part of in registers: "" for one.
  std::string neighbours = {};
};

// The parts of the threads along y in registers, of several results each; then one result after
// the other.
void BindNeighbours(Schedule* schedule, const std::string& name, const Binding& loops) {
  Names order = loops.blocks;
  order.insert(order.end(), {loops.x, loops.neighbours, loops.y});
  order.insert(order.end(), loops.serial.begin(), loops.serial.end());
  Order(schedule, name, order);
  std::string own =
      schedule->Rfactor(LoopOf(name, loops.y), FreshBlockName(*schedule, name + "_own"));
  schedule->SetScope(own, StorageScope::kLocal);
  if (!loops.blocks.empty())
    schedule->Bind(LoopOf(name, FuseLoops(schedule, name, loops.blocks)), kBlockX);
  schedule->Bind(LoopOf(name, loops.x), kThreadX);
  schedule->Bind(LoopOf(name, loops.y), kThreadY);
  schedule->Unroll(LoopOf(name, loops.neighbours));
  Names inside = schedule->ComputeAt(own, LoopOf(name, loops.x));
  const std::string &thread = inside.back(), &neighbours = inside.front();
  order = {thread};
  order.insert(order.end(), loops.serial.begin(), loops.serial.end());
  order.push_back(neighbours);
  Order(schedule, own, order);
  if (!loops.serial.empty()) {
    std::string init = FreshBlockName(*schedule, own + "_init");
    schedule->DecomposeReduction(own, LoopOf(own, loops.serial[0]), init);
    schedule->Unroll(LoopOf(init, neighbours));
  }
  schedule->Bind(LoopOf(own, thread), kThreadY);
  schedule->Vectorize(LoopOf(own, neighbours));
}

void Bind(Schedule* schedule, const std::string& name, Binding loops) {
  AddIf(loops.part, &loops.blocks);
  if (!loops.neighbours.empty()) return BindNeighbours(schedule, name, loops);
  Names order = loops.blocks;
  AddIf(loops.y, &order);
  AddIf(loops.x, &order);
  order.insert(order.end(), loops.serial.begin(), loops.serial.end());
  AddIf(loops.vector, &order);
  std::erase_if(order, [&](const std::string& loop) { return Contains(loops.placed, loop); });
  Order(schedule, name, order);
  if (!loops.blocks.empty())
    schedule->Bind(LoopOf(name, FuseLoops(schedule, name, loops.blocks)), kBlockX);
  if (!loops.y.empty()) schedule->Bind(LoopOf(name, loops.y), kThreadY);
  if (!loops.x.empty()) schedule->Bind(LoopOf(name, loops.x), kThreadX);
  if (!loops.vector.empty()) schedule->Vectorize(LoopOf(name, loops.vector));
}

void ReduceRow(Schedule* schedule, const Reduction& reduction, const TargetInfo& target,
               bool in_parts);

// Whether a loop around a block has one iteration.
bool IsSingle(const Schedule& schedule, const std::string& block, const std::string& loop) {
  Nest nest = NestOf(schedule.tree(), FindBlockNamed(schedule, block));
  auto is_single = [&](const ForNode* one) {
    return one->var.name() == loop && ir::IsConst(one->extent, 1);
  };
  return std::any_of(nest.around.begin(), nest.around.end(), is_single) ||
         std::any_of(nest.loops.begin(), nest.loops.end(), is_single);
}

// The elementwise block that alone reads the results, with these.
struct Epilogue {
  std::string block, results;
};
std::optional<Epilogue> EpilogueOf(const Schedule& schedule, const std::string& block) {
  BlockInfo info = DescribeBlock(FindBlockNamed(schedule, block));
  const Buffer* results = nullptr;
  for (const BlockAccess& access : info.accesses) {
    if (!access.store) continue;
    if (results) return {};
    results = &access.buffer;
  }
  std::string reader = results ? FindEpilogue(schedule, block, *results) : "";
  if (reader.empty()) return {};
  return Epilogue{reader, (*results)->name};
}

// The parts of a result, by blocks and threads as given; then the results of the parts, as rows.
void ReduceParts(Schedule* schedule, const Reduction& reduction, const Binding& loops,
                 int64_t parts, const Names& spatial, const TargetInfo& target) {
  Names order = spatial;
  for (const std::string& loop : {loops.part, loops.y, loops.x})
    if (!loop.empty() && !Contains(order, loop)) order.push_back(loop);
  order.insert(order.end(), loops.serial.begin(), loops.serial.end());
  AddIf(loops.vector, &order);
  Order(schedule, reduction.name, order);
  std::string made = schedule->Rfactor(LoopOf(reduction.name, loops.part),
                                       FreshBlockName(*schedule, reduction.name + "_parts"));
  Bind(schedule, made, loops);
  Reduction rest;
  rest.name = reduction.name;
  rest.is_row = true;
  rest.spatial = spatial;
  rest.results = reduction.results;
  rest.inner = {loops.part};
  rest.inner_steps.number = parts;
  ReduceRow(schedule, rest, target, false);
}

void ReduceRowWith(Schedule* schedule, const Reduction& reduction, const TargetInfo& target,
                   bool in_parts, const std::optional<Epilogue>& epilogue) {
  const std::string& name = reduction.name;
  const Size &outer = reduction.outer_steps, &inner = reduction.inner_steps;
  int64_t lanes = reduction.lanes, most = std::min(kBlockThreads, target.max_threads);
  int64_t warp = std::max<int64_t>(target.warp_size, 32);
  int64_t loads = (inner.number + lanes - 1) / lanes;
  int64_t likely = target.likely_steps ? std::max(warp, target.likely_steps / 16) : most;
  int64_t x = !inner.is_known() ? std::min(likely, most)
              : loads <= warp   ? PowerFor(loads, std::min(warp, most))
                                : ThreadsForRow(inner.number, lanes, target);
  int64_t y = reduction.outer.empty() ? 1
              : outer.is_known()      ? PowerFor(outer.number, most / x)
                                      : std::max<int64_t>(most / x, 1);
  // Short rows are several of a thread block, where there are many.
  int64_t rows = 1;
  if (reduction.outer.empty() && x < kRowThreads && !reduction.spatial.empty()) {
    rows = std::min(kRowThreads, target.max_threads) / x;
    if (reduction.results.is_known())
      rows = std::min(rows, PowerFor(reduction.results.number / target.busy_blocks, rows));
  }
  int64_t results = reduction.results.is_known() ? reduction.results.number : target.likely_results;
  int64_t blocks = results / rows;
  int64_t parts = in_parts ? PartsFor(reduction, blocks, x * y * rows, x * y, target) : 1;
  // What is split in parts: the longer one.
  bool of_outer =
      !reduction.outer.empty() &&
      (!outer.is_known() || (inner.is_known() && outer.number / y >= inner.number / (x * lanes)));
  if (of_outer && outer.is_known()) parts = std::min(parts, outer.number);

  Names order = reduction.spatial;
  order.insert(order.end(), reduction.outer.begin(), reduction.outer.end());
  order.insert(order.end(), reduction.inner.begin(), reduction.inner.end());
  Order(schedule, name, order);
  Names spatial = reduction.spatial;
  bool is_full = rows == 1 || (reduction.results.is_known() && results % rows == 0);
  if (epilogue && parts == 1 && !spatial.empty()) {
    // Threads that wait for each other would be under a condition.
    if (!is_full) Refuse("the last thread block has fewer rows");
    schedule->SetScope(epilogue->results, StorageScope::kShared);
    schedule->ReverseComputeAt(epilogue->block, LoopOf(name, spatial.back()));
    // One index is that of a row, no part of a fused one.
    std::erase_if(spatial, [&](const std::string& loop) {
      return loop != reduction.spatial.back() && IsSingle(*schedule, name, loop);
    });
  }
  Binding loops;
  std::string k = FuseLoops(schedule, name, reduction.inner);
  Names steps = SplitBy(schedule, name, k, {of_outer ? 1 : parts, x, lanes}, {"_p", "_t", "_v"});
  loops.part = steps[1];
  loops.x = steps[2];
  loops.vector = steps[3];
  if (!reduction.outer.empty()) {
    std::string o = FuseLoops(schedule, name, reduction.outer);
    Names others = SplitBy(schedule, name, o, {of_outer ? parts : 1, y}, {"_p", "_t"});
    AddIf(others[0], &loops.serial);
    if (!others[1].empty()) loops.part = others[1];
    loops.y = others[2];
  }
  AddIf(steps[0], &loops.serial);
  if (rows > 1) {
    std::string row = FuseLoops(schedule, name, spatial);
    Lanes split = SplitLanes(schedule, name, row, rows);
    spatial.clear();
    AddIf(split.outer, &spatial);
    spatial.push_back(split.inner);
    loops.y = split.inner;
    AddIf(split.outer, &loops.blocks);
  } else {
    loops.blocks = spatial;
  }
  if (epilogue) loops.placed = spatial;
  if (parts > 1) return ReduceParts(schedule, reduction, loops, parts, spatial, target);
  Bind(schedule, name, loops);
}

void ReduceRow(Schedule* schedule, const Reduction& reduction, const TargetInfo& target,
               bool in_parts) {
  std::optional<Epilogue> epilogue = EpilogueOf(*schedule, reduction.name);
  bool fused = epilogue && Try(schedule, [&](Schedule* attempt) {
                 ReduceRowWith(attempt, reduction, target, in_parts, epilogue);
               });
  if (!fused) ReduceRowWith(schedule, reduction, target, in_parts, {});
}

// How many neighbours along the contiguous axis a thread loads at once, where there are so many for
// all threads of a warp.
int64_t ColumnLanes(const BlockInfo& block, const Reduction& reduction, const TargetInfo& target) {
  auto stores = std::count_if(block.accesses.begin(), block.accesses.end(),
                              [](const BlockAccess& access) { return access.store; });
  bool is_dynamic = !reduction.columns.is_known() || !reduction.steps().is_known();
  if (block.conditional || stores != 1 || target.vector_bytes == 0 || is_dynamic) return 1;
  int64_t lanes = MoveLanes(block, reduction.contiguous, target);
  while (lanes > 1 && reduction.columns.number < lanes * kColumns) lanes /= 2;
  return lanes;
}

void ReduceColumns(Schedule* schedule, const BlockInfo& block, const Reduction& reduction,
                   const TargetInfo& target) {
  const std::string &name = reduction.name, &j = block.axes[reduction.contiguous].loop;
  Size steps = reduction.steps(), columns = reduction.columns;
  int64_t most = std::min<int64_t>(2 * kBlockThreads, target.max_threads);
  int64_t likely = target.likely_columns ? target.likely_columns : kColumns;
  int64_t x = PowerFor(columns.is_known() ? columns.number : likely, kColumns);
  int64_t y = most / x;
  if (steps.is_known()) y = std::min(y, PowerFor(steps.number / kLeastLoads, y));
  auto blocks_of = [&](int64_t width) {
    return reduction.results.is_known()
               ? reduction.results.number / columns.number * ((columns.number + width - 1) / width)
               : target.likely_results / width;
  };
  int64_t lanes = y > 1 ? ColumnLanes(block, reduction, target) : 1;
  // As many as leave the device full.
  while (lanes > 1 &&
         blocks_of(x * lanes) * std::max<int64_t>(steps.number / (y * kLeastLoads), 1) <
             kFullBlocks * target.busy_blocks)
    lanes /= 2;
  int64_t parts = PartsFor(reduction, blocks_of(x * lanes), x * y, y, target);
  Names order = reduction.spatial;
  order.push_back(j);
  order.insert(order.end(), reduction.outer.begin(), reduction.outer.end());
  Order(schedule, name, order);
  std::string k = FuseLoops(schedule, name, reduction.outer);
  Names split = SplitBy(schedule, name, k, {parts, y}, {"_p", "_t"});
  Binding loops;
  std::string groups = j;
  if (lanes > 1) {
    Lanes neighbours = SplitLanes(schedule, name, j, lanes);
    groups = neighbours.outer;
    loops.neighbours = neighbours.inner;
  }
  Lanes threads = SplitLanes(schedule, name, groups, x);
  loops.part = split[1];
  loops.y = split[2];
  loops.x = threads.inner;
  loops.blocks = reduction.spatial;
  AddIf(threads.outer, &loops.blocks);
  AddIf(split[0], &loops.serial);
  if (parts == 1) return Bind(schedule, name, loops);
  Names spatial = loops.blocks;
  spatial.push_back(threads.inner);
  AddIf(loops.neighbours, &spatial);
  ReduceParts(schedule, reduction, loops, parts, spatial, target);
}

void ApplyRows(Schedule* schedule, const BlockInfo& given, const TargetInfo& target) {
  BlockInfo block = FreeOrder(schedule, given);
  Reduction reduction = Match(*schedule, block, target);
  if (!reduction.is_row) Refuse("the contiguous axis of what is read is not reduced");
  ReduceRow(schedule, reduction, target, true);
}

void ApplyColumns(Schedule* schedule, const BlockInfo& given, const TargetInfo& target) {
  BlockInfo block = FreeOrder(schedule, given);
  Reduction reduction = Match(*schedule, block, target);
  if (reduction.is_row) Refuse("the contiguous axis of what is read is reduced");
  ReduceColumns(schedule, block, reduction, target);
}

}  // namespace

void ReduceOnDevice(Schedule* schedule, const std::string& block, const TargetInfo& target) {
  BlockInfo info = FreeOrder(schedule, DescribeBlock(FindBlockNamed(*schedule, block)));
  Reduction reduction = Match(*schedule, info, target);
  if (reduction.is_row)
    ReduceRow(schedule, reduction, target, true);
  else
    ReduceColumns(schedule, info, reduction, target);
}

void RegisterDeviceReductionRules() {
  RegisterDeviceRowTileRules();
  auto fits = [](const TargetInfo& target) { return target.has_shared_memory(); };
  using K = BlockKind;
  RegisterRule({.name = "row_reduction",
                .description = "the contiguous axis is reduced: by the threads of a block, or by "
                               "several blocks where there are few outputs",
                .kinds = {K::kReduction, K::kMatmul},
                .fits = fits,
                .priority = 10,
                .apply = ApplyRows});
  RegisterRule({.name = "column_reduction",
                .description = "the contiguous axis is kept: coalesced threads along it, others "
                               "along the reduced axes",
                .kinds = {K::kReduction, K::kMatmul},
                .fits = fits,
                .priority = 9,
                .apply = ApplyColumns});
}

}  // namespace tern::schedule
