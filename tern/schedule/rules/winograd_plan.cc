// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/winograd_plan.h"

#include <algorithm>
#include <numeric>

#include "tern/schedule/cook_toom.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

using Names = Schedule::Names;

// What a core of the last years does in a cycle; a sum is ready for the next product some cycles
// later.
constexpr double kOperationsPerCycle = 2, kLoadsPerCycle = 2, kProductLatency = 4;
// Bytes that come from beyond the second cache in a cycle.
constexpr double kFarBytesPerCycle = 8;
// Cycles for an element that is copied to another place, or read by itself.
constexpr double kCopyCycles = 1;
// Points of a window, and results: errors grow with them.
constexpr int64_t kFewPoints = 6, kMostResults = 4;
// Rows that are read side by side: their places in a cache may be of one set, which has room for so
// many.
constexpr int64_t kMostRows = 8;
// Tiles that a thread takes at least, and in how many parts they are shared out.
constexpr int64_t kThreadTiles = 14, kParts = 32;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t Product(const std::vector<int64_t>& numbers) {
  int64_t product = 1;
  for (int64_t number : numbers) product *= number;
  return product;
}

// The shape of a buffer, where that is known.
std::optional<std::vector<int64_t>> ShapeOf(const Schedule& schedule, const std::string& name) {
  const AllocateNode* allocation = FindAllocation(schedule.function()->body, name);
  std::vector<int64_t> shape;
  for (const Expr& extent : allocation->buffer->shape) {
    const int64_t* known = ir::AsConstInt(extent);
    if (!known) return {};
    shape.push_back(*known);
  }
  return shape;
}

std::optional<WinogradShape> ShapeFor(const Schedule& schedule, const std::string& block,
                                      int64_t m) {
  Schedule probe = schedule;
  Names made;
  if (!Try(&probe, [&](Schedule* attempt) { made = attempt->Winograd(block, m); })) return {};
  auto image = ShapeOf(probe, made[0]), left = ShapeOf(probe, made[1]),
       right = ShapeOf(probe, made[2]);
  if (!image || !left || !right) return {};
  WinogradShape shape{m, *image, {left->begin(), left->end() - 2}};
  shape.tiles = left->at(left->size() - 2);
  shape.channels = left->back();
  shape.outputs = right->back();
  shape.bytes = FindAllocation(probe.function()->body, made[0])->buffer->dtype.bytes();
  return shape;
}

// Of one tile and a vector of channels: the matrices that each window is transformed by, in turn.
double TransformCycles(const WinogradShape& shape, bool back) {
  std::vector<int64_t> sizes = shape.points;
  double cycles = static_cast<double>(shape.all_points()) / kLoadsPerCycle;
  for (int64_t k = 0; k < shape.rank(); ++k) {
    MinimalFilter filter = MakeMinimalFilter(shape.m, shape.Window(k));
    int64_t others = Product(sizes) / sizes[k];
    cycles += static_cast<double>(CountOperations(back ? filter.result : filter.image) * others) /
              kOperationsPerCycle;
    if (back) sizes[k] = shape.m;
  }
  return cycles + static_cast<double>(Product(sizes));  // stores, one in a cycle
}

// Of a step of the sum, for tiles of `rows` by `vectors`.
double StepCycles(int64_t rows, int64_t vectors) {
  return std::max({static_cast<double>(rows * vectors) / kOperationsPerCycle,
                   static_cast<double>(rows + vectors) / kLoadsPerCycle, kProductLatency});
}

// Of reading or writing so many bytes, where half of the second cache has no room for them.
double FarCycles(int64_t bytes, const MachineFacts& facts) {
  return bytes > facts.l2_bytes / 2 ? static_cast<double>(bytes) / kFarBytesPerCycle : 0;
}

double CyclesOf(const WinogradPlan& plan, const MachineFacts& facts, bool constant) {
  const WinogradShape& shape = plan.shape;
  auto tiles = static_cast<double>(plan.tiles());
  int64_t panels = shape.outputs / plan.columns(), row_tiles = plan.tiles() / plan.rows;
  auto steps = static_cast<double>(shape.all_points() * shape.channels * row_tiles * panels);
  // Of tiles that take the same time, the one that loads less is better: a vector of weights is
  // more than a number of the image.
  double loads = static_cast<double>(plan.rows + 2 * plan.vectors) /
                 static_cast<double>(plan.rows * plan.vectors);
  double cycles = steps * StepCycles(plan.rows, plan.vectors) * (1 + loads / 16);
  auto lanes = static_cast<double>(plan.lanes);
  cycles += tiles * static_cast<double>(shape.channels) / lanes * TransformCycles(shape, false);
  cycles += tiles * static_cast<double>(shape.outputs) / lanes * TransformCycles(shape, true);
  int64_t results = Product(std::vector<int64_t>(shape.rank(), shape.m)) * shape.outputs;
  cycles += kCopyCycles *
            (static_cast<double>(Product(shape.image)) + tiles * static_cast<double>(results));
  cycles += FarCycles(shape.weights_bytes(), facts) * static_cast<double>(plan.blocks());
  // Written and read again.
  cycles +=
      2 * FarCycles(plan.block * shape.tile_bytes(), facts) * static_cast<double>(plan.blocks());
  // Each number of the weights by itself.
  if (!constant)
    cycles += kCopyCycles * static_cast<double>(shape.weights_count()) +
              FarCycles(shape.weights_bytes(), facts);
  return cycles;
}

// How many blocks of tiles there may be: as many as it takes for what is made of one to stay in the
// second cache, or fewer; with threads, some for each or a single one.
std::vector<int64_t> BlocksFor(const WinogradShape& shape, const MachineFacts& facts) {
  int64_t fitting = std::max<int64_t>(facts.l2_bytes / 2 / shape.tile_bytes(), 1),
          most = CeilDiv(shape.tiles, fitting);
  if (facts.threads != 1)
    return {std::max({most, std::min(kParts, shape.tiles / kThreadTiles), int64_t{1}}), 1};
  std::vector<int64_t> all(most);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

}  // namespace

int64_t WinogradShape::all_points() const { return Product(points); }

WinogradPlan ChooseWinogradPlan(const Schedule& schedule, const std::string& block,
                                const MachineFacts& facts, int64_t lanes, bool constant) {
  WinogradPlan best;
  for (int64_t m = 2; m <= kMostResults; ++m) {
    std::optional<WinogradShape> shape = ShapeFor(schedule, block, m);
    if (!shape || shape->channels % lanes != 0 || shape->outputs % lanes != 0) continue;
    if (*std::max_element(shape->points.begin(), shape->points.end()) > kFewPoints) continue;
    if (shape->tiles == 0 || shape->channels == 0 || shape->outputs == 0) continue;
    for (int64_t vectors = 1; vectors * lanes <= shape->outputs; ++vectors) {
      if (shape->outputs % (vectors * lanes) != 0) continue;
      int64_t most = std::min((facts.vector_registers - 1 - vectors) / vectors, kMostRows);
      for (int64_t rows = 1; rows <= most; ++rows) {
        for (int64_t blocks : BlocksFor(*shape, facts)) {
          WinogradPlan plan{*shape, lanes, rows, vectors};
          plan.block = CeilDiv(CeilDiv(shape->tiles, blocks), rows) * rows;
          plan.cycles = CyclesOf(plan, facts, constant);
          if (plan.cycles < best.cycles) best = plan;
        }
      }
    }
  }
  best.apart = best.block > 0 && best.blocks() < 2;
  return best;
}

double DirectConvolutionCycles(const BlockInfo& block, const MachineFacts& facts, int64_t lanes) {
  double products = 1;
  int64_t weights = facts.vector_bytes / lanes;
  for (const BlockAxis& axis : block.axes) {
    const int64_t* extent = ir::AsConstInt(axis.extent);
    if (!extent) return 0;
    products *= static_cast<double>(*extent);
    if (axis.kind == IterKind::kReduce || axis.role == AxisRole::kN) weights *= *extent;
  }
  return products / static_cast<double>(lanes) / kOperationsPerCycle + FarCycles(weights, facts);
}

}  // namespace tern::schedule
