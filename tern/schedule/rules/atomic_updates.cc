// SPDX-License-Identifier: Apache-2.0
//
// Updates that may collide: H[index[i]] += x, and other operators (+ - min max & | ^). Integers, or
// floats with `reassociate`: the order is that in which threads come.
//
// atomic_updates, on devices, where the result is small:
//
//   for rows, i / (T * steps)          blockIdx.x; rows: axes that index the result by themselves
//     copy = identity                  shared memory, threadIdx.x
//     for steps, T                     threadIdx.x: coalesced
//       atomic: copy[index[i]] += x
//     atomic: H[row] += copy           threadIdx.x, what was updated
//
// and elsewhere a thread for each update, the contiguous axis of the result innermost. So are rows
// that are added, where copies of theirs would leave most of the device idle:
//
//   for i, j / T (blockIdx.x), T (threadIdx.x)   atomic: H[index[i], j] += x
//
// private_copies, on hosts, of integers: each thread has a copy of the whole result on its stack.
//
//   for i / part, parallel             up to 16 parts of 16,384 updates or more
//     copy = identity
//     for part                         copy[index[i]] += x
//     atomic: H += copy
//
// Cost: an update is a load and a store of its element, and waits for the one before where both are
// of one; each element of a copy is set, and added by an atomic operation.
//
//   cycles = updates * 2 / threads + parts / threads * elements * 20 + thread_start_cycles
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_threads.h"
#include "tern/tir/analysis/commuting_update.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// A copy is no larger than that; each of its elements is updated so often, on average.
constexpr int64_t kMostCopyBytes = 1 << 14, kUpdatesOfElement = 8;
// Updates of a thread, so that copies are few.
constexpr int64_t kLeastSteps = 32;
// Of a host: parts, and updates of one; a guess of updates.
constexpr int64_t kMostParts = 16, kLeastPart = 1 << 14, kManyUpdates = 1 << 20;

struct CopiesPlan : HostPlan {
  int64_t parts = 0;  // at most
  int64_t part = 0;   // updates of one, at least

  static const std::vector<PlanField<CopiesPlan>>& Fields() {
    using P = CopiesPlan;
    static const std::vector<PlanField<P>> fields = {
        {"parts", &P::parts}, {"part", &P::part}, {"parallel", &P::parallel}};
    return fields;
  }
};

struct AtomicPlan : PlanCost {
  int64_t threads = 0;  // of a block
  int64_t steps = 0;    // updates of a thread on a copy in shared memory; 0: no copies

  static const std::vector<PlanField<AtomicPlan>>& Fields() {
    using P = AtomicPlan;
    static const std::vector<PlanField<P>> fields = {{"threads", &P::threads},
                                                     {"steps", &P::steps}};
    return fields;
  }
};

struct Updates {
  LoopRefs rows, others;    // loops; the first index the result by themselves
  int64_t elements = 1;     // of the result that the others reach; 0: not known
  int64_t count = 1;        // of updates of these; 0: not known
  bool contiguous = false;  // the last of the others is along neighbours in the result
};

// Refuses where it is no update, or one that collides with no other.
Updates Match(const Schedule& schedule, const BlockInfo& block) {
  const BlockNode* node = schedule.At(block.ref);
  std::optional<CommutingUpdate> update = FindCommutingUpdate(node->body);
  if (!update || update->is_atomic() || node->init)
    Refuse("it is no update A[i] = A[i] op x, with op one of +, -, min, max, &, | and ^");
  if (std::string why = update->WhyNotAtomic(); !why.empty()) Refuse(why);
  if (update->buffer->dtype.is_float()) RequireReassociate(schedule);
  Nest nest = NestOf(schedule.tree(), node);
  if (!nest.around.empty())
    Refuse("loop " + nest.around[0]->var.name() + " holds more than block " + block.name);
  Updates updates;
  LoopRef last;
  bool meet = false, own = false;
  std::vector<bool> by_row(update->indices.size());
  for (const ForNode* loop : nest.loops) {
    auto axis = std::find_if(block.axes.begin(), block.axes.end(),
                             [&](const BlockAxis& a) { return a.loop == LoopRef(loop); });
    if (axis == block.axes.end())
      Refuse("loop " + loop->var.name() + " is not the own loop of an axis");
    const std::vector<Expr>& indices = update->indices;
    auto index = std::find_if(indices.begin(), indices.end(),
                              [&](const Expr& e) { return e.get() == axis->var.get(); });
    meet |= index == indices.end();
    own |= index != indices.end();
    bool is_last = index != indices.end() && index + 1 == indices.end();
    if (is_last) last = axis->loop;
    bool row = index != indices.end() && !is_last;
    if (row) by_row[static_cast<size_t>(index - indices.begin())] = true;
    if (!row && !is_last) updates.others.push_back(axis->loop);
    if (row) updates.rows.push_back(axis->loop);
    if (!row) updates.count *= ConstExtent(*axis);
  }
  if (!meet) Refuse("no two of its instances update one element");
  if (own && block.kind == BlockKind::kReduction)
    Refuse("results are as many as threads, or the order of one's steps does not matter");
  updates.contiguous = bool(last);
  if (updates.contiguous) updates.others.push_back(last);
  for (size_t d = 0; d < update->indices.size(); ++d)
    if (!by_row[d]) updates.elements *= ir::AsConstInt(update->buffer->shape[d]).value_or(0);
  if (updates.elements * update->buffer->dtype.bytes() > kMostCopyBytes) updates.elements = 0;
  return updates;
}

// The loops in the order of rows and others.
void OrderLoops(Schedule* schedule, const BlockRef& block, const Updates& updates) {
  LoopRefs order = updates.rows;
  order.insert(order.end(), updates.others.begin(), updates.others.end());
  if (order.size() > 1) schedule->Reorder(order.Of(block));
}

// Updates of a thread on a copy, so that there are some for each of its elements.
int64_t StepsOf(const Updates& updates, int64_t threads) {
  return std::max(kLeastSteps, updates.elements * kUpdatesOfElement / threads);
}

// Whether copies are no worse than threads that update rows in memory, neighbours by neighbours:
// these meet seldom, and all of the device has some.
bool FillsDevice(const Updates& updates, int64_t threads, const TargetInfo& target) {
  if (!updates.contiguous) return true;
  int64_t steps = StepsOf(updates, threads);
  return updates.count == 0 ? steps == kLeastSteps
                            : updates.count >= target.busy_blocks * threads * steps;
}

void UpdateInCopies(Schedule* schedule, const BlockRef& block, const Updates& updates,
                    const AtomicPlan& plan) {
  LoopRefs rows = updates.rows;
  LoopRef inner = FuseLoops(schedule, block, updates.others);
  Schedule::Names names;
  for (const char* suffix : {"_o", "_s", "_t"})
    names.push_back(FreshLoopName(*schedule, inner + suffix));
  auto [parts, serial, thread] =
      schedule->Split(inner.Of(block), {plan.steps, plan.threads}, names, TailStrategy::kGuard);
  rows.push_back(parts);
  LoopRef group = FuseLoops(schedule, block, rows);
  schedule->Bind(group.Of(block), kBlockX);
  schedule->Bind(thread.Of(block), kThreadX);
  schedule->Privatize(block, group.Of(block), StorageScope::kShared,
                      FreshBlockName(*schedule, block + "_copy"));
}

// Refuses where the target has no such operation.
void RequireAtomic(const CommutingUpdate& update, const TargetInfo& target) {
  const auto& takes = target.target->kind->takes_call;
  Stmt stmt = update.AsAtomic(update.buffer, update.indices, update.value);
  const auto* call = stmt.As<EvaluateNode>()->value.As<ir::CallNode>();
  if (takes && !takes(call))
    Refuse("the target has no " + call->name + " of " + update.buffer->dtype.str());
}

// An update of an element in memory, or in shared memory, which threads that meet wait for; and
// each element of a copy.
std::vector<AtomicPlan> DevicePlans(Schedule* schedule, const BlockInfo& block,
                                    const TargetInfo& target, const Wanted<AtomicPlan>& want) {
  constexpr double kMemoryCycles = 8, kSharedCycles = 1, kElementCycles = 8;
  Updates updates = Match(*schedule, block);
  RequireAtomic(*FindCommutingUpdate(schedule->At(block.ref)->body), target);
  AtomicPlan plan;
  plan.threads = want.Or(&AtomicPlan::threads, std::min(kBlockThreads, target.max_threads));
  if (plan.threads < 1 || plan.threads > target.max_threads) return {};
  bool often = updates.count == 0 || updates.count >= kUpdatesOfElement * updates.elements,
       copies = updates.elements > 0 && often && FillsDevice(updates, plan.threads, target);
  plan.steps = want.Or(&AtomicPlan::steps, copies ? StepsOf(updates, plan.threads) : int64_t{0});
  if (plan.steps < 0 || (plan.steps > 0 && updates.elements == 0)) return {};
  auto count = static_cast<double>(updates.count > 0 ? updates.count : kManyUpdates),
       processors = static_cast<double>(target.busy_blocks);
  plan.cycles = count / processors * (plan.steps ? kSharedCycles : kMemoryCycles);
  if (plan.steps)
    plan.cycles += count / static_cast<double>(plan.steps * plan.threads) / processors *
                   static_cast<double>(updates.elements) * kElementCycles;
  return {plan};
}

void UpdateOnDevice(Schedule* schedule, const BlockInfo& block, const TargetInfo&,
                    const AtomicPlan& plan) {
  Updates updates = Match(*schedule, block);
  BlockRef name = block.ref;
  schedule->AtomicUpdate(name);
  OrderLoops(schedule, name, updates);
  if (plan.steps) return UpdateInCopies(schedule, name, updates, plan);
  LoopRefs all = updates.rows;
  all.insert(all.end(), updates.others.begin(), updates.others.end());
  SpreadOverThreads(schedule, name, FuseLoops(schedule, name, all), plan.threads);
}

std::vector<CopiesPlan> HostPlans(Schedule* schedule, const BlockInfo& block,
                                  const TargetInfo& target, const Wanted<CopiesPlan>& want) {
  constexpr double kUpdateCycles = 2, kElementCycles = 20;
  if (target.threads == 1) Refuse("there is one thread");
  Updates updates = Match(*schedule, block);
  const BlockNode* node = schedule->At(block.ref);
  if (FindCommutingUpdate(node->body)->buffer->dtype.is_float())
    Refuse("floats would be summed in the order in which threads come");
  if (!updates.rows.empty()) Refuse("there are rows, which are a thread's each");
  if (updates.elements == 0) Refuse("the result is too large for copies, or of dynamic size");
  CopiesPlan plan;
  plan.parts = want.Or(&CopiesPlan::parts, kMostParts);
  plan.part = want.Or(&CopiesPlan::part, kLeastPart);
  plan.parallel = 1;
  if (plan.parts < 1 || plan.part < 1) return {};
  int64_t count = updates.count ? updates.count : kManyUpdates;
  if (updates.count > 0 && count < 2 * plan.part) Refuse("there are too few updates");
  auto parts = static_cast<double>(std::min(plan.parts, count / plan.part)),
       threads = std::min(parts, static_cast<double>(target.likely_threads));
  plan.cycles = (static_cast<double>(count) * kUpdateCycles +
                 parts * static_cast<double>(updates.elements) * kElementCycles) /
                    std::max(threads, 1.0) +
                static_cast<double>(target.thread_start_cycles);
  return {plan};
}

void UpdateOnHost(Schedule* schedule, const BlockInfo& block, const TargetInfo&, CopiesPlan* plan) {
  Updates updates = Match(*schedule, block);
  BlockRef name = block.ref;
  schedule->AtomicUpdate(name);
  OrderLoops(schedule, name, updates);
  LoopRef loop = FuseLoops(schedule, name, updates.others);
  Expr extent = NestOf(schedule->tree(), schedule->At(name)).loops[0]->extent;
  Expr part = ir::MaxNode::Make(
      ir::CeilDiv(extent, ir::MakeConst(extent.dtype(), static_cast<double>(plan->parts))),
      ir::MakeConst(extent.dtype(), static_cast<double>(plan->part)));
  LoopRef parts = schedule->Split(
      loop.Of(name), {arith::Analyzer().Simplify(part)},
      {FreshLoopName(*schedule, loop + "_p"), FreshLoopName(*schedule, loop + "_i")})[0];
  schedule->Parallel(parts.Of(name));
  schedule->Privatize(name, parts.Of(name), StorageScope::kLocal,
                      FreshBlockName(*schedule, name + "_copy"));
  plan->SetParallel(1);
}

}  // namespace

void RegisterAtomicUpdateRules() {
  RegisterRule(
      {.name = "atomic_updates",
       .description = "atomic updates of a result, small ones in shared memory first",
       .kinds = {BlockKind::kScatter, BlockKind::kReduction, BlockKind::kScan, BlockKind::kOpaque},
       .fits = [](const TargetInfo& target) { return target.has_shared_memory(); },
       .priority = 4,
       .planned = Planned<AtomicPlan>(DevicePlans, UpdateOnDevice)});
}

void RegisterPrivateCopyRules() {
  RegisterRule({.name = "private_copies",
                .description = "parts of the updates on copies of the result, one per thread",
                .kinds = {BlockKind::kScatter, BlockKind::kScan},
                .fits = [](const TargetInfo& target) { return !target.is_device; },
                .priority = 4,
                .planned = Planned<CopiesPlan>(HostPlans, UpdateOnHost)});
}

}  // namespace tern::schedule
