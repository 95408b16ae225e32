// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/reduction_loops.h"

#include <algorithm>
#include <limits>

#include "tern/arith/linear.h"
#include "tern/schedule/nest.h"
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
  std::optional<SelectionUpdate> selection = FindSelectionUpdate(schedule.At(block.ref)->body);
  if (selection && selection->order != SelectionUpdate::Order::kNotNaN) return;
  for (const BlockAccess& access : block.accesses)
    if (access.store && access.buffer->dtype.is_float()) RequireReassociate(schedule);
}

namespace {

// Loads of a thread, of several parts, which are worth a second kernel from so many on.
constexpr int64_t kLeastParts = 8;
// Parts of a result; of dynamic extents, where there may be work for so many.
constexpr int64_t kMostParts = 1024, kDynamicParts = 512;

int64_t ExtentOfLoop(const BlockInfo& block, const LoopRef& loop) {
  for (const BlockAxis& axis : block.axes)
    if (axis.loop == loop) return ConstExtent(axis);
  return 0;
}

}  // namespace

Reduction MatchReduction(const Schedule& schedule, const BlockInfo& block,
                         const TargetInfo& target) {
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
  result.name = block.ref;
  result.contiguous = *ContiguousAxis(block, *read);
  result.bytes = read->buffer->dtype.bytes();
  result.is_row = block.axes[result.contiguous].kind == IterKind::kReduce;
  for (const LoopRef& loop : loops.spatial) {
    int64_t extent = ExtentOfLoop(block, loop);
    result.results *= extent;
    result.spatial.push_back(loop);
  }
  // Reduction loops in the order of memory; those at its end are the inner ones.
  LoopRefs order;
  for (size_t a : read->axes)
    if (Contains(loops.reduce, block.axes[a].loop)) order.push_back(block.axes[a].loop);
  size_t inner = 0;
  bool dense = read->by_axes && read->buffer->strides.empty();
  if (!result.is_row) {
    // Results that are neighbours in memory; axes of which one is dynamic are one already, where
    // they can be.
    for (size_t d = read->axes.size(); d-- > 0;) {
      const BlockAxis& axis = block.axes[read->axes[d]];
      bool is_first = result.columns.empty();
      if (is_first && read->axes[d] != result.contiguous) continue;
      if (!is_first && (!dense || ConstExtent(axis) == 0 || !result.width.is_known())) break;
      if (std::erase(result.spatial, axis.loop) == 0) break;
      result.columns.insert(result.columns.begin(), axis.loop);
      result.width *= ConstExtent(axis);
    }
  } else {
    inner = 1;
    while (dense && inner < read->axes.size() &&
           Contains(order, block.axes[read->axes[read->axes.size() - 1 - inner]].loop))
      ++inner;
    result.is_flat = inner == read->indices.size();
  }
  for (const LoopRef& loop : loops.reduce)
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
  return result;
}

int64_t PartsFor(const Reduction& reduction, int64_t blocks, int64_t threads, int64_t sharing,
                 int64_t lanes, const TargetInfo& target) {
  if (!reduction.results.is_known() && target.likely_results == 0) return 1;
  Size steps = reduction.steps();
  int64_t wanted = target.busy_blocks * kResidentThreads / threads / std::max<int64_t>(blocks, 1);
  if (!steps.is_known()) steps.number = target.likely_steps;
  int64_t most = steps.is_known() ? steps.number / (sharing * lanes * kLeastLoads) : kDynamicParts;
  int64_t parts = std::min({wanted, most, kMostParts});
  return most < kLeastParts || parts < 2 ? 1 : parts;
}

LoopRefs SplitBy(Schedule* schedule, const BlockRef& block, const LoopRef& loop,
                 const std::vector<int64_t>& factors, const std::vector<const char*>& suffixes) {
  LoopRefs made;
  made.resize(factors.size() + 1);
  made[0] = loop;
  Schedule::Names names = {FreshLoopName(*schedule, loop + "_o")};
  std::vector<int64_t> real;
  std::vector<size_t> places = {0};
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] == 1) continue;
    real.push_back(factors[i]);
    names.push_back(FreshLoopName(*schedule, loop + suffixes[i]));
    places.push_back(i + 1);
  }
  if (real.empty()) return made;
  if (real.size() == 1 && ir::IsConst(schedule->At(loop)->extent, real[0])) {
    std::swap(made[0], made[places[1]]);
    return made;
  }
  LoopRefs split = schedule->Split(loop.Of(block), real, names);
  for (size_t i = 0; i < split.size(); ++i) made[places[i]] = split[i];
  return made;
}

void AddIf(const LoopRef& loop, LoopRefs* loops) {
  if (loop) loops->push_back(loop);
}

void Order(Schedule* schedule, const BlockRef& block, const LoopRefs& loops) {
  if (loops.size() > 1) schedule->Reorder(loops.Of(block));
}

namespace {

// The parts of the threads along y in registers, of several results each; then one result after
// the other.
void BindNeighbours(Schedule* schedule, const BlockRef& name, const Binding& loops) {
  LoopRefs order = loops.blocks;
  order.insert(order.end(), {loops.x, loops.neighbours, loops.y});
  order.insert(order.end(), loops.serial.begin(), loops.serial.end());
  Order(schedule, name, order);
  CopyRef own = schedule->Rfactor(loops.y.Of(name), FreshBlockName(*schedule, name + "_own"));
  schedule->SetScope(own, StorageScope::kLocal);
  if (loops.epilogue) {
    schedule->SetScope(loops.epilogue->results, StorageScope::kShared);
    const BlockRef& epilogue = loops.epilogue->block;
    LoopRefs made = schedule->ReverseComputeAt(epilogue, loops.x.Of(name));
    if (!made.empty()) schedule->Vectorize(made.back().Of(epilogue));
  }
  if (!loops.blocks.empty())
    schedule->Bind(FuseLoops(schedule, name, loops.blocks).Of(name), kBlockX);
  schedule->Bind(loops.x.Of(name), kThreadX);
  schedule->Bind(loops.y.Of(name), kThreadY);
  schedule->Unroll(loops.neighbours.Of(name));
  LoopRefs inside = schedule->ComputeAt(own, loops.x.Of(name));
  const LoopRef &thread = inside.back(), &neighbours = inside.front();
  LoopRefs serial = LoopsAround(*schedule, own, loops.serial);
  order = {thread};
  order.insert(order.end(), serial.begin(), serial.end());
  order.push_back(neighbours);
  Order(schedule, own, order);
  if (!serial.empty()) {
    BlockRef init = schedule->DecomposeReduction(own, serial[0].Of(own),
                                                 FreshBlockName(*schedule, own + "_init"));
    schedule->Unroll(LoopAround(*schedule, init, neighbours));
  }
  schedule->Bind(thread.Of(own), kThreadY);
  schedule->Vectorize(neighbours.Of(own));
}

}  // namespace

void BindReduction(Schedule* schedule, const BlockRef& name, Binding loops) {
  AddIf(loops.part, &loops.blocks);
  if (!loops.neighbours.empty()) return BindNeighbours(schedule, name, loops);
  LoopRefs order = loops.blocks;
  AddIf(loops.y, &order);
  AddIf(loops.x, &order);
  order.insert(order.end(), loops.serial.begin(), loops.serial.end());
  AddIf(loops.vector, &order);
  std::erase_if(order, [&](const LoopRef& loop) { return Contains(loops.placed, loop); });
  Order(schedule, name, order);
  if (!loops.blocks.empty())
    schedule->Bind(FuseLoops(schedule, name, loops.blocks).Of(name), kBlockX);
  if (!loops.y.empty()) schedule->Bind(loops.y.Of(name), kThreadY);
  if (!loops.x.empty()) schedule->Bind(loops.x.Of(name), kThreadX);
  if (!loops.vector.empty()) schedule->Vectorize(loops.vector.Of(name));
}

std::optional<Epilogue> EpilogueOf(const Schedule& schedule, const BlockRef& block) {
  BlockInfo info = DescribeBlock(schedule, block);
  const Buffer* results = nullptr;
  for (const BlockAccess& access : info.accesses) {
    if (!access.store) continue;
    if (results) return {};
    results = &access.buffer;
  }
  BlockRef reader = results ? FindEpilogue(schedule, block, *results) : BlockRef();
  if (reader.empty()) return {};
  return Epilogue{reader, *results};
}

}  // namespace tern::schedule
