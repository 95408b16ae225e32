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
  std::optional<SelectionUpdate> selection =
      FindSelectionUpdate(FindBlockNamed(schedule, block.name)->body);
  if (selection && selection->order != SelectionUpdate::Order::kNotNaN) return;
  for (const BlockAccess& access : block.accesses)
    if (access.store && access.buffer->dtype.is_float()) RequireReassociate(schedule);
}

namespace {

using Names = Schedule::Names;

// Loads of a thread, of several parts, which are worth a second kernel from so many on.
constexpr int64_t kLeastParts = 8;
// Parts of a result; of dynamic extents, where there may be work for so many.
constexpr int64_t kMostParts = 1024, kDynamicParts = 512;

int64_t ExtentOfLoop(const BlockInfo& block, const std::string& loop) {
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
  result.name = block.name;
  result.contiguous = *ContiguousAxis(block, *read);
  result.bytes = read->buffer->dtype.bytes();
  result.is_row = block.axes[result.contiguous].kind == IterKind::kReduce;
  for (const std::string& loop : loops.spatial) {
    int64_t extent = ExtentOfLoop(block, loop);
    result.results *= extent;
    result.spatial.push_back(loop);
  }
  // Reduction loops in the order of memory; those at its end are the inner ones.
  Names order;
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

Schedule::Names SplitBy(Schedule* schedule, const std::string& block, const std::string& loop,
                        const std::vector<int64_t>& factors,
                        const std::vector<const char*>& suffixes) {
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

namespace {

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

}  // namespace

void BindReduction(Schedule* schedule, const std::string& name, Binding loops) {
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

}  // namespace tern::schedule
