// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/winograd_plan.h"

#include <algorithm>
#include <numeric>

#include "tern/schedule/cook_toom.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/register_tiles.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Cycles for an element that is copied to another place, or read by itself.
constexpr double kCopyCycles = 1;
// Points of a window, and results: errors grow with them.
constexpr int64_t kFewPoints = 6, kMostResults = 4;
// Tiles that a thread takes at least, and in how many parts they are shared out.
constexpr int64_t kThreadTiles = 14, kParts = 32;

int64_t Product(const std::vector<int64_t>& numbers) {
  int64_t product = 1;
  for (int64_t number : numbers) product *= number;
  return product;
}

// The shape of a buffer, where that is known but for one dimension; 0 where that is not.
std::optional<std::vector<int64_t>> ShapeOf(const Schedule& schedule, const CopyRef& made,
                                            size_t maybe_dynamic) {
  std::vector<int64_t> shape;
  for (const Expr& extent : schedule.BufferAt(made.buffer())->shape) {
    std::optional<int64_t> known = ir::AsConstInt(extent);
    if (!known && shape.size() != maybe_dynamic) return {};
    shape.push_back(known.value_or(0));
  }
  return shape;
}

// Of one tile and a vector of channels: the matrices that each window is transformed by, in turn.
double TransformCycles(const WinogradShape& shape, const TargetInfo& target, bool back) {
  std::vector<int64_t> sizes = shape.points;
  double cycles =
      static_cast<double>(shape.all_points()) / static_cast<double>(target.loads_per_cycle);
  for (int64_t k = 0; k < shape.rank(); ++k) {
    WinogradTransforms filter = MakeWinogradTransforms(shape.m, shape.Window(k));
    int64_t others = Product(sizes) / sizes[k];
    cycles += static_cast<double>(CountOperations(back ? filter.result : filter.input) * others) /
              static_cast<double>(target.fma_per_cycle);
    if (back) sizes[k] = shape.m;
  }
  return cycles + static_cast<double>(Product(sizes));  // stores, one in a cycle
}

// Of reading or writing so many bytes, where half of L2 has no room for them.
double FarCycles(int64_t bytes, const TargetInfo& target) {
  return bytes > target.l2_bytes / 2
             ? static_cast<double>(bytes) / static_cast<double>(target.memory_bytes_per_cycle)
             : 0;
}

// Of transforming a tile of the input, and of the result.
struct TransformCost {
  double input, result;
};

void SetCost(const WinogradShape& shape, const TransformCost& transform, const TargetInfo& target,
             bool constant, WinogradPlan* plan) {
  int64_t block = plan->block ? plan->block : RoundUp(shape.tiles, plan->tile_m);
  int64_t blocks = CeilDiv(shape.tiles, block), all_tiles = blocks * block,
          vectors = plan->tile_n / plan->vector;
  auto tiles = static_cast<double>(all_tiles), lanes = static_cast<double>(plan->vector),
       r = static_cast<double>(plan->tile_m), v = static_cast<double>(vectors),
       fma = static_cast<double>(target.fma_per_cycle);
  int64_t panels = shape.outputs / plan->tile_n, row_tiles = all_tiles / plan->tile_m;
  auto steps = static_cast<double>(shape.all_points() * shape.channels * row_tiles * panels);
  double step = std::max({r * v / fma, (r + v) / static_cast<double>(target.loads_per_cycle),
                          static_cast<double>(target.fma_latency)});
  // Of tiles that take the same time, the one that loads less is better: a vector of weights is
  // more than an element of the input.
  double cycles = steps * step * (1 + (r + 2 * v) / (r * v) / 16);
  cycles += tiles * static_cast<double>(shape.channels) / lanes * transform.input;
  cycles += tiles * static_cast<double>(shape.outputs) / lanes * transform.result;
  int64_t results = Product(std::vector<int64_t>(shape.rank(), shape.m)) * shape.outputs;
  cycles += kCopyCycles *
            (static_cast<double>(Product(shape.input)) + tiles * static_cast<double>(results));
  cycles += FarCycles(shape.weights_bytes(), target) * static_cast<double>(blocks);
  // Written and read again, but for what is still there.
  double left =
      static_cast<double>(std::max<int64_t>(block * shape.tile_bytes() - target.l2_bytes / 2, 0));
  cycles +=
      2 * left / static_cast<double>(target.memory_bytes_per_cycle) * static_cast<double>(blocks);
  // Each weight by itself.
  if (!constant)
    cycles += kCopyCycles * static_cast<double>(shape.weights_count()) +
              FarCycles(shape.weights_bytes(), target);
  plan->cycles = cycles;
  plan->limit = static_cast<double>(shape.all_points() * shape.channels) *
                static_cast<double>(shape.tiles * shape.outputs) / lanes / fma;
}

// Where the batch is dynamic, a plan is for all of these.
constexpr int64_t kBatches[] = {1, 2, 4, 8, 16};

WinogradShape ImagesOf(const WinogradShape& one, int64_t count) {
  WinogradShape shape = one;
  shape.input[0] *= count;
  shape.tiles *= count;
  return shape;
}

// Plans for a dynamic batch, each with its cycles per image for the batches above. What counts is
// how much slower it is than the best one, of the batch where that is most.
void SetWorstCost(const std::vector<std::vector<double>>& cycles,
                  std::vector<WinogradPlan>* plans) {
  std::vector<double> best = cycles[0];
  for (const std::vector<double>& one : cycles)
    for (size_t i = 0; i < best.size(); ++i) best[i] = std::min(best[i], one[i]);
  double mean = std::accumulate(best.begin(), best.end(), 0.0) / static_cast<double>(best.size());
  for (size_t p = 0; p < plans->size(); ++p) {
    double worst = 1;
    for (size_t i = 0; i < best.size(); ++i) worst = std::max(worst, cycles[p][i] / best[i]);
    plans->at(p).cycles = worst * mean;
  }
}

// How many blocks of tiles there may be: as many as it takes for the transformed data of one to
// stay in L2, or fewer; with threads, some for each or a single one.
std::vector<int64_t> BlocksFor(const WinogradShape& shape, const TargetInfo& target) {
  int64_t fitting = std::max<int64_t>(target.l2_bytes / 2 / shape.tile_bytes(), 1),
          most = CeilDiv(shape.tiles, fitting);
  if (target.threads != 1)
    return {std::max({most, std::min(kParts, shape.tiles / kThreadTiles), int64_t{1}}), 1};
  std::vector<int64_t> all(most);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

}  // namespace

int64_t WinogradShape::all_points() const { return Product(points); }

const std::vector<PlanField<WinogradPlan>>& WinogradPlan::Fields() {
  using P = WinogradPlan;
  static const std::vector<PlanField<P>> fields = {{"m", &P::m},
                                                   {"tile_m", &P::tile_m},
                                                   {"tile_n", &P::tile_n},
                                                   {"vector", &P::vector},
                                                   {"block", &P::block},
                                                   {"share_block", &P::share_block},
                                                   {"parallel", &P::parallel}};
  return fields;
}

std::optional<WinogradShape> WinogradShapeOf(const Schedule& schedule, const CopyRefs& made,
                                             int64_t m) {
  auto input = ShapeOf(schedule, made[0], 0);
  if (!input) return {};
  size_t rank = input->size() - 2;
  auto left = ShapeOf(schedule, made[1], rank), right = ShapeOf(schedule, made[2], rank + 2);
  if (!left || !right) return {};
  WinogradShape shape{m, *input, {left->begin(), left->end() - 2}};
  shape.tiles = left->at(rank);
  const Buffer& tiles = schedule.BufferAt(made[1].buffer());
  shape.dynamic_batch = !ir::AsConstInt(tiles->shape[rank]);
  if (shape.dynamic_batch) {
    shape.input[0] = shape.tiles = 1;
    for (int64_t k = 0; k < shape.rank(); ++k) shape.tiles *= shape.TilesAlong(k);
  }
  shape.channels = left->back();
  shape.outputs = right->back();
  shape.bytes = schedule.BufferAt(made[0].buffer())->dtype.bytes();
  return shape;
}

std::vector<WinogradPlan> WinogradPlans(const Schedule& schedule, const BlockRef& block,
                                        const TargetInfo& target, int64_t lanes, bool constant,
                                        const Wanted<WinogradPlan>& want) {
  std::vector<WinogradPlan> plans;
  std::vector<std::vector<double>> batches;  // where the batch is dynamic, cycles of each plan
  for (int64_t m = 2; m <= kMostResults; ++m) {
    if (want.Or(&WinogradPlan::m, m) != m) continue;
    Schedule probe = schedule;
    CopyRefs made;
    if (!Try(&probe, [&](Schedule* attempt) { made = attempt->Winograd(block, m); })) continue;
    std::optional<WinogradShape> shape = WinogradShapeOf(probe, made, m);
    if (!shape || shape->channels % lanes != 0 || shape->outputs % lanes != 0) continue;
    if (*std::max_element(shape->points.begin(), shape->points.end()) > kFewPoints) continue;
    if (shape->tiles == 0 || shape->channels == 0 || shape->outputs == 0) continue;
    bool several = shape->dynamic_batch && target.least_batch > 1;
    int64_t least_tiles = shape->tiles * (several ? target.least_batch : 1);
    TransformCost transform{TransformCycles(*shape, target, false),
                            TransformCycles(*shape, target, true)};
    auto add = [&](WinogradPlan plan, int64_t size) {
      plan.block = want.Or(&WinogradPlan::block, size);
      bool is_all = plan.block == 0 && shape->dynamic_batch;
      if (!is_all && (plan.block <= 0 || plan.block % plan.tile_m != 0)) return;
      // Where threads have blocks of several images, none is of two: which one a tile is of would
      // be asked for each.
      if (several && !is_all && shape->tiles % plan.block != 0) return;
      plan.share_block = is_all || CeilDiv(least_tiles, plan.block) < 2 ? 1 : 0;
      if (shape->dynamic_batch) {
        std::vector<double>& cycles = batches.emplace_back();
        // Blocks are those of one image, which are best where they fill its rows of tiles.
        for (int64_t count : kBatches) {
          if (count < target.least_batch) continue;
          if (!is_all && !several) count = 1;
          SetCost(ImagesOf(*shape, count), transform, target, constant, &plan);
          cycles.push_back(plan.cycles / static_cast<double>(count));
        }
      }
      SetCost(*shape, transform, target, constant, &plan);
      plans.push_back(plan);
    };
    for (int64_t vectors = 1; vectors * lanes <= shape->outputs; ++vectors) {
      if (shape->outputs % (vectors * lanes) != 0) continue;
      int64_t most = std::min((target.vector_registers - 1 - vectors) / vectors, target.l1_ways);
      for (int64_t rows = 1; rows <= most; ++rows) {
        WinogradPlan plan;
        plan.m = m;
        plan.tile_m = rows;
        plan.tile_n = vectors * lanes;
        plan.vector = lanes;
        for (int64_t blocks : BlocksFor(*shape, target))
          add(plan, RoundUp(CeilDiv(shape->tiles, blocks), rows));
        if (shape->dynamic_batch) add(plan, 0);
      }
    }
  }
  if (!batches.empty()) SetWorstCost(batches, &plans);
  return plans;
}

double DirectConvolutionCycles(const BlockInfo& block, const TargetInfo& target, int64_t lanes) {
  double products = 1;
  int64_t weights = target.vector_bytes / lanes;
  for (const BlockAxis& axis : block.axes) {
    std::optional<int64_t> extent = ir::AsConstInt(axis.extent);
    if (!extent && axis.role == AxisRole::kBatch) extent = 1;
    if (!extent) return 0;
    products *= static_cast<double>(*extent);
    if (axis.kind == IterKind::kReduce || axis.role == AxisRole::kN) weights *= *extent;
  }
  return products / static_cast<double>(lanes) / static_cast<double>(target.fma_per_cycle) +
         FarCycles(weights, target);
}

}  // namespace tern::schedule
