// SPDX-License-Identifier: Apache-2.0
//
// parallel_scan: one long scan, by an operator that may be combined in parts (integers, or
// `reassociate`), on several threads:
//
//   for p, parallel: totals[p] = X[p * 16384] op ..      # vector accumulators
//   for p: carries[p] = carries[p - 1] op totals[p - 1]
//   for p, parallel: for r in 16384: Y[p, r] = X[p, r] op (Y[p, r - 1], or carries[p])
//
// Declines scans of rows, which are threads' each (parallel_loops), and short ones.
//
// vectorize_steps: a block whose outer loops run in order, and the innermost one along contiguous
// memory in any, as updates of rows at indices that may be the same:
//
//   for j_p, parallel { for i (scan) { for j_o { for j_i in 2 * lanes vectorized { block } } } }
//
// A thread takes all steps of its 1024 columns, so that threads meet once. Up to as many columns,
// and few operations in all, stay on one thread; of a dynamic number the innermost loop is plain.
// Declines where the innermost loop is not that of a contiguous spatial axis, or an outer one is
// spatial: its iterations are threads' (parallel_loops).
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/host_reductions.h"
#include "tern/schedule/rules/loops.h"
#include "tern/tir/analysis/scan_update.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Elements of a part: 64 KiB of int32, which are still in L2 when a thread comes back to them.
constexpr int64_t kPart = 1 << 14;
// Columns of a part: as long as what hardware prefetches of a row.
constexpr int64_t kColumns = 1024;

void ScanParts(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  if (target.threads == 1) Refuse("there is one thread");
  const std::string& name = block.name;
  const BlockNode* node = FindBlockNamed(*schedule, name);
  std::optional<ScanUpdate> update = FindScanUpdate(node);
  if (!update)
    Refuse("it is no scan by +, *, min, max, && or ||: Y[v] = x op select(v > 0, Y[v - 1], start)");
  Nest nest = NestOf(schedule->tree(), node);
  if (!nest.around.empty() || nest.loops.size() != 1)
    Refuse("there is more than the one loop of the scan");
  std::optional<int64_t> length = ir::AsConstInt(nest.loops[0]->extent);
  if (length && *length < 4 * kPart) Refuse("there are too few steps");
  std::string loop = nest.loops[0]->var.name();
  Schedule::Names made = schedule->SplitScan(
      name, LoopOf(name, loop), kPart,
      {FreshBlockName(*schedule, name + "_totals"), FreshBlockName(*schedule, name + "_carries")});
  bool vectors = Try(schedule, [&](Schedule* attempt) {
    ReduceRows(attempt, DescribeBlock(FindBlockNamed(*attempt, made[0])), target);
  });
  for (const std::string& parts : {made[0], name}) {
    if (parts != name && vectors) continue;
    Nest parted = NestOf(schedule->tree(), FindBlockNamed(*schedule, parts));
    schedule->Parallel(LoopOf(parts, parted.loops[0]->var.name()));
  }
}

void VectorizeSteps(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  const std::string& name = block.name;
  Nest nest = NestOf(schedule->tree(), FindBlockNamed(*schedule, name));
  std::optional<size_t> axis = FindVectorAxis(block);
  if (!axis || nest.loops.size() < 2 || !nest.around.empty() ||
      nest.loops.back()->var.name() != block.axes[*axis].loop)
    Refuse("the innermost loop is not that of a spatial axis along contiguous memory");
  for (size_t i = 0; i + 1 < nest.loops.size(); ++i)
    if (UseOf(nest.block, nest.loops[i]->var.node()).spatial)
      Refuse("the iterations of loop " + nest.loops[i]->var.name() + " are independent");
  int64_t lanes = LanesFor(block, *axis, target, 2);
  if (lanes == 0) Refuse("fewer than two elements fit in a vector");
  const Expr& extent = block.axes[*axis].extent;
  std::string loop = block.axes[*axis].loop;
  std::optional<int64_t> work = block.operations;
  for (const ForNode* around : nest.loops) {
    std::optional<int64_t> count = ir::AsConstInt(around->extent);
    work = work && count ? std::optional(*work * *count) : std::nullopt;
  }
  bool is_small = work.value_or(kParallelOperations) < kParallelOperations;
  // A dynamic number of columns is left to the compiler of the code to vectorize: what a masked
  // vector stores has to reach memory before the next step loads it.
  bool vectors = ir::AsConstInt(extent).has_value();
  if (!vectors && target.threads == 1)
    Refuse("there is one thread, and the number of columns is dynamic");
  if (target.threads == 1 || is_small ||
      ir::AsConstInt(extent).value_or(2 * kColumns) <= kColumns) {
    Lanes split = SplitLanes(schedule, name, loop, lanes, VectorTail(extent));
    return schedule->Vectorize(LoopOf(name, split.inner));
  }
  Schedule::Names parts, order;
  for (const char* suffix : {"_p", "_o", "_i"})
    parts.push_back(FreshLoopName(*schedule, loop + suffix));
  std::vector<int64_t> factors = {std::max<int64_t>(kColumns / lanes, 1), lanes};
  if (!vectors) {
    parts.pop_back();
    factors = {kColumns};
  }
  schedule->Split(LoopOf(name, loop), factors, parts,
                  vectors ? TailStrategy::kMask : TailStrategy::kLoop);
  order.push_back(LoopOf(name, parts[0]));
  for (size_t i = 0; i + 1 < nest.loops.size(); ++i)
    order.push_back(LoopOf(name, nest.loops[i]->var.name()));
  schedule->Reorder(order);
  if (vectors) schedule->Vectorize(LoopOf(name, parts[2]));
  schedule->Parallel(LoopOf(name, parts[0]));
}

}  // namespace

void RegisterHostScanRules() {
  RegisterRule({.name = "vectorize_steps",
                .description = "steps in order, by vectors; threads take columns",
                .kinds = {BlockKind::kScan, BlockKind::kScatter},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 5,
                .apply = VectorizeSteps});
  RegisterRule({.name = "parallel_scan",
                .description = "parts of one long scan on several threads, from the totals before",
                .kinds = {BlockKind::kScan},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 10,
                .apply = ScanParts});
}

}  // namespace tern::schedule
