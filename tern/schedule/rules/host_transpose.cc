// SPDX-License-Identifier: Apache-2.0
//
// transpose_in_registers: copies whose contiguous axes differ.
//
//   for r_o, c_o over up to 64 x 64 elements, parallel {
//     for r_t, c_t over lanes x lanes tiles { f32_transpose_lanes }   # loads, shuffles, stores
//   }
//   for the rows, and the columns, that fill no tile { ... }
//
// Declines where it is no plain copy, or an extent is shorter than a tile.
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/host_elementwise.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/tensor_intrinsic.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// The axes along which what is read, and what is written, is contiguous: two others.
struct Transposition {
  size_t read = 0, written = 0;
  DataType dtype;
};
std::optional<Transposition> TranspositionOf(const Schedule& schedule, const BlockInfo& block) {
  std::optional<LoopsByKind> loops = SortLoops(schedule, block);
  if (!loops || !loops->reduce.empty() || block.conditional || block.accesses.size() != 2)
    return {};
  Transposition result;
  result.dtype = block.accesses[0].buffer->dtype;
  for (const BlockAccess& access : block.accesses) {
    if (!access.by_axes || access.axes.size() != block.axes.size() ||
        access.buffer->dtype != result.dtype || !block.axes[access.axes.back()].loop)
      return {};
    (access.store ? result.written : result.read) = access.axes.back();
  }
  if (result.read == result.written) return {};
  return result;
}

// "f32_transpose_16"
std::string TransposeIntrinsic(DataType dtype, int64_t lanes) {
  std::string kind = dtype.is_bfloat16() ? "bf"
                     : dtype.is_float()  ? "f"
                     : dtype.is_uint()   ? "u"
                                         : "i";
  return kind + std::to_string(dtype.bits()) + "_transpose_" + std::to_string(lanes);
}

struct TransposePlan : HostPlan {
  int64_t tile = 0;               // lanes, and rows, of what is transposed in registers
  int64_t rows = 0, columns = 0;  // tiles along what is read, and written, that stay in L1

  static const std::vector<PlanField<TransposePlan>>& Fields() {
    using P = TransposePlan;
    static const std::vector<PlanField<P>> fields = {{"tile", &P::tile},
                                                     {"rows", &P::rows},
                                                     {"columns", &P::columns},
                                                     {"parallel", &P::parallel}};
    return fields;
  }
};

// A vector of a tile is loaded, shuffled and stored; what fills no tile is moved one by one.
// Refuses where all that is copied would be.
std::vector<TransposePlan> TransposePlans(Schedule* schedule, const BlockInfo& block,
                                          const TargetInfo& target,
                                          const Wanted<TransposePlan>& want) {
  constexpr double kVectorCycles = 3, kElementCycles = 1.5;
  constexpr int64_t kMostTogether = 4, kMostElements = 64;
  std::optional<Transposition> axes = TranspositionOf(*schedule, block);
  if (!axes)
    Refuse(
        "it is no copy that is contiguous along one axis where it is read and along another where "
        "it is written");
  auto extent = [&](size_t axis) { return ir::AsConstInt(block.axes[axis].extent); };
  auto together = [&](size_t axis, int64_t tile) {
    int64_t count = extent(axis).value_or(tile) / tile, number = kMostTogether;
    while (count % number != 0 || number * tile > kMostElements) number /= 2;
    return number;
  };
  auto fits = [&](size_t axis, int64_t tile, int64_t number) {
    return number > 0 && extent(axis).value_or(number * tile) / tile % number == 0;
  };
  int64_t rows = extent(axes->read).value_or(kUnknownExtent),
          columns = extent(axes->written).value_or(kUnknownExtent);
  double single = kElementCycles * static_cast<double>(rows * columns);
  std::vector<TransposePlan> plans;
  for (int64_t tile : {16, 8, 4}) {
    if (tile * axes->dtype.bytes() > target.vector_bytes ||
        !FindTensorIntrinsic(TransposeIntrinsic(axes->dtype, tile)))
      continue;
    int64_t inside = rows / tile * tile * (columns / tile * tile);
    TransposePlan plan;
    plan.tile = tile;
    plan.rows = want.Or(&TransposePlan::rows, together(axes->read, tile));
    plan.columns = want.Or(&TransposePlan::columns, together(axes->written, tile));
    plan.cycles = kVectorCycles * static_cast<double>(inside) / static_cast<double>(tile) +
                  kElementCycles * static_cast<double>(rows * columns - inside);
    if (plan.cycles < single && fits(axes->read, tile, plan.rows) &&
        fits(axes->written, tile, plan.columns))
      plans.push_back(plan);
  }
  if (plans.empty() && !want.is_asked())
    Refuse("there are no tiles of such vectors, or they are larger than what is copied");
  return plans;
}

// The loop of an axis, as far as it fills tiles; the iterations behind are a block of their own,
// along whose contiguous memory the other axis runs outside.
LoopRef CutOffTail(Schedule* schedule, const BlockRef& block, const BlockAxis& axis, int64_t tile,
                   const TargetInfo& target) {
  const LoopRef& loop = axis.loop;
  if (Divides(tile, axis.extent)) return loop;
  // The loop first, or last.
  auto order = [&](const BlockRef& of, const LoopRef& chosen, bool is_last) {
    LoopRefs others;
    for (const ForNode* other : NestOf(schedule->tree(), schedule->At(of)).loops)
      if (LoopRef(other) != chosen) others.emplace_back(other);
    others.insert(is_last ? others.end() : others.begin(), chosen);
    schedule->Reorder(others.Of(of));
  };
  order(block, loop, false);
  std::optional<int64_t> extent = ir::AsConstInt(axis.extent);
  auto [tiles, rest] = schedule->LoopPartition(
      loop.Of(block),
      extent ? Expr(*extent / tile * tile) : ir::FloorDiv(axis.extent, Expr(tile)) * Expr(tile),
      {FreshLoopName(*schedule, loop + "_f"), FreshLoopName(*schedule, loop + "_r")});
  BlockRef behind = schedule->RefTo(BlocksIn(schedule->At(rest)->body)[0]);
  order(behind, rest, true);
  ParallelizeOuter(schedule, behind, WorkOf(*schedule, behind), target);
  return tiles;
}

void TransposeTiles(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                    TransposePlan* chosen) {
  const TransposePlan& plan = *chosen;
  std::optional<Transposition> axes = TranspositionOf(*schedule, block);
  int64_t work = WorkOf(*schedule, block.ref);
  BlockRef copy = block.ref;
  LoopRefs order, tiles[2];
  for (size_t axis : {axes->read, axes->written}) {
    LoopRef loop = CutOffTail(schedule, copy, block.axes[axis], plan.tile, target);
    bool is_read = axis == axes->read;
    Schedule::Names names;
    for (const char* part : {"_o", "_t", "_i"})
      names.push_back(FreshLoopName(*schedule, block.axes[axis].loop + part));
    tiles[is_read ? 0 : 1] =
        schedule->Split(loop.Of(copy), {is_read ? plan.rows : plan.columns, plan.tile}, names);
  }
  for (const ForNode* loop : NestOf(schedule->tree(), schedule->At(copy)).loops)
    if (!Contains(tiles[0], LoopRef(loop)) && !Contains(tiles[1], LoopRef(loop)))
      order.emplace_back(loop);
  for (size_t i = 0; i < 3; ++i) order.insert(order.end(), {tiles[0][i], tiles[1][i]});
  schedule->Reorder(order.Of(copy));
  ParallelizeOuter(schedule, block.ref, work, target, chosen);
  if (!schedule->tree().Has(tiles[0][2])) Refuse("threads have the loops of a tile");
  schedule->Tensorize(tiles[0][2].Of(copy), TransposeIntrinsic(axes->dtype, plan.tile));
}

}  // namespace

void RegisterHostTransposeRule() {
  using K = BlockKind;
  RegisterRule({.name = "transpose_in_registers",
                .description = "tiles transposed by shuffles in registers",
                .kinds = {K::kInjective},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 20,
                .planned = Planned<TransposePlan>(TransposePlans, TransposeTiles)});
}

}  // namespace tern::schedule
