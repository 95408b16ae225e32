// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/loops.h"

#include <algorithm>

#include "tern/arith/linear.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/analysis/selection_update.h"
#include "tern/tir/transform/loops/vectorize_loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Elements whose last indices differ by one are contiguous.
bool LastIsContiguous(const Buffer& buffer) {
  return buffer->strides.empty() || ir::IsConst(buffer->strides.back(), 1);
}

// Lanes of the widest machine, of float32.
constexpr int64_t kMostFloats = 16;

// Iterations that are enough for some threads, where more of them would be little work each.
constexpr int64_t kEnoughIterations = 16;

// Whether an index is the same for so many neighbours: the axis over a multiple of them.
bool IsSameFor(const Expr& index, const VarNode* axis, int64_t neighbours) {
  bool same = true;
  int quotients = 0, uses = 0;
  ir::ForEachExpr(index, [&](const Expr& part) {
    uses += part.get() == axis;
    const auto* quotient = part.As<ir::FloorDivNode>();
    if (!quotient || quotient->a.get() != axis) return;
    ++quotients;
    std::optional<int64_t> by = ir::AsConstInt(quotient->b);
    same &= by && *by % neighbours == 0;
  });
  return same && quotients == uses;
}

bool IsNeighbour(const BlockAccess& access, const VarNode* axis, int64_t stride = 1) {
  if (access.indices.empty()) return true;
  for (size_t d = 0; d + 1 < access.indices.size(); ++d)
    if (ir::UsesVar(access.indices[d], axis)) return false;
  const Expr& last = access.indices.back();
  if (!ir::UsesVar(last, axis)) return !access.store;
  if (!LastIsContiguous(access.buffer)) return false;
  if (last.get() == axis) return true;
  if (!arith::IsIndexType(last.dtype()) || !arith::IsFixed(last)) return false;
  auto linear = arith::AsLinear(last, axis);
  return linear && linear->coefficient >= 1 && linear->coefficient <= (access.store ? 1 : stride);
}

// Whether an index is an axis of the block and a shift that is the same for all its instances.
bool IsShiftedAxis(const Expr& index, const BlockInfo& block, size_t axis) {
  const VarNode* var = block.axes[axis].var.node();
  if (index.get() == var) return true;
  if (!arith::IsIndexType(index.dtype()) || !arith::IsFixed(index)) return false;
  auto linear = arith::AsLinear(index, var);
  return linear && linear->coefficient == 1 &&
         std::none_of(block.axes.begin(), block.axes.end(), [&](const BlockAxis& other) {
           return ir::UsesVar(linear->rest, other.var.node());
         });
}

int64_t SaturatingProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  constexpr int64_t kMost = int64_t{1} << 50;
  return __builtin_mul_overflow(a, b, &product) ? kMost : std::min(product, kMost);
}

int64_t ExtentOr(const Expr& extent, int64_t otherwise) {
  if (std::optional<int64_t> constant = ir::AsConstInt(extent)) return *constant;
  // Of n * 22 the factors count.
  const auto* product = extent.As<ir::MulNode>();
  return product
             ? SaturatingProduct(ExtentOr(product->a, otherwise), ExtentOr(product->b, otherwise))
             : otherwise;
}

// A guess of an extent. One that is a scalar of the function is the product of several, mostly
// (fuse_axes.h).
int64_t LikelyExtent(const Schedule& schedule, const Expr& extent) {
  const std::vector<Param>& params = schedule.function()->params;
  bool scalar = std::any_of(params.begin(), params.end(), [&](const Param& param) {
    return !param.is_tensor() && ir::UsesVar(extent, param.var.node());
  });
  return ExtentOr(extent, scalar ? kUnknownExtent * kUnknownExtent : kUnknownExtent);
}

std::string FreshName(const std::string& wish,
                      const std::function<bool(const std::string&)>& taken) {
  std::string name = wish;
  for (int i = 1; taken(name); ++i) name = wish + "_" + std::to_string(i);
  return name;
}

bool IsSpatialLoop(const BlockNode* block, const ForNode* loop) {
  AxisUse use = UseOf(block, loop->var.node());
  return loop->for_kind == ForKind::kSerial && use.spatial && !use.reduce && !use.other;
}

}  // namespace

const BlockNode* FindBlockNamed(const Schedule& schedule, const std::string& name) {
  const std::vector<const BlockNode*>& blocks = schedule.tree().BlocksNamed(name);
  if (blocks.empty()) Refuse("there is no block " + name);
  return blocks[0];
}

std::string LoopOf(const std::string& block, const std::string& loop) { return block + "." + loop; }

std::string FreshLoopName(const Schedule& schedule, const std::string& wish) {
  return FreshName(
      wish, [&](const std::string& name) { return !schedule.tree().LoopsNamed(name).empty(); });
}

std::string FreshBlockName(const Schedule& schedule, const std::string& wish) {
  const StmtTree& tree = schedule.tree();
  return FreshName(wish, [&](const std::string& name) {
    return !tree.AllocationsNamed(name).empty() || !tree.BlocksNamed(name).empty();
  });
}

std::optional<LoopsByKind> SortLoops(const Schedule& schedule, const BlockInfo& block) {
  LoopsByKind result;
  const BlockNode* node = FindBlockNamed(schedule, block.name);
  for (const ForNode* loop : NestOf(schedule.tree(), node).loops) {
    auto axis = std::find_if(block.axes.begin(), block.axes.end(),
                             [&](const BlockAxis& axis) { return axis.loop == loop->var.name(); });
    if (axis == block.axes.end()) return {};
    bool spatial = axis->kind == IterKind::kSpatial;
    if (!spatial && axis->kind != IterKind::kReduce) return {};
    (spatial ? result.spatial : result.reduce).push_back(axis->loop);
  }
  return result;
}

OwnLoops RequireOwnLoops(const Schedule& schedule, const BlockInfo& block) {
  RequireLoops(schedule, block);
  OwnLoops result;
  const BlockNode* node = FindBlockNamed(schedule, block.name);
  for (const ForNode* loop : NestOf(schedule.tree(), node).loops)
    (UseOf(node, loop->var.node()).reduce ? result.reduce : result.spatial).emplace_back(loop);
  return result;
}

LoopsByKind RequireLoops(const Schedule& schedule, const BlockInfo& block) {
  std::optional<LoopsByKind> loops = SortLoops(schedule, block);
  if (!loops) Refuse("a loop around block " + block.name + " is not the own loop of an axis");
  return *loops;
}

size_t RequireVectorAxis(const BlockInfo& block, const LoopsByKind& loops, const LaneReads& reads) {
  std::optional<size_t> axis = FindVectorAxis(block, reads);
  if (!axis) Refuse("no spatial axis is contiguous in all accesses of block " + block.name);
  if (!Contains(loops.spatial, block.axes[*axis].loop))
    Refuse("the contiguous axis " + block.axes[*axis].var.name() + " has no loop of its own");
  return *axis;
}

bool Contains(const Schedule::Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool Contains(const LoopRefs& loops, const LoopRef& loop) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

Schedule::Names Around(const std::string& block, const Schedule::Names& loops) {
  Schedule::Names names;
  for (const std::string& loop : loops) names.push_back(LoopOf(block, loop));
  return names;
}

void MakeInnermost(Schedule* schedule, const std::string& block, const std::string& loop,
                   Schedule::Names* loops) {
  if (loops->back() == loop) return;
  std::erase(*loops, loop);
  loops->push_back(loop);
  schedule->Reorder(Around(block, *loops));
}

void MakeInnermost(Schedule* schedule, const BlockRef& block, const LoopRef& loop,
                   LoopRefs* loops) {
  if (loops->back() == loop) return;
  LoopRef last = loop;
  std::erase(*loops, last);
  loops->push_back(last);
  schedule->Reorder(loops->Of(block));
}

LoopRef FuseLoops(Schedule* schedule, const BlockRef& block, const LoopRefs& loops) {
  LoopRef fused = loops[0];
  for (size_t i = 1; i < loops.size(); ++i)
    fused = schedule->Fuse({fused.Of(block), loops[i].Of(block)},
                           FreshLoopName(*schedule, loops[0] + "_" + loops[i].name()));
  return fused;
}

std::string FuseLoops(Schedule* schedule, const std::string& block, const Schedule::Names& loops) {
  std::string fused = loops[0];
  for (size_t i = 1; i < loops.size(); ++i)
    fused = schedule->Fuse({LoopOf(block, fused), LoopOf(block, loops[i])},
                           FreshLoopName(*schedule, loops[0] + "_" + loops[i]));
  return fused;
}

std::string RowLoop(const Schedule& schedule, const BlockInfo& block) {
  const BlockNode* node = FindBlockNamed(schedule, block.name);
  Nest nest = NestOf(schedule.tree(), node);
  if (nest.loops.size() < block.rows.size() || !nest.around.empty()) return "";
  for (size_t i = 0; i < block.rows.size(); ++i) {
    const std::string& loop = nest.loops[i]->var.name();
    if (std::none_of(block.rows.begin(), block.rows.end(),
                     [&](size_t axis) { return block.axes[axis].loop == loop; }))
      return "";
  }
  return nest.loops[block.rows.size() - 1]->var.name();
}

std::optional<size_t> FindVectorAxis(const BlockInfo& block, const LaneReads& reads) {
  if (block.accesses.empty() || !block.accesses[0].store) return {};
  const BlockAccess& result = block.accesses[0];
  if (result.indices.empty()) return {};
  for (size_t a = 0; a < block.axes.size(); ++a) {
    const BlockAxis& axis = block.axes[a];
    if (!IsShiftedAxis(result.indices.back(), block, a)) continue;
    bool fits =
        axis.kind == IterKind::kSpatial && !axis.loop.empty() &&
        (!axis.decides || reads.are_guarded) &&
        std::all_of(block.accesses.begin(), block.accesses.end(), [&](const BlockAccess& access) {
          return IsNeighbour(access, axis.var.node(), reads.stride);
        });
    return fits ? std::optional(a) : std::nullopt;
  }
  return {};
}

std::optional<size_t> FindReducedVectorAxis(const BlockInfo& block) {
  if (block.accesses.empty() || !block.accesses[0].store) return {};
  auto is_result = [&](const Buffer& buffer) {
    return std::any_of(block.accesses.begin(), block.accesses.end(), [&](const BlockAccess& other) {
      return other.store && other.buffer.same(buffer);
    });
  };
  for (size_t a = block.axes.size(); a-- > 0;) {
    const BlockAxis& axis = block.axes[a];
    if (axis.kind != IterKind::kReduce || axis.loop.empty() || axis.decides) continue;
    bool reads = false, fits = true;
    for (const BlockAccess& access : block.accesses) {
      if (is_result(access.buffer)) continue;
      fits &= IsNeighbour(access, axis.var.node()) ||
              std::all_of(access.indices.begin(), access.indices.end(), [&](const Expr& index) {
                return IsSameFor(index, axis.var.node(), kMostFloats);
              });
      reads |= !access.indices.empty() && ir::UsesVar(access.indices.back(), axis.var.node());
    }
    if (fits && reads) return a;
  }
  return {};
}

BlockInfo FreeOrder(Schedule* schedule, const BlockInfo& block) {
  std::optional<SelectionUpdate> selection =
      FindSelectionUpdate(FindBlockNamed(*schedule, block.name)->body);
  if (!selection || !selection->is_ordered()) return block;
  schedule->BreakTies(block.name);
  return DescribeBlock(FindBlockNamed(*schedule, block.name));
}

int64_t LanesFor(const BlockInfo& block, size_t axis, const TargetInfo& target, int64_t registers) {
  int64_t bytes = 1;
  for (const BlockAccess& access : block.accesses) {
    DataType dtype = access.buffer->dtype;
    // Narrow floats are computed as wider ones.
    bytes = std::max<int64_t>(
        bytes, dtype.is_float() ? std::max(dtype.bits(), 32) / 8 : (dtype.bits() + 7) / 8);
  }
  constexpr int64_t kMostLanes = 64;  // several registers of the widest machine
  int64_t lanes = std::min(registers * target.vector_bytes / bytes, kMostLanes);
  int64_t extent = ExtentOr(block.axes[axis].extent, kUnknownExtent);
  while (lanes > extent) lanes /= 2;
  if (lanes < kMinLanes) return 0;
  // No tail, if fewer whole vectors leave none.
  int64_t vector = target.vector_bytes / bytes, fewer = lanes;
  while (fewer > std::max(vector, kMinLanes) && extent % fewer != 0) fewer /= 2;
  return extent % fewer == 0 ? fewer : lanes;
}

bool Divides(int64_t factor, const Expr& extent) {
  std::optional<int64_t> constant = ir::AsConstInt(extent);
  return constant && *constant % factor == 0;
}

Lanes SplitLanes(Schedule* schedule, const std::string& block, const std::string& loop,
                 int64_t lanes, TailStrategy tail) {
  const BlockNode* node = FindBlockNamed(*schedule, block);
  for (const ForNode* around : NestOf(schedule->tree(), node).loops)
    if (around->var.name() == loop && ir::IsConst(around->extent, lanes)) return {"", loop};
  std::string outer = FreshLoopName(*schedule, loop + "_o"),
              inner = FreshLoopName(*schedule, loop + "_i");
  schedule->Split(LoopOf(block, loop), {lanes}, {outer, inner}, tail);
  return {outer, inner};
}

LaneLoops SplitLanes(Schedule* schedule, const BlockRef& block, const LoopRef& loop, int64_t lanes,
                     TailStrategy tail) {
  if (ir::IsConst(schedule->At(loop)->extent, lanes)) return {{}, loop};
  std::string outer = FreshLoopName(*schedule, loop + "_o"),
              inner = FreshLoopName(*schedule, loop + "_i");
  LoopsMade<2> made = schedule->Split(loop.Of(block), {lanes}, {outer, inner}, tail);
  return {made[0], made[1]};
}

TailStrategy VectorTail(const Expr& extent) {
  return ir::AsConstInt(extent) ? TailStrategy::kLoop : TailStrategy::kMask;
}

Schedule::Names CutLoop(Schedule* schedule, const std::string& block, std::string loop,
                        int64_t extent, int64_t size) {
  auto block_below = [&](const std::string& name) -> std::string {
    for (const ForNode* other : LoopsIn(schedule->function()->body))
      if (other->var.name() == name) return BlocksIn(other->body)[0]->name;
    return "";
  };
  Schedule::Names blocks = {block};
  for (; extent > size; extent -= size) {
    Schedule::Names parts = {FreshLoopName(*schedule, loop + "_0"),
                             FreshLoopName(*schedule, loop + "_1")};
    schedule->LoopPartition(LoopOf(blocks.back(), loop), size, parts);
    loop = parts[1];
    blocks.push_back(block_below(loop));
  }
  return blocks;
}

void VectorizeRow(Schedule* schedule, const std::string& block) {
  Nest nest = NestOf(schedule->tree(), FindBlockNamed(*schedule, block));
  int64_t extent = *ir::AsConstInt(nest.loops.back()->extent);
  int64_t size = CeilDiv(extent, CeilDiv(extent, kMaxLanes));
  if (size < kMinLanes) return;
  for (const std::string& part :
       CutLoop(schedule, block, nest.loops.back()->var.name(), extent, size)) {
    nest = NestOf(schedule->tree(), FindBlockNamed(*schedule, part));
    schedule->Vectorize(LoopOf(part, nest.loops.back()->var.name()));
  }
}

int64_t WorkOf(const Schedule& schedule, const std::string& block) {
  const BlockNode* node = FindBlockNamed(schedule, block);
  int64_t work = DescribeBlock(node).operations;
  for (const ForNode* loop : NestOf(schedule.tree(), node).loops)
    work = SaturatingProduct(work, LikelyExtent(schedule, loop->extent));
  return work;
}

void ParallelizeOuter(Schedule* schedule, const std::string& block, int64_t work,
                      const TargetInfo& target, const std::string& inside_of) {
  if (target.threads == 1 || work < kParallelOperations) return;
  const BlockNode* node = FindBlockNamed(*schedule, block);
  Nest nest = NestOf(schedule->tree(), node);
  std::vector<const ForNode*> loops = nest.around;
  loops.insert(loops.end(), nest.loops.begin(), nest.loops.end());
  auto from = std::find_if(loops.begin(), loops.end(),
                           [&](const ForNode* loop) { return loop->var.name() == inside_of; });
  if (from != loops.end()) loops.erase(loops.begin(), from + 1);
  Schedule::Names outer;
  std::vector<int64_t> works;  // of each of them, all of its iterations
  int64_t iterations = 1, inside = work;
  bool dynamic = false;  // a loop of any number of iterations, of which there may be one
  for (size_t i = 0; i < loops.size() && iterations < kParallelIterations; ++i) {
    const ForNode* loop = loops[i];
    // The innermost of several stays as it is; loops are joined where they are right in each other.
    bool innermost = i > 0 && i + 1 == loops.size();
    bool apart = i > 0 && loops[i - 1]->body.get() != loop;
    if (!IsSpatialLoop(node, loop) || innermost || apart) break;
    works.push_back(inside);
    inside /= std::max<int64_t>(LikelyExtent(*schedule, loop->extent), 1);
    if ((dynamic || iterations >= kEnoughIterations) && inside < kTaskOperations) break;
    outer.push_back(LoopOf(block, loop->var.name()));
    iterations = SaturatingProduct(iterations, ExtentOr(loop->extent, 1));
    dynamic |= !ir::AsConstInt(loop->extent);
  }
  if (outer.empty() || (iterations < 2 && !dynamic)) return;
  // As many of them as can be.
  bool joined = false;
  for (size_t count = outer.size(); count > 1 && !joined; --count)
    joined = Try(schedule, [&](Schedule* attempt) {
      std::string name = FreshLoopName(*attempt, block + "_outer");
      Schedule::Names first(outer.begin(), outer.begin() + static_cast<int64_t>(count));
      attempt->Parallel(LoopOf(block, attempt->Fuse(first, name)));
    });
  // Else one of them: the first that has several, or rather, where that may be one, the first that
  // has enough for some threads each time.
  auto take_first = [&](int64_t least, int64_t least_work) {
    for (size_t i = 0; i < outer.size() && !joined; ++i)
      if (ExtentOr(loops[i]->extent, 2) >= least && works[i] >= least_work)
        joined = Try(schedule, [&](Schedule* attempt) { attempt->Parallel(outer[i]); });
  };
  if (dynamic) take_first(kParallelIterations / 8, 16 * kParallelOperations);
  take_first(2, 0);
}

bool Try(Schedule* schedule, const std::function<void(Schedule*)>& steps) {
  Schedule attempt = *schedule;
  try {
    steps(&attempt);
  } catch (const Error& error) {
    if (error.kind() != "ScheduleError") throw;
    return false;
  }
  *schedule = std::move(attempt);
  return true;
}

bool TryBefore(Schedule* schedule, const BlockInfo& block, const std::string& rule,
               const std::function<void(Schedule*)>& steps, std::vector<RuleResult>* results) {
  auto begin = static_cast<std::ptrdiff_t>(schedule->trace().steps.size());
  if (!Try(schedule, steps)) return false;
  const std::vector<Step>& made = schedule->trace().steps;
  results->push_back({block.name, block.str(), rule, {{made.begin() + begin, made.end()}}, {}});
  return true;
}

}  // namespace tern::schedule
