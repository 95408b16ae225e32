// SPDX-License-Identifier: Apache-2.0
//
// vectorize_reduction: reductions along contiguous memory, and products of matrices and vectors
// that the rules for GEMMs declined. Integers, or floats with `reassociate`.
//
//   for row, parallel {
//     acc[4, lanes] = init                                            # rfactor
//     for k_o { for v in 4 unrolled { for l in lanes vectorized { acc[v, l] op= X[row, k] } } }
//     vector = acc[0] op acc[1] op acc[2] op acc[3];  S[row] = horizontal reduction of it
//     for the tail of k { S[row] op= X[row, k] }       # where there are no masks: loop_partition
//   }
//
// Four accumulators: an addition has about four cycles of latency. Where the target has masks, the
// last vectors are masked, and short rows have as few vectors as they fill. Else the tail is single
// elements, and there are two accumulators where the extent is dynamic, so that it is short.
// Reduced axes that are neighbours in memory are fused first. Of others the outer ones become rows,
// whose results are reduced last. Without rows, a reduction of 2 * 16384 elements or more, or of
// any number, is done in parts:
//
//   for p in parts, parallel {
//     acc[4, lanes] = init   for q in 16384 / 4 / lanes { acc op= X }
//     rows[p] = reduction of acc, as above
//   }
//   for p { S op= rows[p] }   for the tail { S op= X }
//
// A part ends as one value: another core's cache lines are what the last loop waits for.
//
// A contiguous axis shorter than two vectors beside reduced ones that are no neighbours is the
// lanes of one accumulator, reduced last. Declines where the reduced axis is not the contiguous
// one, or is alone and shorter than two vectors. argmin and argmax have accumulators of values and
// of their indices, of which equal values keep the lowest (break_ties), whatever the function says.
#include "tern/schedule/rules/host_reductions.h"

#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/analysis/selection_update.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

using Names = Schedule::Names;

// Vector accumulators, to hide the latency of an addition.
constexpr int64_t kVectors = 4, kVectorsOfDynamic = 2;
// Elements that are worth a masked vector and its horizontal reduction.
constexpr int64_t kLeastMasked = 8;
// Elements of one part, where there is one output and threads share its reduction.
constexpr int64_t kPartSteps = 1 << 14;

// The steps that a block reduces in vectors, in loops that are known.
struct Steps {
  std::string row;   // the innermost spatial loop, "" for none
  std::string loop;  // the innermost one, along memory
  Expr extent;
  int64_t lanes = 0, vectors = 1;
  bool masks = false;  // the last vectors are masked

  int64_t step() const { return vectors * lanes; }
  // The shortest extent that is worth a horizontal reduction.
  int64_t least() const { return masks ? kLeastMasked : 2 * lanes; }
  // As many of its iterations as fill vectors, where others follow; null where none do.
  Expr whole() const {
    std::optional<int64_t> constant = ir::AsConstInt(extent);
    if (masks) return {};
    if (!constant) return ir::FloorDiv(extent, step()) * Expr(step());
    return *constant % step() == 0 ? Expr() : Expr(*constant - *constant % step());
  }
};

// How many of a loop's steps are combined at once; `lanes` is set.
void SetVectors(Steps* steps, const TargetInfo& target) {
  std::optional<int64_t> extent = ir::AsConstInt(steps->extent);
  if (!extent && steps->masks && target.likely_steps) extent = target.likely_steps;
  if (!extent) {
    steps->vectors = steps->masks ? kVectors : kVectorsOfDynamic;
    return;
  }
  if (steps->masks) {
    int64_t filled = CeilDiv(*extent, steps->lanes);
    auto computed = [&](int64_t vectors) { return RoundUp(filled, vectors); };
    steps->vectors = kVectors;
    while (steps->vectors > 1 && filled < 2 * kVectors &&
           computed(steps->vectors / 2) < computed(steps->vectors))
      steps->vectors /= 2;
    return;
  }
  // As many vectors as leave no tail, or else as there should be.
  auto fits = [&](int64_t vectors) { return *extent % (vectors * steps->lanes) == 0; };
  while (steps->vectors < kVectors && fits(2 * steps->vectors)) steps->vectors *= 2;
  if (!fits(1) && *extent >= kVectors * steps->lanes) steps->vectors = kVectors;
}

// A value and its index are chosen one by one at the end of a row.
bool TakesMasks(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target) {
  return target.masked_vectors && !FindSelectionUpdate(FindBlockNamed(schedule, block.name)->body);
}

std::optional<Steps> StepsOf(const Schedule& schedule, const BlockInfo& block,
                             const TargetInfo& target) {
  std::optional<size_t> axis = FindReducedVectorAxis(block);
  std::optional<LoopsByKind> loops = SortLoops(schedule, block);
  if (!axis || !loops || loops->reduce.empty()) return {};
  const std::string& along = block.axes[*axis].loop;
  // In another one its tail is no part of its own.
  if (loops->reduce.front() != along && loops->reduce.back() != along) return {};
  Nest nest = NestOf(schedule.tree(), FindBlockNamed(schedule, block.name));
  // Spatial loops are the outer ones.
  for (size_t i = 0; i < loops->spatial.size(); ++i)
    if (nest.loops[i]->var.name() != loops->spatial[i]) return {};
  Steps steps;
  steps.extent = block.axes[*axis].extent;
  steps.lanes = LanesFor(block, *axis, target, 1);
  steps.masks = TakesMasks(schedule, block, target);
  if (steps.lanes == 0 || arith::Analyzer().Bounds(steps.extent).hi < steps.least()) return {};
  steps.loop = along;
  if (!loops->spatial.empty()) steps.row = loops->spatial.back();
  SetVectors(&steps, target);
  return steps;
}

// Whether two axes are the indices of neighbouring dimensions wherever one of them is read, so that
// memory is contiguous along both, the second inside.
bool AreAdjacent(const BlockInfo& block, size_t outer, size_t inner) {
  arith::Analyzer analyzer;
  for (const BlockAccess& access : block.accesses) {
    auto dim_of = [&](size_t axis) {
      return std::find(access.axes.begin(), access.axes.end(), axis) - access.axes.begin();
    };
    auto first = dim_of(outer), second = dim_of(inner), rank = std::ssize(access.axes);
    if (first == rank && second == rank) continue;
    if (!access.by_axes || second == rank || first + 1 != second || !access.buffer->strides.empty())
      return false;
    Expr beyond = access.buffer->shape[second] - block.axes[inner].extent;
    if (!ir::IsConst(analyzer.Simplify(beyond), 0)) return false;
  }
  return true;
}

// Fuses several reduced axes, which are adjacent in memory, all of them, the last one contiguous.
// Refuses others.
Steps FuseSteps(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  LoopsByKind loops = RequireLoops(*schedule, block);
  std::optional<size_t> last = FindReducedVectorAxis(block);
  std::vector<size_t> axes;
  for (size_t a = 0; a < block.axes.size(); ++a)
    if (block.axes[a].kind == IterKind::kReduce) axes.push_back(a);
  if (axes.size() < 2 || !last || block.conditional) Refuse("there are no two axes to fuse");
  // In the order of what is read.
  for (const BlockAccess& access : block.accesses)
    if (!access.store && access.axes.size() >= axes.size())
      std::stable_sort(axes.begin(), axes.end(), [&](size_t a, size_t b) {
        return std::find(access.axes.begin(), access.axes.end(), a) <
               std::find(access.axes.begin(), access.axes.end(), b);
      });
  for (size_t i = 0; i + 1 < axes.size(); ++i)
    if (!AreAdjacent(block, axes[i], axes[i + 1])) Refuse("reduced axes are apart in memory");
  if (axes.back() != *last) Refuse("the last reduced axis is not contiguous");
  Names order = loops.spatial, fused;
  Steps steps;
  for (size_t a : axes) {
    fused.push_back(block.axes[a].loop);
    steps.extent = steps.extent ? steps.extent * block.axes[a].extent : block.axes[a].extent;
  }
  order.insert(order.end(), fused.begin(), fused.end());
  schedule->Reorder(Around(block.name, order));
  steps.extent = arith::Analyzer().Simplify(steps.extent);
  BlockInfo whole = block;
  whole.axes[*last].extent = steps.extent;
  steps.lanes = LanesFor(whole, *last, target, 1);
  steps.masks = TakesMasks(*schedule, block, target);
  if (steps.lanes == 0 || ir::AsConstInt(steps.extent).value_or(steps.least()) < steps.least())
    Refuse("there are fewer steps than two vectors");
  steps.loop = FuseLoops(schedule, block.name, fused);
  if (!loops.spatial.empty()) steps.row = loops.spatial.back();
  SetVectors(&steps, target);
  return steps;
}

// Of a block that Rfactor made: the loop of its parts, and those of the steps of each.
struct PartLoops {
  std::string parts;
  Names steps;
};
PartLoops LoopsOfPart(const Schedule& schedule, const std::string& part) {
  BlockInfo info = DescribeBlock(FindBlockNamed(schedule, part));
  PartLoops loops;
  for (const BlockAxis& axis : info.axes)
    if (axis.kind == IterKind::kReduce)
      loops.steps.push_back(axis.loop);
    else
      loops.parts = axis.loop;
  return loops;
}

// The loop over the vectors of a block's parts, where there are several: "" else.
std::string VectorsOf(const Schedule& schedule, const std::string& part) {
  Nest nest = NestOf(schedule.tree(), FindBlockNamed(schedule, part));
  std::vector<const ForNode*> loops = nest.around;
  loops.insert(loops.end(), nest.loops.begin(), nest.loops.end());
  if (loops.size() < 2) return "";
  const ForNode* before_lanes = loops[loops.size() - 2];
  bool several = UseOf(nest.block, before_lanes->var.node()).spatial;
  return several ? before_lanes->var.name() : "";
}

// The parts are vectors.
void VectorizeParts(Schedule* schedule, const std::string& part, int64_t lanes) {
  PartLoops loops = LoopsOfPart(*schedule, part);
  Lanes split = SplitLanes(schedule, part, loops.parts, lanes);
  Names order = Around(part, loops.steps);
  if (!split.outer.empty()) order.push_back(LoopOf(part, split.outer));
  order.push_back(LoopOf(part, split.inner));
  schedule->Reorder(order);
  std::string init = schedule->DecomposeReduction(part, order[0]);
  if (!split.outer.empty()) schedule->Unroll(LoopOf(init, split.outer));
  for (const std::string& block : {init, part}) schedule->Vectorize(LoopOf(block, split.inner));
}

// All that a block stores to is kept in registers.
void MakeLocal(Schedule* schedule, const std::string& block) {
  Names results;
  for (const BlockAccess& access : DescribeBlock(FindBlockNamed(*schedule, block)).accesses)
    if (access.store && !Contains(results, access.buffer->name))
      results.push_back(access.buffer->name);
  for (const std::string& result : results) schedule->SetScope(result, StorageScope::kLocal);
}

// The block, whose steps may run in any order then. What argmin and argmax store under a condition
// is their result.
BlockInfo InAnyOrder(Schedule* schedule, const BlockInfo& given) {
  BlockInfo block = FreeOrder(schedule, given);
  if (FindSelectionUpdate(FindBlockNamed(*schedule, block.name)->body))
    for (BlockAxis& axis : block.axes) axis.decides = false;
  return block;
}

// The block in a loop that has one.
std::string BlockOf(const Schedule& schedule, const std::string& loop) {
  for (const ForNode* node : LoopsIn(schedule.function()->body))
    if (node->var.name() == loop) return BlocksIn(node->body)[0]->name;
  Refuse("there is no loop " + loop);
}

// The block whose results are the vectors of one, and those whose results are their lanes: of a
// loop that is split off already, of as many iterations as the vectors have elements.
VectorReduction FactorStep(Schedule* schedule, const std::string& block, const Steps& steps,
                           const std::string& loop) {
  VectorReduction result;
  result.block = block;
  result.width = steps.lanes;
  result.vectors = steps.vectors;
  result.last = loop;
  result.parts =
      schedule->Rfactor(LoopOf(block, loop), FreshBlockName(*schedule, block + "_parts"));
  MakeLocal(schedule, result.parts);
  if (steps.vectors == 1) return result;
  std::string vectors = FreshLoopName(*schedule, steps.loop + "_v"),
              lanes = FreshLoopName(*schedule, steps.loop + "_l");
  schedule->Split(LoopOf(block, loop), {steps.lanes}, {vectors, lanes});
  result.last = lanes;
  result.lanes =
      schedule->Rfactor(LoopOf(block, lanes), FreshBlockName(*schedule, block + "_lanes"));
  MakeLocal(schedule, result.lanes);
  return result;
}

// The steps are split by vectors; iterations that fill none are left to a block `rest`.
struct SplitSteps {
  std::string outer, inner, rest;
};
SplitSteps SplitOff(Schedule* schedule, const std::string& block, const Steps& steps) {
  SplitSteps split;
  std::string loop = steps.loop;
  if (Expr whole = steps.whole()) {
    std::string rest = FreshLoopName(*schedule, steps.loop + "_r");
    loop = FreshLoopName(*schedule, steps.loop + "_f");
    schedule->LoopPartition(LoopOf(block, steps.loop), whole, {loop, rest});
    split.rest = BlockOf(*schedule, rest);
  }
  split.outer = FreshLoopName(*schedule, steps.loop + "_o");
  split.inner = FreshLoopName(*schedule, steps.loop + "_i");
  bool masks = steps.masks && !Divides(steps.step(), steps.extent);
  schedule->Split(LoopOf(block, loop), {steps.step()}, {split.outer, split.inner},
                  masks ? TailStrategy::kMask : TailStrategy::kLoop);
  return split;
}

VectorReduction DoFactor(Schedule* schedule, const std::string& block, const Steps& steps) {
  SplitSteps split = SplitOff(schedule, block, steps);
  VectorReduction result = FactorStep(schedule, block, steps, split.inner);
  result.rest = split.rest;
  return result;
}

// Refuses where there are none.
Steps RequireSteps(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target) {
  std::optional<Steps> steps = StepsOf(schedule, block, target);
  if (!steps)
    Refuse("the innermost reduction of block " + block.name +
           " is not along contiguous memory, inside of all spatial loops, of an extent of two "
           "vectors or more");
  return *steps;
}

// All of a reduction, in the rows of its last block, whose name is returned.
std::string ReduceInRows(Schedule* schedule, const std::string& block, const Steps& steps,
                         const TargetInfo& target) {
  Names blocks, rows;
  std::vector<VectorReduction> reductions = {DoFactor(schedule, block, steps)};
  for (const std::string& made : reductions[0].made()) blocks.push_back(made);
  blocks.push_back(block);
  if (!reductions[0].rest.empty())
    for (VectorReduction& rest : FactorAll(schedule, reductions[0].rest, target, &blocks))
      reductions.push_back(std::move(rest));
  std::string last = blocks.back();
  blocks.pop_back();
  std::optional<LoopsByKind> loops =
      SortLoops(*schedule, DescribeBlock(FindBlockNamed(*schedule, last)));
  if (loops) rows = Around(last, loops->spatial);
  if (!rows.empty()) ComputeInRows(schedule, blocks, rows);
  for (const VectorReduction& reduction : reductions) Vectorize(schedule, reduction);
  for (const VectorReduction& reduction : reductions) UnrollVectors(schedule, reduction);
  return last;
}

}  // namespace

namespace {

// The steps of a loop are rows, which are reduced in parallel; then their results are.
void ReduceByRows(Schedule* schedule, const std::string& block, const std::string& loop,
                  const TargetInfo& target) {
  std::string rows =
      schedule->Rfactor(LoopOf(block, loop), FreshBlockName(*schedule, block + "_rows"));
  auto reduce = [&](Schedule* to, const std::string& name) {
    ReduceRows(to, DescribeBlock(FindBlockNamed(*to, name)), target);
  };
  reduce(schedule, rows);
  // Few rows are left as they are.
  Try(schedule, [&](Schedule* attempt) { reduce(attempt, block); });
}

// One result of many steps: threads share parts of kPartSteps each, the last of which is shorter.
void ReduceByParts(Schedule* schedule, const std::string& block, Steps steps,
                   const TargetInfo& target) {
  steps.masks = false;
  SetVectors(&steps, target);
  SplitSteps split = SplitOff(schedule, block, steps);
  std::string part = FreshLoopName(*schedule, steps.loop + "_p"),
              step = FreshLoopName(*schedule, steps.loop + "_q");
  schedule->Split(LoopOf(block, split.outer), {kPartSteps / steps.step()}, {part, step});
  std::string rows =
      schedule->Rfactor(LoopOf(block, part), FreshBlockName(*schedule, block + "_rows"));
  VectorReduction reduction = FactorStep(schedule, rows, steps, split.inner);
  ComputeInRows(schedule, reduction.made(), {LoopOf(rows, part)});
  Vectorize(schedule, reduction);
  UnrollVectors(schedule, reduction);
  schedule->Parallel(LoopOf(rows, part));
}

// The contiguous axis where it is a short one beside other reduced ones; its loop, or "".
std::string ShortLoop(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target) {
  std::optional<size_t> axis = FindReducedVectorAxis(block);
  std::optional<LoopsByKind> loops = SortLoops(schedule, block);
  if (!axis || !loops || loops->reduce.size() < 2) return "";
  std::optional<int64_t> extent = ir::AsConstInt(block.axes[*axis].extent);
  int64_t lanes = LanesFor(block, *axis, target, 1);
  return extent && lanes > 0 && *extent < 2 * lanes ? block.axes[*axis].loop : "";
}

// The elements along the loop are columns: one vector, that the other steps are combined in.
void ReduceColumns(Schedule* schedule, const BlockInfo& block, const std::string& loop,
                   const TargetInfo& target) {
  int64_t work = WorkOf(*schedule, block.name);
  LoopsByKind loops = RequireLoops(*schedule, block);
  Names order = loops.spatial;
  std::erase(loops.reduce, loop);
  order.insert(order.end(), loops.reduce.begin(), loops.reduce.end());
  order.push_back(loop);
  schedule->Reorder(Around(block.name, order));
  VectorReduction columns;
  columns.block = block.name;
  columns.last = loop;
  for (const BlockAxis& axis : block.axes)
    if (axis.loop == loop) columns.width = *ir::AsConstInt(axis.extent);
  columns.vectors = 1;
  columns.parts = schedule->Rfactor(LoopOf(block.name, loop),
                                    FreshBlockName(*schedule, block.name + "_columns"));
  schedule->SetScope(columns.parts, StorageScope::kLocal);
  if (!loops.spatial.empty())
    ComputeInRows(schedule, {columns.parts}, Around(block.name, loops.spatial));
  Vectorize(schedule, columns);
  ParallelizeOuter(schedule, block.name, work, target);
}

}  // namespace

void ReduceRows(Schedule* schedule, const BlockInfo& given, const TargetInfo& target) {
  BlockInfo block = InAnyOrder(schedule, given);
  int64_t work = WorkOf(*schedule, block.name);
  std::optional<Steps> fused;
  Try(schedule, [&](Schedule* attempt) { fused = FuseSteps(attempt, block, target); });
  if (std::string loop = ShortLoop(*schedule, block, target); !fused && !loop.empty())
    return ReduceColumns(schedule, block, loop, target);
  Steps steps = fused ? *fused : RequireSteps(*schedule, block, target);
  Names reduced = fused ? Names{steps.loop} : SortLoops(*schedule, block)->reduce;
  bool shared = steps.row.empty() && target.threads != 1;
  // The tail of an inner loop is no part of its own; threads share rows.
  bool is_inner = reduced.front() != steps.loop,
       cuts = steps.whole().get() || !ir::AsConstInt(steps.extent);
  if (reduced.size() > 1 && ((shared && work >= 2 * kPartSteps) || (is_inner && cuts)))
    return ReduceByRows(schedule, block.name, is_inner ? reduced.front() : reduced.back(), target);
  int64_t likely = target.likely_steps ? target.likely_steps : 2 * kPartSteps;
  if (shared && reduced.size() == 1 &&
      ir::AsConstInt(steps.extent).value_or(likely) >= 2 * kPartSteps)
    return ReduceByParts(schedule, block.name, steps, target);
  std::string last = ReduceInRows(schedule, block.name, steps, target);
  ParallelizeOuter(schedule, last, work, target);
}

Names VectorReduction::made() const { return lanes.empty() ? Names{parts} : Names{parts, lanes}; }

std::optional<VectorReduction> FactorVectors(Schedule* schedule, const std::string& block,
                                             const TargetInfo& target) {
  const BlockNode* node = FindBlockNamed(*schedule, block);
  // The tail of another one, which is short: its elements are added one by one.
  if (!node->init) return {};
  VectorReduction result;
  bool done = Try(schedule, [&](Schedule* attempt) {
    BlockInfo free = InAnyOrder(attempt, DescribeBlock(node));
    result = DoFactor(attempt, block, RequireSteps(*attempt, free, target));
  });
  return done ? std::optional(result) : std::nullopt;
}

std::vector<VectorReduction> FactorAll(Schedule* schedule, const std::string& block,
                                       const TargetInfo& target, Names* blocks) {
  std::vector<VectorReduction> reductions;
  std::string rest = block;
  while (!rest.empty()) {
    std::optional<VectorReduction> reduction = FactorVectors(schedule, rest, target);
    if (reduction)
      for (const std::string& made : reduction->made()) blocks->push_back(made);
    blocks->push_back(rest);
    rest = reduction ? reduction->rest : "";
    if (reduction) reductions.push_back(std::move(*reduction));
  }
  return reductions;
}

void ComputeInRows(Schedule* schedule, const Names& blocks, const Names& rows) {
  for (size_t i = blocks.size(); i-- > 0;) {
    if (Try(schedule, [&](Schedule* attempt) { attempt->ComputeAt(blocks[i], rows.back()); }))
      continue;
    // What writes a tensor, or goes on with what others wrote, computes all of it.
    for (const std::string& row : rows) {
      Nest nest = NestOf(schedule->tree(), FindBlockNamed(*schedule, blocks[i]));
      if (nest.loops.empty()) Refuse("block " + blocks[i] + " has no loop for every row axis");
      schedule->FuseSiblings(LoopOf(blocks[i], nest.loops[0]->var.name()), row);
    }
  }
}

void Vectorize(Schedule* schedule, const VectorReduction& reduction) {
  for (const std::string& block : reduction.made())
    VectorizeParts(schedule, block, reduction.width);
  if (!reduction.lanes.empty())
    schedule->Unroll(LoopOf(reduction.lanes, LoopsOfPart(*schedule, reduction.lanes).steps[0]));
  schedule->DecomposeReduction(reduction.block, LoopOf(reduction.block, reduction.last));
  // Lanes that are a value and its index are combined one by one.
  if (!FindSelectionUpdate(FindBlockNamed(*schedule, reduction.block)->body))
    schedule->Vectorize(LoopOf(reduction.block, reduction.last));
}

void UnrollVectors(Schedule* schedule, const VectorReduction& reduction) {
  std::string vectors = VectorsOf(*schedule, reduction.parts);
  if (!vectors.empty()) schedule->Unroll(LoopOf(reduction.parts, vectors));
}

bool ComputeOnTheWay(Schedule* schedule, const std::string& block, const std::string& loop,
                     const VectorReduction& reduction) {
  Buffer result = DescribeBlock(FindBlockNamed(*schedule, block)).accesses[0].buffer;
  Names steps = LoopsOfPart(*schedule, reduction.parts).steps;
  if (steps.size() != 1 || !Touches(AsStmt(FindBlockNamed(*schedule, reduction.parts)), result))
    return false;
  return Try(schedule, [&](Schedule* attempt) {
    std::string outer = FreshLoopName(*attempt, loop + "_o"),
                vectors = FreshLoopName(*attempt, loop + "_v"),
                lanes = FreshLoopName(*attempt, loop + "_i");
    attempt->Split(LoopOf(block, loop), {reduction.vectors, reduction.width},
                   {outer, vectors, lanes});
    attempt->Vectorize(LoopOf(block, lanes));
    attempt->FuseSiblings(LoopOf(block, outer), LoopOf(reduction.parts, steps[0]));
    std::string parts = VectorsOf(*attempt, reduction.parts);
    if (!parts.empty())
      attempt->FuseSiblings(LoopOf(block, vectors), LoopOf(reduction.parts, parts));
  });
}

namespace {

// Refuses a matmul whose M and N are more than 1, which reads operands again.
void RequireNoTile(const BlockInfo& block) {
  bool m = false, n = false;
  for (const BlockAxis& axis : block.axes) {
    m |= axis.role == AxisRole::kM && !ir::IsConst(axis.extent, 1);
    n |= axis.role == AxisRole::kN && !ir::IsConst(axis.extent, 1);
  }
  if (m && n) Refuse("it is a matmul with M and N above 1");
}

}  // namespace

void RegisterHostReductionRules() {
  RegisterRule(
      {.name = "vectorize_reduction",
       .description = "vector accumulators along the reduction, then a horizontal reduction",
       .kinds = {BlockKind::kReduction, BlockKind::kMatmul},
       .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
       .priority = 20,
       .apply =
           [](Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
             RequireNoTile(block);
             ReduceRows(schedule, block, target);
           }});
}

}  // namespace tern::schedule
