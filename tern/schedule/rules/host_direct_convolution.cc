// SPDX-License-Identifier: Apache-2.0
//
// direct_convolution: convolutions and pooling whose output pixels are contiguous (NCHW).
//
//   input[c, flat] = padded X, its spatial dims flattened to one     # flatten_spatial
//   for b, groups, parallel { for jo in pixels / tile_n { for io in O / tile_m {
//     acc[tile_m, tile_n] = 0
//     for c { for dy, dx (unrolled up to 256 FMAs) {
//       for ii in tile_m unrolled { for jv unrolled { for ji vectorized {
//         acc[ii, jv, ji] += W[io, ii, c, dy, dx] * input[c, flat + dy * row + dx]
//     } } } } }
//     output = acc
//   } } }
//   Y = output without the pixels between rows                       # fused epilogue
//
// Cost, with v = tile_n / lanes: ceil(O / tile_m) * ceil(pixels / tile_n) *
//   max(tile_m * v / 2, (tile_m + 2 * v) / 2, 4) cycles per tap (2 FMAs and 2 loads a cycle,
//   unaligned vectors count as two loads, FMA latency 4). The last tile may have fewer channels.
//   And 2 * output / 8 cycles where L2 does not hold `output`. Else, where there are tiles of
//   channels for all threads, io is the outer loop (m_outer), and Y = output is in it.
// Declines: dynamic sizes, mixed types, neither float nor int32, tile_m < 4 of more than 8 outputs,
// windows of one element with as many outputs (implicit_gemm), at stride 1 four times as many
// outputs as K is long.
// Terms are combined in the order written.
#include <algorithm>
#include <map>

#include "tern/arith/linear.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/transform/loops/vectorize_loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Vectors of output pixels of a tile.
constexpr int64_t kMostVectors = 8;
// Taps of a window are unrolled where there are no more FMAs in them.
constexpr int64_t kMostUnrolled = 256;

// What a last tile of fewer channels costs beside its arithmetic: it is code of its own.
constexpr double kTailFactor = 1.05;
// Outputs, for each step of K, from which on implicit_gemm is faster at stride 1: 2 channels of 40
// x 40, 8 images, to 96 outputs, 3 x 3, take 267 us instead of 714 on two threads.
constexpr double kManyOutputs = 4;

// Tiles of channels for a thread, at least, where they are the outer loop.
constexpr int64_t kTilesOfThread = 2;

struct DirectConvolutionPlan : HostPlan {
  int64_t tile_m = 0, tile_n = 0;  // accumulators in registers: output channels, output pixels
  int64_t vector = 0;              // lanes, along pixels
  // 1: the loop over tiles of channels is outside of the pixels', and the results of one are copied
  // from L2; 0: all results are, from wherever they are.
  int64_t m_outer = 0;

  static const std::vector<PlanField<DirectConvolutionPlan>>& Fields() {
    using P = DirectConvolutionPlan;
    static const std::vector<PlanField<P>> fields = {{"tile_m", &P::tile_m},
                                                     {"tile_n", &P::tile_n},
                                                     {"vector", &P::vector},
                                                     {"m_outer", &P::m_outer},
                                                     {"parallel", &P::parallel}};
    return fields;
  }
};
using P = DirectConvolutionPlan;

// Cycles of all tiles at one tap of the window, the last of which may have fewer channels. Vectors
// are not aligned, so most are of two cache lines; of tiles that take the same time, the one that
// loads less is better.
double CyclesOf(const RegisterTile& tile, int64_t channels, int64_t pixels,
                const TargetInfo& target) {
  auto step = [&](int64_t rows) {
    auto r = static_cast<double>(rows), v = static_cast<double>(tile.vectors);
    double cycles = std::max({r * v / static_cast<double>(target.fma_per_cycle),
                              (r + 2 * v) / static_cast<double>(target.loads_per_cycle),
                              static_cast<double>(target.fma_latency)});
    return cycles * (1 + (r + 2 * v) / (r * v) / 16);
  };
  int64_t whole = channels / tile.m, tail = channels % tile.m;
  double all = static_cast<double>(whole) * step(tile.m);
  if (tail) all = (all + step(tail)) * kTailFactor;
  return all * static_cast<double>(CeilDiv(pixels, tile.n()));
}

// The loops of a flattened convolution.
struct Windows {
  LoopRef row;                                // output channels, or none
  LoopRef column;                             // output pixels
  int64_t rows = 1, columns = 0, images = 1;  // images: iterations of the other loops
  LoopRefs others, sums, windows;  // other spatial loops; input channels; taps of the window
  std::vector<int64_t> sizes;      // of the window
};

Windows Describe(const Schedule& schedule, const BlockRef& block, const BufferRef& image) {
  BlockInfo info = DescribeBlock(schedule, block);
  auto read = std::find_if(info.accesses.begin(), info.accesses.end(),
                           [&](const BlockAccess& access) { return image.Is(access.buffer); });
  Nest nest = NestOf(schedule.tree(), schedule.At(block));
  Windows windows;
  for (size_t a = 0; a < info.axes.size(); ++a) {
    const BlockAxis& axis = info.axes[a];
    bool is_around = std::any_of(nest.around.begin(), nest.around.end(),
                                 [&](const ForNode* loop) { return LoopRef(loop) == axis.loop; });
    if (is_around) continue;
    std::optional<int64_t> known = ir::AsConstInt(axis.extent);
    int64_t extent = known ? *known : 0;
    bool in_image = std::count(read->axes.begin(), read->axes.end(), a) > 0;
    bool in_place = ir::UsesVar(read->indices.back(), axis.var.node());
    if (axis.kind != IterKind::kSpatial) {
      (in_place ? windows.windows : windows.sums).push_back(axis.loop);
      if (in_place) windows.sizes.push_back(extent);
    } else if (in_place) {
      windows.column = axis.loop;
      windows.columns = extent;
    } else if (!in_image && extent > windows.rows) {
      if (!windows.row.empty()) windows.others.push_back(windows.row);
      windows.images *= windows.rows;
      windows.row = axis.loop;
      windows.rows = extent;
    } else {
      windows.others.push_back(axis.loop);
      windows.images *= extent;
    }
  }
  return windows;
}

class DirectConvolution {
 public:
  DirectConvolution(Schedule* schedule, const BlockInfo& block, P* plan, const TargetInfo& target)
      : schedule_(*schedule),
        block_(block.ref),
        result_(block.accesses[0].buffer),
        target_(target),
        plan_(plan),
        tile_{plan->tile_m, plan->tile_n / plan->vector, plan->vector},
        loops_(block.ref) {}

  void Run() {
    int64_t work = WorkOf(schedule_, block_);
    CopyRefs made = schedule_.FlattenSpatial(block_, tile_.n());
    windows_ = Describe(schedule_, block_, made[0]);
    FusePrologue(&schedule_, made[0]);
    const CopyRef& out = made[1];
    FuseEpilogue(&schedule_, out, result_);
    Reduce(made[1]);
    if (plan_->m_outer) StoreByChannels(out);
    ParallelizeOuter(&schedule_, block_, work, target_, plan_);
    for (const CopyRef& block : made) {
      Nest nest = NestOf(schedule_.tree(), schedule_.At(block));
      if (nest.around.empty())
        ParallelizeOuter(&schedule_, block, WorkOf(schedule_, block), target_);
    }
    FillRows(made[0]);
    StoreRows(out);
  }

 private:
  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  LoopRef At(const LoopRef& loop) const { return loop.Of(block_); }

  void Reduce(const CopyRef& sums) {
    CopyRef copy = schedule_.CacheWrite(block_, sums, StorageScope::kLocal, Name("tile"));
    LoopRefs order = windows_.others.Of(block_), inner;
    loops_.Split(&schedule_, windows_.column, {tile_.vectors, tile_.lanes}, {"jo", "jv", "ji"});
    order.push_back(loops_.At("jo"));
    if (windows_.row) {
      loops_.Split(&schedule_, windows_.row, {tile_.m}, {"io", "ii"});
      order.insert(order.end() - (plan_->m_outer ? 1 : 0), loops_.At("io"));
      inner.push_back(loops_.At("ii"));
    }
    LoopRef outer = order.back();
    LoopRefs steps = windows_.sums.Of(block_);
    for (const LoopRef& loop : windows_.windows) steps.push_back(At(loop));
    order.insert(order.end(), steps.begin(), steps.end());
    inner.insert(inner.end(), {loops_.At("jv"), loops_.At("ji")});
    order.insert(order.end(), inner.begin(), inner.end());
    schedule_.Reorder(order);
    LoopRefs made = schedule_.ReverseComputeAt(copy, outer);
    BlockRef init = schedule_.DecomposeReduction(block_, steps[0], Name("init"));
    for (const BlockRef& block : {init, block_}) {
      LoopRefs own = LoopsAround(schedule_, block, inner);
      schedule_.Vectorize(own.back());
      for (size_t i = own.size() - 1; i-- > 0;) schedule_.Unroll(own[i]);
    }
    UnrollWindows();
    Store(copy, made);
  }

  // Offsets into the window become constants.
  void UnrollWindows() {
    int64_t products = tile_.m * tile_.vectors;
    for (size_t i = windows_.windows.size(); i-- > 0;) {
      products *= windows_.sizes[i];
      if (products > kMostUnrolled) return;
      schedule_.Unroll(At(windows_.windows[i]));
    }
  }

  // Vector stores of a tile.
  void Store(const BlockRef& copy, const LoopRefs& made) {
    auto [vectors, lanes] =
        schedule_.Split(made.back().Of(copy), {tile_.lanes}, {Name("cv"), Name("ci")});
    schedule_.Vectorize(lanes.Of(copy));
    schedule_.Unroll(vectors.Of(copy));
    for (size_t i = made.size() - 1; i-- > 0;) schedule_.Unroll(made[i].Of(copy));
  }

  // The results of a tile of channels are copied where they were computed.
  void StoreByChannels(const BlockRef& out) {
    LoopRefs loops = NestLoops(schedule_, out), tiles = windows_.others.Of(block_);
    if (!windows_.row || loops.size() <= tiles.size()) Refuse("there are no tiles of channels");
    LoopRef& channels = loops[tiles.size()];
    channels = SplitLanes(&schedule_, out, channels, tile_.m).outer;
    if (channels.empty()) Refuse("there is one tile of channels");
    tiles.push_back(loops_.At("io"));
    for (size_t i = 0; i < tiles.size(); ++i) schedule_.FuseSiblings(tiles[i], loops[i].Of(out));
  }

  // Rows of the result by vectors of the machine, the last one masked: what is the same for all
  // lanes, as a bias, is no instruction for a vector of any other length.
  void StoreRows(const BlockRef& out) {
    LoopRef row = NestLoops(schedule_, out).back();
    bool done = target_.masked_vectors && Try(&schedule_, [&](Schedule* attempt) {
                  Lanes split = SplitLanes(attempt, out, row, tile_.lanes, TailStrategy::kMask);
                  if (!split.outer.empty()) attempt->Unroll(split.outer.Of(out));
                  attempt->Vectorize(split.inner.Of(out));
                });
    if (!done) VectorizeRow(&schedule_, out);
  }

  // Every polyphase component is filled by itself, so that its padding is static.
  void FillRows(const BlockRef& image) {
    BlockInfo info = DescribeBlock(schedule_, image);
    BlockRefs blocks = {image};
    for (const BlockAxis& axis : info.axes) {
      std::optional<int64_t> extent = ir::AsConstInt(axis.extent);
      bool is_phase = !axis.loop.empty() && extent && info.accesses.size() > 1 &&
                      ir::UsesVar(info.accesses[1].indices.back(), axis.var.node());
      if (is_phase) blocks = CutLoop(&schedule_, image, axis.loop, *extent, 1);
    }
    for (const BlockRef& block : blocks) VectorizeRow(&schedule_, block);
  }

  Schedule& schedule_;
  BlockRef block_;
  Buffer result_;
  const TargetInfo& target_;
  P* plan_;
  Windows windows_;
  RegisterTile tile_;
  NamedLoops loops_;
};

// Of elements of so many bytes.
int64_t ResultBytes(const Windows& windows, int64_t channels, int64_t bytes) {
  return channels * windows.columns * bytes;
}

// Cycles that caches take beside the arithmetic: results that L2 does not hold are stored there and
// loaded again, to be copied. Where channels are outside, the input is loaded for each tile of
// them.
double CacheCycles(const Windows& windows, int64_t input_bytes, int64_t bytes, const P& plan,
                   const TargetInfo& target) {
  int64_t all = windows.images * ResultBytes(windows, windows.rows, bytes),
          at_once = plan.m_outer ? ResultBytes(windows, plan.tile_m, bytes) : all;
  auto cycles = [](int64_t size, int64_t bytes_per_cycle) {
    return static_cast<double>(size) / static_cast<double>(bytes_per_cycle);
  };
  double copies =
      at_once > target.l2_bytes / 2 ? cycles(2 * all, target.memory_bytes_per_cycle) : 0;
  if (!plan.m_outer) return copies;
  int64_t tiles = windows.images * CeilDiv(windows.rows, plan.tile_m);
  bool in_l2 = input_bytes + at_once <= target.l2_bytes;
  return copies + cycles(tiles * input_bytes,
                         in_l2 ? target.l2_bytes_per_cycle : target.memory_bytes_per_cycle);
}

// Whether tiles of channels, which are not too small, are an outer loop that all threads share.
bool MayHaveChannelsOutside(const Windows& windows, int64_t tile_m, const TargetInfo& target) {
  int64_t tiles = CeilDiv(windows.rows, tile_m);
  return tiles > 1 && tile_m >= target.l1_ways / 2 &&
         (target.threads == 1 || tiles * windows.images >= kTilesOfThread * target.likely_threads);
}

// Whether the windows of neighbouring output pixels start at neighbouring elements.
bool HasUnitStrides(const BlockInfo& block) {
  for (const BlockAxis& axis : block.axes)
    for (const BlockAccess& access : block.accesses) {
      if (axis.role != AxisRole::kPixel || access.store) continue;
      for (const Expr& index : access.indices) {
        auto linear = ir::UsesVar(index, axis.var.node()) ? arith::AsLinear(index, axis.var.node())
                                                          : std::nullopt;
        if (linear && linear->coefficient != 1) return false;
      }
    }
  return true;
}

std::vector<P> DirectPlans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                           const Wanted<P>&) {
  DataType dtype = block.accesses[0].buffer->dtype;
  bool is_plain =
      std::all_of(block.accesses.begin(), block.accesses.end(),
                  [&](const BlockAccess& access) { return access.buffer->dtype == dtype; });
  if (!is_plain) Refuse("its tensors are not of one type");
  if (!dtype.is_float() && dtype != DataType::Int(32))
    Refuse("it computes with " + dtype.str() + "; expected floats or int32");
  int64_t lanes = target.vector_bytes / dtype.bytes();
  if (lanes < 2) Refuse("a vector has room for one " + dtype.str() + " alone");
  Schedule probe = *schedule;
  CopyRef input = probe.FlattenSpatial(block.ref, 1)[0];
  Windows windows = Describe(probe, block.ref, input);
  int64_t input_bytes = dtype.bytes();
  for (const Expr& extent : probe.BufferAt(input.buffer())->shape)
    input_bytes *= ir::AsConstInt(extent).value_or(1);
  input_bytes /= std::max<int64_t>(windows.images, 1);
  int64_t taps = 1;
  for (int64_t size : windows.sizes) taps *= size;
  // The im2col matrix of a strided 1x1 convolution is no larger than the copy of the input.
  if (taps == 1 && block.kind == BlockKind::kConvolution && windows.rows >= target.l1_ways)
    Refuse("its windows are of one element");
  double steps_of_k = 1;
  for (const BlockAxis& axis : block.axes)
    if (axis.kind == IterKind::kReduce)
      steps_of_k *= static_cast<double>(ir::AsConstInt(axis.extent).value_or(1));
  TargetInfo enough = target;
  enough.vector_registers = std::max(target.vector_registers, kLeastRegisters);
  auto steps = static_cast<double>(WorkOf(*schedule, block.ref)) /
               static_cast<double>(std::max<int64_t>(block.operations, 1) *
                                   std::max<int64_t>(windows.rows * windows.columns, 1));
  // The im2col matrix is small beside the copy of the output then.
  if (block.kind == BlockKind::kConvolution && HasUnitStrides(block) &&
      static_cast<double>(windows.rows) >= kManyOutputs * steps_of_k)
    Refuse("K is so short that copying the output costs more than the products");
  // Results whose channels are no outer loop, as those of groups, are copied together.
  std::map<int64_t, bool> stores_by_channels;  // by tile_m
  auto may_have_channels_outside = [&](P plan) {
    if (!MayHaveChannelsOutside(windows, plan.tile_m, target)) return false;
    auto [known, is_new] = stores_by_channels.try_emplace(plan.tile_m, false);
    if (is_new) {
      Schedule attempt = *schedule;
      known->second = Try(&attempt, [&](Schedule* steps_of) {
        DirectConvolution(steps_of, block, &plan, target).Run();
      });
    }
    return known->second;
  };
  std::vector<P> plans;
  for (const RegisterTile& tile : RegisterTiles(windows.rows, kMostVectors, lanes, target)) {
    if (!FitsRegisters(tile, 1, enough)) continue;
    P plan;
    plan.tile_m = tile.m;
    plan.tile_n = tile.n();
    plan.vector = lanes;
    plan.limit = steps * static_cast<double>(windows.rows * windows.columns) /
                 static_cast<double>(lanes * target.fma_per_cycle);
    for (plan.m_outer = 0; plan.m_outer < 2; ++plan.m_outer) {
      if (plan.m_outer && !may_have_channels_outside(plan)) break;
      plan.cycles = steps * CyclesOf(tile, windows.rows, windows.columns, target) +
                    CacheCycles(windows, input_bytes, dtype.bytes(), plan, target);
      plans.push_back(plan);
    }
  }
  auto best = std::min_element(plans.begin(), plans.end(),
                               [](const P& a, const P& b) { return a.cycles < b.cycles; });
  if (best != plans.end() && windows.rows > target.l1_ways && best->tile_m < target.l1_ways / 2)
    Refuse("registers hold tiles of " + std::to_string(best->tile_m) + " channels alone, of " +
           std::to_string(windows.rows));
  return plans;
}

void ApplyDirect(Schedule* schedule, const BlockInfo& block, const TargetInfo& target, P* plan) {
  DirectConvolution(schedule, block, plan, target).Run();
}

}  // namespace

void RegisterHostWindowRules() {
  RegisterRule({.name = "direct_convolution",
                .description = "direct, no im2col: vectors along output pixels of a padded input",
                .kinds = {BlockKind::kConvolution, BlockKind::kPooling},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 28,
                .planned = Planned<P>(DirectPlans, ApplyDirect)});
}

}  // namespace tern::schedule
