// SPDX-License-Identifier: Apache-2.0
//
// winograd: stride-1 convolutions by F(m, r), where the model predicts that it is faster.
//
//   input = padded X, channels last                       # transposed in registers
//   b[p, c, o] = G W Gt                                   # prepacked where W is constant
//   for pb in tiles / block, parallel {                   # a block of tiles fits half of L2; with
//                                                         # `share_block` the loops below are
//     a[p, t, c] = Bt input B                             # vectors of channels
//     for p in points { for oo, po {                      # one GEMM per point, register tiles
//       for c { acc[rows, vectors] += a[p, t, c] * b[p, c, o] }     # b larger than L2: prefetched
//     } }
//     output = At gemm A
//   }
//   for y, o in O / tile, parallel {                      # rows of a tile of channels, in L1
//     rows[tile, x] = output, channels first              # transposed in registers
//     Y = epilogue(rows)
//   }
//
// Cost: winograd_plan.h. The tiles of all images are one axis. Where the batch is dynamic, and
// blocks would read large weights for each image, there is no loop pb: the tiles of all images, so
// many of them as come, are one block. Declines: no `reassociate`, stride above 1, dynamic image
// sizes, channels no multiple of a vector, more than 6 points, or no faster than the direct
// convolution.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/transpose_tiles.h"
#include "tern/schedule/rules/winograd_plan.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Channels that are summed before they are added to the rest: pairwise summation bounds the error.
constexpr int64_t kSumPart = 64;
// Weights that are prefetched: so many times L2. Below, the hardware's own prefetching keeps up,
// and more loads cost time: 256 channels of 14 x 14 (6.5 MB of weights, L2 of 2 MB) take 1.15
// to 1.3 times as long with them, 512 channels of 7 x 7 (16 MB) 0.65.
constexpr int64_t kFarWeights = 4;

class HostWinograd {
 public:
  HostWinograd(Schedule* schedule, const BlockInfo& block, WinogradPlan* plan,
               const TargetInfo& target)
      : schedule_(*schedule),
        block_(block.ref),
        result_(block.accesses[0].buffer),
        plan_(*plan),
        target_(target),
        loops_(block.ref) {}

  void Run() {
    int64_t work = WorkOf(schedule_, block_);
    made_ = schedule_.Winograd(block_, plan_.m, plan_.block ? plan_.block : plan_.tile_m);
    shape_ = *WinogradShapeOf(schedule_, made_, plan_.m);
    SplitProducts();
    TransformBack();
    Multiply();
    TransformInput();
    TransformWeights();
    if (plan_.share_block)
      for (const BlockRef& block : BlockRefs{made_[1], block_, made_[4]})
        ParallelizeOuter(&schedule_, block, work, target_, block == block_ ? &plan_ : nullptr,
                         plan_.block ? loops_.At("pb") : LoopRef());
    else
      ParallelizeOuter(&schedule_, block_, work, target_, &plan_);
    MoveInput();
    MoveResult();
    if (shape_.weights_bytes() > kFarWeights * target_.l2_bytes)
      schedule_.Prefetch(part_.empty() ? block_ : part_, made_[2]);
  }

 private:
  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  LoopRef At(const LoopRef& loop) const { return loop.Of(block_); }
  LoopRefs LoopsOf(const BlockRef& block) const {
    LoopRefs loops;
    for (const BlockAxis& axis : DescribeBlock(schedule_, block).axes) loops.push_back(axis.loop);
    return loops;
  }
  // What a transformation does before its last stage, along one dimension after the other.
  CopyRef StageOf(const CopyRef& block, int64_t k) const {
    std::string name = block + "_" + std::to_string(k);
    return {FindBlock(schedule_, name), schedule_.tree().AllocationsNamed(name).at(0)->buffer};
  }
  void Parallelize(const BlockRef& block) {
    ParallelizeOuter(&schedule_, block, WorkOf(schedule_, block), target_);
  }

  // Splits a loop by lanes.
  LoopsMade<2> SplitVectors(Schedule* schedule, const BlockRef& block, const LoopRef& loop) const {
    return schedule->Split(
        loop.Of(block), {plan_.vector},
        {FreshLoopName(*schedule, loop + "_v"), FreshLoopName(*schedule, loop + "_l")});
  }
  // Unrolls loops, and vectorizes the last.
  void WriteOut(const BlockRef& block, const LoopRefs& loops) {
    LoopRefs own = LoopsAround(schedule_, block, loops);
    for (size_t i = 0; i + 1 < own.size(); ++i) schedule_.Unroll(own[i]);
    schedule_.Vectorize(own.back());
  }

  // ---- GEMM

  // The loops of the GEMM, whose K are all channels or parts of them.
  void SplitProducts() {
    int64_t part = kSumPart;
    while (shape_.channels % part != 0) --part;
    if (shape_.channels > part) {
      LoopRef outer =
          schedule_.Split(At(LoopsOf(block_).back()), {part}, {Name("co"), Name("ci")})[0];
      part_ = schedule_.Rfactor(At(outer), Name("part"));
      SplitSums();
    } else {
      CopyRef sums = schedule_.CacheWrite(block_, made_[3], StorageScope::kLocal, Name("tile"));
      SplitSums();
      WriteTile(sums, schedule_.ReverseComputeAt(sums, loops_.At("po")));
    }
  }

  void Multiply() {
    LoopRefs loops = NestLoops(schedule_, block_), tile(loops.end() - 3, loops.end());
    LoopRef last = loops[loops.size() - 4], step = part_.empty() ? last : loops[loops.size() - 5];
    BlockRef init = schedule_.DecomposeReduction(block_, At(step), Name("init"));
    if (!part_.empty()) MultiplyPart(last);
    WriteOut(block_, tile);
    WriteOut(init, tile);
  }

  // From the blocks of tiles to the lanes of vectors.
  void SplitSums() {
    LoopRefs loops = LoopsOf(block_), order;
    size_t rank = shape_.points.size();
    if (plan_.block)
      loops_.Split(&schedule_, loops[rank], {plan_.block / plan_.tile_m, plan_.tile_m},
                   {"pb", "po", "pi"});
    else
      loops_.Split(&schedule_, loops[rank], {plan_.tile_m}, {"po", "pi"});
    loops_.Split(&schedule_, loops[rank + 1], {plan_.tile_n / plan_.vector, plan_.vector},
                 {"oo", "ov", "ol"});
    if (plan_.block) order.push_back(loops_.At("pb"));
    order.insert(order.end(), loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(rank));
    // The weights of a part of the channels stay in L1 across tiles.
    order.insert(order.end(), {loops_.At("oo"), loops_.At("po"), loops.back()});
    if (!part_.empty()) std::swap(order[order.size() - 2], order.back());
    order.insert(order.end(), {loops_.At("pi"), loops_.At("ov"), loops_.At("ol")});
    schedule_.Reorder(order.Of(block_));
  }

  // The GEMM over a part of the channels, accumulated in registers, then added to the others.
  void MultiplyPart(const LoopRef& around) {
    const CopyRef& part = part_;
    schedule_.ComputeAt(part, At(around));
    schedule_.SetScope(part, StorageScope::kLocal);
    LoopRefs loops = NestLoops(schedule_, part);
    // Tiles, where there are several, outputs and steps.
    LoopRef sum = loops.back();
    auto vectors =
        schedule_.Split(loops[loops.size() - 2].Of(part), {plan_.vector}, {Name("qv"), Name("ql")});
    LoopRefs order = {sum}, tile;
    if (loops.size() > 2) tile.push_back(loops[0]);
    tile.insert(tile.end(), vectors.begin(), vectors.end());
    order.insert(order.end(), tile.begin(), tile.end());
    schedule_.Reorder(order.Of(part));
    BlockRef init = schedule_.DecomposeReduction(part, sum.Of(part), Name("part_init"));
    WriteOut(part, tile);
    WriteOut(init, tile);
  }

  void WriteTile(const BlockRef& block, const LoopRefs& made) {
    LoopRefs all(made.begin(), made.end() - 1);
    auto vectors = schedule_.Split(made.back().Of(block), {plan_.vector}, {Name("tv"), Name("tl")});
    all.insert(all.end(), vectors.begin(), vectors.end());
    WriteOut(block, all);
  }

  // ---- Transformations

  // Vectors of channels of a tile go through one window after the other in registers. `outer`:
  // loops around, `inner`: those of the points or results, and that of the vectors, which are
  // outside or inside of the others.
  void TransformInRegisters(const CopyRef& block, const LoopRefs& outer, const LoopRefs& inner,
                            bool vectors_outside = false) {
    auto [vectors, lanes] = SplitVectors(&schedule_, block, inner.back());
    LoopRefs order = outer, tile(inner.begin(), inner.end() - 1);
    order.insert(vectors_outside ? order.begin() : order.end(), vectors);
    LoopRef around = order.back();
    tile.push_back(lanes);
    order.insert(order.end(), tile.begin(), tile.end());
    schedule_.Reorder(order.Of(block));
    for (int64_t k = shape_.rank() - 1; k-- > 0;) {
      CopyRef stage = StageOf(block, k);
      LoopRefs made = schedule_.ComputeAt(stage, around.Of(block));
      schedule_.SetScope(stage, StorageScope::kLocal);
      WriteOut(stage, made);
    }
    WriteOut(block, tile);
  }

  void TransformInput() {
    LoopRefs loops =
        plan_.block ? schedule_.ComputeAt(made_[1], loops_.At("pb")) : LoopsOf(made_[1]);
    // Points, tiles unless there is one, channels.
    size_t rank = shape_.points.size();
    LoopRefs outer(loops.begin() + static_cast<std::ptrdiff_t>(rank), loops.end() - 1),
        inner(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(rank));
    inner.push_back(loops.back());
    TransformInRegisters(made_[1], outer, inner);
  }

  void TransformBack() {
    const CopyRef& block = made_[4];
    for (int64_t k = 0; plan_.block && k + 1 < shape_.rank(); ++k)
      schedule_.ReverseComputeAt(StageOf(block, k), loops_.At("pb"));
    LoopRefs loops =
        plan_.block ? schedule_.ReverseComputeAt(block, loops_.At("pb")) : LoopsOf(block);
    size_t rank = shape_.points.size(), several = loops.size() - rank - 1;
    LoopRefs outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(several)),
        inner(loops.begin() + static_cast<std::ptrdiff_t>(several), loops.end());
    TransformInRegisters(block, outer, inner);
  }

  // Each tile of the products reads them one after the other.
  void TransformWeights() {
    const CopyRef& block = made_[2];
    std::string from, size = std::to_string(plan_.tile_n);
    for (int64_t k = 0; k < shape_.rank(); ++k) from += "d" + std::to_string(k) + ", ";
    LoopRefs loops = LoopsOf(block);
    LoopRef channel = loops[loops.size() - 2];
    LoopRefs inner(loops.begin(), loops.end() - 2);
    inner.push_back(loops.back());
    // Weights of one output are neighbours.
    TransformInRegisters(block, {channel}, inner, true);
    Parallelize(block);
    schedule_.TransformLayout(block, IndexMap::Parse("(" + from + "c, o) -> (" + from + "o // " +
                                                     size + ", c, o % " + size + ")"));
  }

  // ---- Layouts

  // The last axis of a block, where it is one of vectors.
  void VectorizeLast(const BlockRef& block) {
    Try(&schedule_, [&](Schedule* attempt) {
      auto [vectors, lanes] = SplitVectors(attempt, block, LoopsOf(block).back());
      attempt->Vectorize(lanes.Of(block));
    });
  }

  // The input is turned to vectors of channels first, then gets its border.
  void MoveInput() {
    const CopyRef& block = made_[0];
    CopyRef turned = TransposeChannelsLast(&schedule_, block, Name("transposed"));
    if (!turned.empty()) TransposeTiles(&schedule_, turned, target_);
    VectorizeLast(block);
    Parallelize(block);
  }

  // Tiles lie beside each other as in the result.
  void MoveResult() {
    const WinogradShape& shape = shape_;
    std::string from = "(p, ", places, m = std::to_string(shape.m);
    int64_t behind = 1;
    for (int64_t k = shape.rank(); k-- > 0;) {
      std::string i = "i" + std::to_string(k), along = std::to_string(shape.TilesAlong(k));
      std::string tile = "p // " + std::to_string(behind) + " % " + along;
      places = tile + " * " + m + " + " + i + ", " + places;
      behind *= shape.TilesAlong(k);
    }
    for (int64_t k = 0; k < shape.rank(); ++k) from += "i" + std::to_string(k) + ", ";
    schedule_.TransformLayout(
        made_[4],
        IndexMap::Parse(from + "o) -> (p // " + std::to_string(behind) + ", " + places + "o)"));
    BlockRef result = FindBlock(schedule_, block_ + "_result");
    if (TransposeResult(&schedule_, result, target_)) return;
    FuseEpilogue(&schedule_, result, result_);
    VectorizeLast(result);
    Parallelize(result);
  }

  Schedule& schedule_;
  BlockRef block_;
  Buffer result_;
  WinogradPlan& plan_;
  const TargetInfo& target_;
  WinogradShape shape_;
  NamedLoops loops_;
  CopyRefs made_;
  CopyRef part_;  // the sums of a part of the channels; none where that is all
};

// Whether what has the outputs, and no positions, is the same for every call.
bool HasConstantWeights(const Schedule& schedule, const BlockInfo& block) {
  return std::any_of(block.accesses.begin(), block.accesses.end(), [&](const BlockAccess& access) {
    return !access.store && !access.buffer.same(block.accesses[0].buffer) &&
           std::none_of(access.axes.begin(), access.axes.end(),
                        [&](size_t axis) { return block.axes[axis].role == AxisRole::kPixel; }) &&
           IsConstant(schedule, access.buffer->name);
  });
}

std::vector<WinogradPlan> Plans(Schedule* schedule, const BlockInfo& block,
                                const TargetInfo& target, const Wanted<WinogradPlan>& want) {
  int64_t lanes = target.vector_bytes / block.accesses[0].buffer->dtype.bytes();
  if (lanes < 2) Refuse("a vector has room for one element alone");
  std::vector<WinogradPlan> plans = WinogradPlans(*schedule, block.ref, target, lanes,
                                                  HasConstantWeights(*schedule, block), want);
  if (plans.empty()) {
    Schedule probe = *schedule;
    probe.Winograd(block.ref, 2);  // says why where the step is refused
    Refuse(
        "its images or channels are of dynamic extents, its channels no multiples of a vector of " +
        std::to_string(lanes) + ", or its windows too large");
  }
  double direct = DirectConvolutionCycles(block, target, lanes);
  auto best = std::min_element(
      plans.begin(), plans.end(),
      [](const WinogradPlan& a, const WinogradPlan& b) { return a.cycles < b.cycles; });
  if (!want.is_asked() && !(best->cycles < direct))
    Refuse("it is estimated to be no faster: " + CyclesText(best->cycles) + " cycles, and " +
           CyclesText(direct) + " without");
  return plans;
}

void ApplyPlan(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
               WinogradPlan* plan) {
  HostWinograd(schedule, block, plan, target).Run();
}

}  // namespace

void RegisterHostWinogradRules() {
  RegisterRule(
      {.name = "winograd",
       .description = "Winograd F(m, r) at stride 1 where predicted faster; needs reassociate",
       .kinds = {BlockKind::kConvolution},
       .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
       .priority = 29,
       .planned = Planned<WinogradPlan>(Plans, ApplyPlan)});
}

}  // namespace tern::schedule
