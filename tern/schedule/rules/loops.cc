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

LoopRef LoopAround(const Schedule& schedule, const BlockRef& block, const LoopRef& loop) {
  const BlockNode* node = schedule.At(block);
  const StmtTree& tree = schedule.tree();
  if (tree.Has(loop) && tree.IsInside(node, tree.At(loop))) return loop.Of(block);
  // A copy has the name.
  for (const StmtNode* stmt = node; stmt; stmt = tree.ParentOf(stmt))
    if (stmt->kind == StmtKind::kFor)
      if (const auto* around = static_cast<const ForNode*>(stmt); around->var.name() == loop.name())
        return LoopRef(around).Of(block);
  Refuse("there is no loop " + loop.name() + " around block " + block.name());
}

LoopRefs LoopsAround(const Schedule& schedule, const BlockRef& block, const LoopRefs& loops) {
  LoopRefs around;
  for (const LoopRef& loop : loops) around.push_back(LoopAround(schedule, block, loop));
  return around;
}

LoopRefs NestLoops(const Schedule& schedule, const BlockRef& block) {
  LoopRefs loops;
  for (const ForNode* loop : NestOf(schedule.tree(), schedule.At(block)).loops)
    loops.emplace_back(loop);
  return loops;
}

BlockRef FindBlock(const Schedule& schedule, const std::string& name) {
  const std::vector<const BlockNode*>& blocks = schedule.tree().BlocksNamed(name);
  return blocks.empty() ? BlockRef() : schedule.RefTo(blocks[0]);
}

LoopRefs NamedLoops::Split(Schedule* schedule, const LoopRef& loop,
                           const std::vector<int64_t>& factors,
                           const std::vector<std::string>& names, TailStrategy tail) {
  Schedule::Names full;
  for (const std::string& name : names) full.push_back(block_ + "_" + name);
  LoopRefs made = schedule->Split(loop.Of(block_), factors, full, tail);
  for (size_t i = 0; i < names.size(); ++i) Add(names[i], made[i].Of(block_));
  return made;
}

const LoopRef& NamedLoops::At(const std::string& name) const {
  auto it = loops_.find(name);
  if (it == loops_.end()) Refuse("there is no loop " + block_.name() + "_" + name);
  return it->second;
}

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
  for (const ForNode* loop : NestOf(schedule.tree(), schedule.At(block.ref)).loops) {
    auto axis = std::find_if(block.axes.begin(), block.axes.end(),
                             [&](const BlockAxis& axis) { return axis.loop == LoopRef(loop); });
    if (axis == block.axes.end()) return {};
    bool spatial = axis->kind == IterKind::kSpatial;
    if (!spatial && axis->kind != IterKind::kReduce) return {};
    (spatial ? result.spatial : result.reduce).push_back(axis->loop);
  }
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

bool Contains(const BlockRefs& blocks, const BlockRef& block) {
  return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
}

void MakeInnermost(Schedule* schedule, const BlockRef& block, const LoopRef& loop,
                   LoopRefs* loops) {
  if (loops->back() == loop) return;
  auto at = std::find(loops->begin(), loops->end(), loop);
  TERN_ICHECK(at != loops->end());
  std::rotate(at, at + 1, loops->end());
  schedule->Reorder(loops->Of(block));
}

LoopRef FuseLoops(Schedule* schedule, const BlockRef& block, const LoopRefs& loops) {
  LoopRef fused = loops[0];
  for (size_t i = 1; i < loops.size(); ++i)
    fused = schedule->Fuse({fused.Of(block), loops[i].Of(block)},
                           FreshLoopName(*schedule, loops[0] + "_" + loops[i].name()));
  return fused;
}

LoopRef RowLoop(const Schedule& schedule, const BlockInfo& block) {
  Nest nest = NestOf(schedule.tree(), schedule.At(block.ref));
  if (nest.loops.size() < block.rows.size() || !nest.around.empty()) return {};
  for (size_t i = 0; i < block.rows.size(); ++i) {
    LoopRef loop(nest.loops[i]);
    if (std::none_of(block.rows.begin(), block.rows.end(),
                     [&](size_t axis) { return block.axes[axis].loop == loop; }))
      return {};
  }
  return LoopRef(nest.loops[block.rows.size() - 1]);
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
  std::optional<SelectionUpdate> selection = FindSelectionUpdate(schedule->At(block.ref)->body);
  if (!selection || !selection->is_ordered()) return block;
  schedule->BreakTies(block.ref);
  return DescribeBlock(*schedule, block.ref);
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

Lanes SplitLanes(Schedule* schedule, const BlockRef& block, const LoopRef& loop, int64_t lanes,
                 TailStrategy tail) {
  if (ir::IsConst(schedule->At(loop.Of(block))->extent, lanes)) return {{}, loop};
  std::string outer = FreshLoopName(*schedule, loop + "_o"),
              inner = FreshLoopName(*schedule, loop + "_i");
  LoopsMade<2> made(schedule->Split(loop.Of(block), SplitFactors{lanes}, {outer, inner}, tail));
  return {made[0], made[1]};
}

TailStrategy VectorTail(const Expr& extent) {
  return ir::AsConstInt(extent) ? TailStrategy::kLoop : TailStrategy::kMask;
}

BlockRefs CutLoop(Schedule* schedule, const BlockRef& block, LoopRef loop, int64_t extent,
                  int64_t size) {
  BlockRefs blocks = {block};
  for (; extent > size; extent -= size) {
    loop = schedule->LoopPartition(
        loop.Of(blocks.back()), size,
        {FreshLoopName(*schedule, loop + "_0"), FreshLoopName(*schedule, loop + "_1")})[1];
    blocks.push_back(schedule->RefTo(BlocksIn(schedule->At(loop)->body)[0]));
  }
  return blocks;
}

void VectorizeRow(Schedule* schedule, const BlockRef& block) {
  const ForNode* row = NestOf(schedule->tree(), schedule->At(block)).loops.back();
  int64_t extent = *ir::AsConstInt(row->extent), size = CeilDiv(extent, CeilDiv(extent, kMaxLanes));
  if (size < kMinLanes) return;
  for (const BlockRef& part : CutLoop(schedule, block, LoopRef(row), extent, size))
    schedule->Vectorize(NestLoops(*schedule, part).back().Of(part));
}

int64_t WorkOf(const Schedule& schedule, const BlockRef& block) {
  const BlockNode* node = schedule.At(block);
  int64_t work = DescribeBlock(node).operations;
  for (const ForNode* loop : NestOf(schedule.tree(), node).loops)
    work = SaturatingProduct(work, LikelyExtent(schedule, loop->extent));
  return work;
}

namespace {

// Loops around a block, from the outermost on, that threads may share: each right in the one
// before. The innermost of several stays as it is.
struct SharedLoop {
  LoopRef loop;
  int64_t extent = 2,
          iterations = 1;        // its own, a guess; of it and those outside, as far as static
  bool dynamic = false;          // so that there are more
  int64_t work = 0, inside = 0;  // each time that it runs; of one iteration

  // Of so many.
  int64_t Threads(int64_t most) const { return dynamic ? most : std::min(iterations, most); }
};

std::vector<SharedLoop> SharedLoops(const Schedule& schedule, const BlockRef& block, int64_t work,
                                    const LoopRef& inside_of) {
  const BlockNode* node = schedule.At(block);
  Nest nest = NestOf(schedule.tree(), node);
  std::vector<const ForNode*> loops = nest.around;
  loops.insert(loops.end(), nest.loops.begin(), nest.loops.end());
  auto from = std::find_if(loops.begin(), loops.end(),
                           [&](const ForNode* loop) { return LoopRef(loop) == inside_of; });
  if (from != loops.end()) loops.erase(loops.begin(), from + 1);
  std::vector<SharedLoop> shared;
  SharedLoop one;
  one.inside = work;
  for (size_t i = 0; i < loops.size(); ++i) {
    const ForNode* loop = loops[i];
    bool innermost = i > 0 && i + 1 == loops.size();
    bool apart = i > 0 && loops[i - 1]->body.get() != loop;
    if (!IsSpatialLoop(node, loop) || innermost || apart) break;
    one.loop = LoopRef(loop).Of(block);
    one.work = one.inside;
    one.inside /= std::max<int64_t>(LikelyExtent(schedule, loop->extent), 1);
    one.extent = ExtentOr(loop->extent, 2);
    one.iterations = SaturatingProduct(one.iterations, ExtentOr(loop->extent, 1));
    one.dynamic |= !ir::AsConstInt(loop->extent);
    shared.push_back(one);
  }
  return shared;
}

// What the longest of so many threads has to do, in operations.
double OperationsOf(int64_t work, int64_t threads, const TargetInfo& target) {
  return (static_cast<double>(work) +
          static_cast<double>((threads - 1) * target.thread_start_operations)) /
         static_cast<double>(threads);
}

// How many of the loops are joined; 0: threads gain nothing.
size_t ChooseLoops(const std::vector<SharedLoop>& loops, int64_t work, const TargetInfo& target) {
  size_t count = 0;
  SharedLoop before;
  for (; count < loops.size() && before.iterations < target.most_threads; before = loops[count++])
    if ((before.dynamic || before.iterations >= target.enough_tasks) &&
        loops[count].inside < target.task_operations)
      break;
  return ThreadsPay(work, before.Threads(target.most_threads), target) ? count : 0;
}

// The first `count` loops become one, of threads.
bool JoinLoops(Schedule* schedule, const BlockRef& block, const std::vector<SharedLoop>& loops,
               size_t count) {
  return Try(schedule, [&](Schedule* attempt) {
    LoopRefs first;
    for (size_t i = 0; i < count; ++i) first.push_back(loops[i].loop);
    attempt->Parallel(attempt->Fuse(first, FreshLoopName(*attempt, block + "_outer")).Of(block));
  });
}

// One of the first `count`: the first that has several iterations, or rather, where that may be
// one, the first that has enough for some threads each time.
bool TakeLoop(Schedule* schedule, const std::vector<SharedLoop>& loops, size_t count,
              const TargetInfo& target) {
  auto take = [&](int64_t least, int64_t least_work) {
    for (size_t i = 0; i < count; ++i)
      if (loops[i].extent >= least && loops[i].work >= least_work &&
          Try(schedule, [&](Schedule* attempt) { attempt->Parallel(loops[i].loop); }))
        return true;
    return false;
  };
  bool dynamic = count > 0 && loops[count - 1].dynamic;
  return (dynamic && take(target.most_threads / 8, 16 * target.thread_start_operations)) ||
         take(2, 0);
}

[[noreturn]] void RefuseParallel(int64_t wanted, size_t most) {
  std::string known = "0";
  for (size_t count = 1; count <= most; ++count) known += ", " + std::to_string(count);
  Refuse("no plan has parallel = " + std::to_string(wanted) + "; without that it is " + known);
}

}  // namespace

void ParallelizeOuter(Schedule* schedule, const BlockRef& block, int64_t work,
                      const TargetInfo& target, HostPlan* plan, const LoopRef& inside_of) {
  std::vector<SharedLoop> loops = SharedLoops(*schedule, block, work, inside_of);
  bool is_asked = plan && plan->parallel != HostPlan::kOpen;
  size_t count = ChooseLoops(loops, work, target), joined = 0;
  if (is_asked) {
    size_t most = target.threads == 1 ? 0 : loops.size();
    if (plan->parallel < 0 || plan->parallel > static_cast<int64_t>(most))
      RefuseParallel(plan->parallel, most);
    count = static_cast<size_t>(plan->parallel);
  }
  // As many of them as can be; else one of them.
  for (joined = count; joined > 1 && !JoinLoops(schedule, block, loops, joined); --joined)
    if (is_asked)
      Refuse(std::to_string(count) + " loops around " + block.name() + " are not to be joined");
  if (joined == 1 && !TakeLoop(schedule, loops, is_asked ? loops.size() : count, target))
    joined = 0;
  if (!plan) return;
  if (is_asked && joined != count) RefuseParallel(plan->parallel, 0);
  if (joined == 0) return plan->SetParallel(0);
  ShareWork(static_cast<int64_t>(joined), work, loops[joined - 1].Threads(target.most_threads),
            target, plan);
}

bool ThreadsPay(int64_t work, int64_t iterations, const TargetInfo& target) {
  int64_t threads = std::min(iterations, target.most_threads);
  return target.threads != 1 && threads > 1 &&
         OperationsOf(work, threads, target) <= static_cast<double>(work);
}

void ShareWork(int64_t loops, int64_t work, int64_t iterations, const TargetInfo& target,
               HostPlan* plan) {
  int64_t threads = std::min(iterations, target.likely_threads);
  plan->SetParallel(loops);
  plan->cycles *=
      OperationsOf(work, threads, target) / static_cast<double>(std::max<int64_t>(work, 1));
  plan->limit /= static_cast<double>(threads);
}

const std::vector<PlanField<ThreadsPlan>>& ThreadsPlan::Fields() {
  static const std::vector<PlanField<ThreadsPlan>> fields = {{"parallel", &ThreadsPlan::parallel}};
  return fields;
}

std::vector<ThreadsPlan> ThreadsAlone(Schedule*, const BlockInfo&, const TargetInfo&,
                                      const Wanted<ThreadsPlan>&) {
  return {ThreadsPlan()};
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
