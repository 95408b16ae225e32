// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices on devices with blocks of threads: a block computes a tile of the result,
// each of its threads a smaller one in registers, from parts of the operands in shared memory.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/product.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

using Names = Schedule::Names;

// A thread adds that many products at a time, of vectors along the sum.
constexpr int64_t kGroup = 4;

// What a block of threads computes: threads along each axis, and the tile of each.
struct Tiles {
  int64_t threads = 16, tile = 8, steps = 8, stages = 1;

  int64_t side() const { return threads * tile; }
  int64_t StageBytes(const Product& product) const {
    // Rows along the sum are padded, so that they start on different banks.
    int64_t padded = steps + kGroup;
    return side() * (product.left.sum_is_last() ? padded : steps) * product.left.bytes() +
           (side() + kGroup) * steps * product.right.bytes();
  }
};

// The largest that divide the sizes and leave enough blocks for a large device.
std::optional<Tiles> ChooseTiles(const Product& product, const MachineFacts& facts) {
  constexpr int64_t kEnoughBlocks = 128, kMostStages = 4;
  constexpr Tiles kChoices[] = {{16, 8, 8}, {16, 4, 8}, {16, 4, 4}, {8, 4, 4}};
  std::optional<Tiles> best;
  for (const Tiles& choice : kChoices) {
    bool divides = product.rows % choice.side() == 0 && product.columns % choice.side() == 0 &&
                   product.steps % choice.steps == 0;
    if (!divides || choice.threads * choice.threads > facts.max_threads) continue;
    int64_t stages = facts.shared_bytes / choice.StageBytes(product);
    if (stages < 1) continue;
    best = choice;
    // Devices with warps hide latencies by copying ahead.
    while (facts.warp_size > 0 && best->stages * 2 <= std::min(stages, kMostStages))
      best->stages *= 2;
    int64_t blocks = product.rows / choice.side() * (product.columns / choice.side());
    if (blocks >= kEnoughBlocks) break;
  }
  return best;
}

class MatmulScheduler {
 public:
  MatmulScheduler(Schedule* schedule, const std::string& block, const Product& product,
                  const Tiles& tiles, const MachineFacts& facts)
      : schedule_(*schedule), block_(block), product_(product), tiles_(tiles), facts_(facts) {}

  void Run() {
    std::string reader = SoleReader(schedule_, block_, product_.result);
    if (!reader.empty()) schedule_.SetScope(product_.result->name, "local");
    Tile();
    if (reader.empty())
      reader = schedule_.CacheWrite(block_, product_.result->name, "local", Name("acc"));
    Copies left = Copy(product_.left), right = Copy(product_.right);
    Names out = schedule_.ReverseComputeAt(reader, At("jb"), {Name("ci"), Name("cj")});
    std::string init = schedule_.DecomposeReduction(block_, At("lo"), Name("init"));
    BindThreads(init);
    BindThreads(block_);
    Keep(right, product_.right);
    Keep(left, product_.left);
    Share(left.shared, product_.left);
    Share(right.shared, product_.right);
    for (const char* loop : {"it", "jt"}) {
      schedule_.Unroll(LoopOf(init, Name(loop)));
      schedule_.Unroll(At(loop));
    }
    schedule_.Unroll(At("lg"));
    schedule_.Unroll(At("li"));
    Store(reader, out);
    int64_t stages = std::min(tiles_.stages, product_.steps / tiles_.steps);
    if (stages > 1)
      Try(&schedule_,
          [&](Schedule* attempt) { attempt->Pipeline(At("lo"), {0, 0, stages - 1}, {0}); });
  }

 private:
  struct Copies {
    std::string shared, local;
  };

  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  std::string At(const std::string& what) const { return LoopOf(block_, Name(what)); }

  void Tile() {
    int64_t threads = tiles_.threads, tile = tiles_.tile;
    schedule_.Split(LoopOf(block_, product_.row), {threads, tile},
                    {Name("ib"), Name("iy"), Name("it")});
    schedule_.Split(LoopOf(block_, product_.column), {threads, tile},
                    {Name("jb"), Name("jx"), Name("jt")});
    schedule_.Split(LoopOf(block_, product_.sum), {tiles_.steps / kGroup, kGroup},
                    {Name("lo"), Name("lg"), Name("li")});
    Names order = Around(block_, product_.batch);
    for (const char* loop : {"ib", "jb", "lo", "iy", "jx", "lg", "li", "it", "jt"})
      order.push_back(At(loop));
    schedule_.Reorder(order);
    schedule_.Bind(At("ib"), "blockIdx.y");
    schedule_.Bind(At("jb"), "blockIdx.x");
    if (!product_.batch.empty())
      schedule_.Bind(LoopOf(block_, FuseLoops(&schedule_, block_, product_.batch)), "blockIdx.z");
  }
  void BindThreads(const std::string& block) {
    schedule_.Bind(LoopOf(block, Name("iy")), "threadIdx.y");
    schedule_.Bind(LoopOf(block, Name("jx")), "threadIdx.x");
  }

  // What is computed only to be multiplied is computed on the way.
  Copies Copy(const Factor& factor) {
    std::string shared = schedule_.CacheRead(block_, factor.name, "shared");
    InlineMakers(&schedule_, shared);
    return {shared, schedule_.CacheRead(block_, shared, "local")};
  }
  // What a thread needs of shared memory for some steps is in registers. Lanes of a row read the
  // same elements of the left factor, and neighbours of the right one.
  void Keep(const Copies& copies, const Factor& factor) {
    bool grouped = factor.sum_is_last() && factor.is_left;
    Names made = schedule_.ComputeAt(copies.local, At(grouped ? "lg" : "li"));
    for (const std::string& loop : made)
      loop == made.back() ? schedule_.Vectorize(LoopOf(copies.local, loop))
                          : schedule_.Unroll(LoopOf(copies.local, loop));
  }

  // All threads copy a part of a factor, as many bytes at once as there can be.
  void Share(const std::string& copy, const Factor& factor) {
    const std::string prefix = factor.is_left ? "as" : "bs";
    Names made = schedule_.ComputeAt(copy, At("lo"));
    int64_t rank = static_cast<int64_t>(AllocatedBuffer(copy)->shape.size());
    if (factor.sum_is_last() && !factor.is_left) {
      // Neighbours along the columns are what is read.
      std::string from, to;
      for (int64_t d = 0; d < rank; ++d) {
        from += (d ? ", d" : "d") + std::to_string(d);
        int64_t other = d + 2 < rank ? d : 2 * rank - 3 - d;
        to += (d ? ", d" : "d") + std::to_string(other);
      }
      schedule_.TransformLayout(copy, IndexMap::Parse("(" + from + ") -> (" + to + ")"));
    }
    // Rows are whole vectors, and of wide elements they start on different banks.
    if (factor.sum_is_last() && rank > 1)
      schedule_.StorageAlign(copy, rank - 2, 8, factor.bytes() >= 4 ? 4 : 0);
    int64_t elements = tiles_.side() * tiles_.steps, threads = tiles_.threads * tiles_.threads;
    int64_t last = factor.sum_is_last() ? tiles_.steps : tiles_.side();
    int64_t lanes = facts_.vector_bytes > 0 ? facts_.vector_bytes / factor.bytes() : 1;
    while (lanes > 1 && (last % lanes != 0 || elements < lanes * threads)) lanes /= 2;
    std::string all = FuseLoops(&schedule_, copy, made);
    std::vector<int64_t> factors = {tiles_.threads, tiles_.threads};
    Names names = {Name(prefix), Name(prefix + "y"), Name(prefix + "x")};
    if (lanes > 1) {
      factors.push_back(lanes);
      names.push_back(Name(prefix + "v"));
    }
    schedule_.Split(LoopOf(copy, all), factors, names);
    schedule_.Bind(LoopOf(copy, Name(prefix + "y")), "threadIdx.y");
    schedule_.Bind(LoopOf(copy, Name(prefix + "x")), "threadIdx.x");
    if (lanes > 1) schedule_.Vectorize(LoopOf(copy, Name(prefix + "v")));
    schedule_.Unroll(LoopOf(copy, Name(prefix)));
  }
  Buffer AllocatedBuffer(const std::string& name) const {
    return FindAllocation(schedule_.function()->body, name)->buffer;
  }

  void Store(const std::string& block, const Names& made) {
    int64_t tile = tiles_.tile, lanes = facts_.vector_bytes > 0 ? 4 : 1;
    size_t count = made.size();
    schedule_.Split(LoopOf(block, made[count - 2]), {tile}, {Name("cy"), Name("cr")});
    schedule_.Split(LoopOf(block, made[count - 1]), {tile / lanes, lanes},
                    {Name("cx"), Name("cc"), Name("cv")});
    Names order;
    for (const char* loop : {"cy", "cx", "cr", "cc", "cv"})
      order.push_back(LoopOf(block, Name(loop)));
    schedule_.Reorder(order);
    schedule_.Bind(order[0], "threadIdx.y");
    schedule_.Bind(order[1], "threadIdx.x");
    schedule_.Unroll(order[2]);
    schedule_.Unroll(order[3]);
    lanes > 1 ? schedule_.Vectorize(order[4]) : schedule_.Unroll(order[4]);
  }

  Schedule& schedule_;
  std::string block_;
  const Product& product_;
  const Tiles& tiles_;
  const MachineFacts& facts_;
};

bool TileMatmul(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts) {
  std::optional<Product> product = ProductOf(*schedule, block);
  std::optional<Tiles> tiles = product ? ChooseTiles(*product, facts) : std::nullopt;
  if (!tiles) return false;
  MatmulScheduler(schedule, block.name, *product, *tiles, facts).Run();
  return true;
}

// Sizes that are no multiples of a tile are extended with zeros, which no array is made for either.
// Refuses where that cannot be done.
void TilePaddedMatmul(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts) {
  constexpr int64_t kLeast = 24, kSmall = 32, kSide = 64, kSteps = 8;
  if (TileMatmul(schedule, block, facts)) return;
  std::vector<int64_t> factors;
  for (const BlockAxis& axis : block.axes) {
    const int64_t* extent = ir::AsConstInt(axis.extent);
    bool sum = axis.role == AxisRole::kK;
    int64_t least = axis.role == AxisRole::kBatch ? 0 : sum ? kSteps : kLeast;
    if (!extent) Refuse("the extent of axis " + axis.var.name() + " is dynamic");
    if (*extent < least)
      Refuse("axis " + axis.var.name() + " has " + std::to_string(*extent) +
             " elements, and a tile is worth it from " + std::to_string(least) + " on");
    factors.push_back(axis.role == AxisRole::kBatch ? 1
                      : sum                         ? kSteps
                      : *extent > kSide             ? kSide
                                                    : kSmall);
  }
  PadProduct(schedule, block, factors);
  BlockInfo padded = DescribeBlock(FindBlockNamed(*schedule, block.name));
  RequireProduct(*schedule, padded);
  if (!TileMatmul(schedule, padded, facts))
    Refuse("no tile suits " + std::to_string(facts.max_threads) + " threads and " +
           std::to_string(facts.shared_bytes) + " bytes of shared memory");
}

// The windows are gathered while they are copied to shared memory: no array of them is made.
void TileConvolution(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts) {
  schedule->Im2col(block.name);
  TilePaddedMatmul(schedule, DescribeBlock(FindBlockNamed(*schedule, block.name)), facts);
}

}  // namespace

void RegisterDeviceMatmulRules() {
  auto has_shared_memory = [](const MachineFacts& facts) { return facts.has_shared_memory(); };
  RegisterRule({.name = "thread_block_matmul",
                .description = "block tiles of A and B in shared memory, accumulators in registers",
                .kinds = {BlockKind::kMatmul},
                .fits = has_shared_memory,
                .priority = 20,
                .apply = TilePaddedMatmul});
  RegisterRule({.name = "thread_block_implicit_gemm",
                .description = "implicit GEMM: im2col fused into the copies to shared memory",
                .kinds = {BlockKind::kConvolution},
                .fits = has_shared_memory,
                .priority = 20,
                .apply = TileConvolution});
}

}  // namespace tern::schedule
