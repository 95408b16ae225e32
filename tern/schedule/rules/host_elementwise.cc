// SPDX-License-Identifier: Apache-2.0
//
// vectorize_elementwise: elementwise, broadcast, injective and gather blocks.
//
//   for outer spatial loops, parallel { for j_o { for j_i in 2 * lanes vectorized { block } } }
//
// j is the axis that is contiguous in all accesses. The last vector of a dynamic extent is masked.
// A dynamic j by itself runs in parallel by parts: one part has no threads. Where j is short, and
// what is computed of an element is much, vectors run along the axis i outside of it, and load and
// store elements that are apart:
//
//   for other loops, i_o, parallel { for j { for i_i in lanes vectorized { block } } }
//
// Of dynamic extents a vector is a local buffer, the last one masked, from which elements are
// stored.
//
// Cost, a: cycles of a register, the most of arithmetic, loads and stores:
//
//   along j  rows * (registers * a + 1) * vectors of a row; each of a static tail's parts a
//   along i  elements / lanes * (a + lanes * accesses that are apart + 1)
//
// Declines where no axis is contiguous.
#include "tern/schedule/rules/host_elementwise.h"

#include <algorithm>
#include <bit>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/operation_count.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/transform/loops/vectorize_loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

struct ElementwisePlan : HostPlan {
  int64_t vector = 0;  // elements at a time, of a register or two
  int64_t outer = 0;   // 1: along the axis outside of the contiguous one
  int64_t mask = 0;    // 1: the last vector is masked; 0: the tail is a loop, or there is none
  int64_t part = 0;    // of the one dynamic axis that a thread takes at a time; 0: rows are shared

  static const std::vector<PlanField<ElementwisePlan>>& Fields() {
    using P = ElementwisePlan;
    static const std::vector<PlanField<P>> fields = {{"vector", &P::vector},
                                                     {"outer", &P::outer},
                                                     {"mask", &P::mask},
                                                     {"part", &P::part},
                                                     {"parallel", &P::parallel}};
    return fields;
  }
};
using P = ElementwisePlan;

// A guess of a dynamic extent that is the only one.
constexpr int64_t kManyElements = 1 << 20;
// Iterations of a short axis that are written out.
constexpr int64_t kMostUnrolled = 8;

// What the plans depend on.
struct Elements {
  size_t axis = 0;              // along which all accesses are contiguous
  std::optional<size_t> outer;  // the one outside of it, along which they are regular
  int64_t apart = 0;            // accesses that are strided along that
  int64_t count = 1;            // of elements; a guess where an extent is dynamic
  int64_t row = 1;              // of these along the axis
  int64_t register_lanes = 0;
  double register_cycles = 0;
  bool one_axis = false;  // a dynamic one, and there are threads
  bool dynamic = false;   // one of the two
};

// How an access runs along an axis: nothing where that is irregular.
enum class Run { kSame, kContiguous, kApart };
std::optional<Run> RunAlong(const BlockAccess& access, const VarNode* axis) {
  Run run = Run::kSame;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    const Expr& index = access.indices[d];
    if (!ir::UsesVar(index, axis)) continue;
    if (index.get() != axis || run != Run::kSame) return {};
    bool last = d + 1 == access.indices.size() && access.buffer->strides.empty();
    run = last ? Run::kContiguous : Run::kApart;
  }
  return run;
}

// Vectors along the axis outside of the contiguous one: its index is the last but one where results
// are stored.
void FindOuterAxis(const BlockInfo& block, const LoopRefs& spatial, Elements* elements) {
  const BlockAccess& result = block.accesses[0];
  if (result.indices.size() < 2 || block.conditional) return;
  for (size_t a = 0; a < block.axes.size(); ++a) {
    const BlockAxis& axis = block.axes[a];
    if (result.indices[result.indices.size() - 2].get() != axis.var.get() || axis.decides ||
        !Contains(spatial, axis.loop))
      continue;
    int64_t apart = 0;
    for (const BlockAccess& access : block.accesses) {
      std::optional<Run> run = RunAlong(access, axis.var.node());
      if (!run || (access.store && *run == Run::kSame)) return;
      // The distance of what is loaded is known.
      if (!access.store && *run == Run::kApart &&
          !ir::AsConstInt(block.axes[elements->axis].extent))
        return;
      apart += *run == Run::kApart;
    }
    elements->outer = a;
    elements->apart = apart;
    elements->dynamic =
        !ir::AsConstInt(axis.extent) || !ir::AsConstInt(block.axes[elements->axis].extent);
  }
}

Elements RequireElements(const Schedule& schedule, const BlockInfo& block,
                         const TargetInfo& target) {
  LoopRefs spatial = RequireLoops(schedule, block).spatial;
  Elements elements;
  elements.axis = RequireVectorAxis(block, RequireLoops(schedule, block));
  const BlockAxis& axis = block.axes[elements.axis];
  if (LanesFor(block, elements.axis, target, 2) == 0)
    Refuse("fewer than two elements along axis " + axis.var.name() + " fit in a vector");
  FindOuterAxis(block, spatial, &elements);
  bool dynamic = !ir::AsConstInt(axis.extent);
  elements.one_axis = dynamic && spatial.size() == 1 && target.threads != 1;
  for (size_t a = 0; a < block.axes.size(); ++a) {
    int64_t likely = a != elements.axis      ? kUnknownExtent
                     : target.likely_columns ? target.likely_columns
                     : elements.one_axis     ? kManyElements
                                             : kUnknownExtent;
    int64_t extent = std::max<int64_t>(ir::AsConstInt(block.axes[a].extent).value_or(likely), 1);
    if (a == elements.axis) elements.row = extent;
    elements.count *= extent;
  }
  BlockInfo any = block;
  any.axes[elements.axis].extent = ir::MakeConst(DataType::Int(64), kManyElements);
  elements.register_lanes = LanesFor(any, elements.axis, target, 1);
  auto stores = std::count_if(block.accesses.begin(), block.accesses.end(),
                              [](const BlockAccess& access) { return access.store; });
  int64_t loads = std::ssize(block.accesses) - stores,
          arithmetic = CountArithmetic(schedule.At(block.ref));
  elements.register_cycles =
      std::max({static_cast<double>(arithmetic) / static_cast<double>(target.fma_per_cycle),
                static_cast<double>(loads) / static_cast<double>(target.loads_per_cycle),
                static_cast<double>(stores)});
  return elements;
}

void SetCost(const Elements& elements, const TargetInfo& target, P* plan) {
  double a = elements.register_cycles;
  auto count = static_cast<double>(elements.count), row = static_cast<double>(elements.row);
  auto vectors = [&](int64_t number) { return static_cast<double>(CeilDiv(number, plan->vector)); };
  double vector_cycles =
      static_cast<double>(CeilDiv(plan->vector, elements.register_lanes)) * a + 1;
  if (plan->outer) {
    plan->cycles = count / static_cast<double>(plan->vector) *
                   (vector_cycles + static_cast<double>(elements.apart * plan->vector));
  } else {
    int64_t tail = plan->mask ? 0 : elements.row % plan->vector;
    plan->cycles = count / row *
                   (vectors(elements.row - tail) * vector_cycles +
                    static_cast<double>(std::popcount(static_cast<uint64_t>(tail))) * a);
  }
  if (plan->part)
    plan->cycles = plan->cycles / static_cast<double>(target.likely_threads) +
                   static_cast<double>(target.thread_start_cycles);
}

std::vector<P> ElementwisePlans(Schedule* schedule, const BlockInfo& block,
                                const TargetInfo& target, const Wanted<P>& want) {
  Elements elements = RequireElements(*schedule, block, target);
  std::vector<P> plans;
  auto add = [&](int64_t vector, int64_t outer, int64_t mask, int64_t part) {
    P plan;
    plan.vector = vector;
    plan.outer = outer;
    plan.mask = mask;
    plan.part = part;
    if (part > 0) plan.parallel = 1;
    if (part < 0 || part % vector != 0) return;
    SetCost(elements, target, &plan);
    plans.push_back(plan);
  };
  bool masks = VectorTail(block.axes[elements.axis].extent) == TailStrategy::kMask;
  int64_t mask = std::clamp<int64_t>(want.Or(&P::mask, masks), 0, 1);
  for (int64_t lanes = LanesFor(block, elements.axis, target, 2); lanes >= kMinLanes; lanes /= 2) {
    // As many as make an operation worth a thread.
    int64_t part = lanes * std::max<int64_t>(target.thread_start_operations /
                                                 std::max<int64_t>(block.operations, 1) / lanes,
                                             1);
    if (elements.one_axis) add(lanes, 0, mask, want.Or(&P::part, part));
    add(lanes, 0, mask, 0);
  }
  if (elements.outer)
    for (int64_t lanes = LanesFor(block, *elements.outer, target, 1); lanes >= kMinLanes;
         lanes /= 2)
      add(lanes, 1, elements.dynamic ? 1 : 0, 0);
  return plans;
}

// Splits a loop by vectors, whose lanes become the innermost of all, and vectorizes them.
void ApplyElementwise(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                      P* chosen) {
  const P& plan = *chosen;
  Elements elements = RequireElements(*schedule, block, target);
  BlockRef own = block.ref;
  LoopRefs loops = RequireLoops(*schedule, block).spatial;
  int64_t work = WorkOf(*schedule, block.ref);
  const LoopRef& row = block.axes[elements.axis].loop;
  TailStrategy tail = plan.mask ? TailStrategy::kMask : TailStrategy::kLoop;
  MakeInnermost(schedule, own, row, &loops);
  if (plan.part) {
    Schedule::Names names;
    for (const char* part : {"_p", "_o", "_i"})
      names.push_back(FreshLoopName(*schedule, row + part));
    auto [parts, vectors, lanes] =
        schedule->Split(row.Of(own), {plan.part / plan.vector, plan.vector}, names, tail);
    schedule->Vectorize(lanes.Of(own));
    schedule->Parallel(parts.Of(own));
    return chosen->SetParallel(1);
  }
  const LoopRef& loop = plan.outer ? block.axes[*elements.outer].loop : row;
  // Elements that are apart are not masked: a vector of them is stored one by one.
  CopyRef copy;
  if (plan.outer && plan.mask)
    copy = schedule->CacheWrite(own, block.accesses[0].buffer, StorageScope::kLocal);
  Lanes split = SplitLanes(schedule, own, loop, plan.vector, tail);
  if (plan.outer) {
    LoopRefs order;
    for (const LoopRef& one : loops) {
      if (one != loop) order.push_back(one);
      if (one == loop && split.outer) order.push_back(split.outer);
    }
    order.push_back(split.inner);
    schedule->Reorder(order.Of(own));
    std::optional<int64_t> extent = ir::AsConstInt(block.axes[elements.axis].extent);
    if (copy)
      schedule->ReverseComputeAt(copy, order[order.size() - 2].Of(own));
    else if (extent && *extent <= kMostUnrolled)
      schedule->Unroll(row.Of(own));
  }
  schedule->Vectorize(split.inner.Of(own));
  ParallelizeOuter(schedule, block.ref, work, target, chosen);
}

}  // namespace

void RegisterHostElementwiseRule() {
  using K = BlockKind;
  RegisterRule({.name = "vectorize_elementwise",
                .description = "vectors along the contiguous axis, or along the one outside of it",
                .kinds = {K::kElementwise, K::kBroadcast, K::kInjective, K::kGather},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 10,
                .planned = Planned<ElementwisePlan>(ElementwisePlans, ApplyElementwise)});
}

}  // namespace tern::schedule
