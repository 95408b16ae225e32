// SPDX-License-Identifier: Apache-2.0
//
// GEMM on devices with thread blocks, and convolutions as implicit GEMM:
//
//   for batch, ib, jb                        blockIdx.z, .y, .x: tile_m x tile_n of C
//     for lo, blocks of tile_k, pipelined in `stages`
//       A_shared, B_shared = copies          by all threads, vectors
//       for iy, jx                           threadIdx.y, .x
//         acc[thread_m, thread_n] += A_shared * B_shared
//     C = epilogue(acc)
//
// Cycles: FMAs * (1 + loads of shared memory for each) * idle part of the device. M, N and K that
// no tile divides are padded while they are copied. Declines dynamic extents other than the batch,
// and GEMMs smaller than a tile.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/register_tiles.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

using Names = Schedule::Names;

// K that a thread takes at a time, as vectors where A is K-contiguous.
constexpr int64_t kGroup = 4;
// Smaller M or N, and K, are not worth a tile.
constexpr int64_t kLeastSide = 24, kLeastK = 8;
constexpr int64_t kMostStages = 4;
// Threads of a block, for the cost model.
constexpr double kThreads = 256;

struct ThreadBlockGemmPlan : PlanCost {
  int64_t tile_m = 0, tile_n = 0, tile_k = 0;  // of a thread block, in shared memory
  int64_t thread_m = 0, thread_n = 0;          // of a thread, accumulators in registers
  int64_t stages = 1;                          // of the pipeline of copies to shared memory

  static const std::vector<PlanField<ThreadBlockGemmPlan>>& Fields() {
    using P = ThreadBlockGemmPlan;
    static const std::vector<PlanField<P>> fields = {
        {"tile_m", &P::tile_m},     {"tile_n", &P::tile_n},     {"tile_k", &P::tile_k},
        {"thread_m", &P::thread_m}, {"thread_n", &P::thread_n}, {"stages", &P::stages}};
    return fields;
  }
  int64_t threads_m() const { return tile_m / thread_m; }
  int64_t threads_n() const { return tile_n / thread_n; }
  int64_t threads() const { return threads_m() * threads_n(); }
  int64_t StageBytes(const Gemm& gemm) const {
    // K-contiguous rows of A are padded, so that they start on different banks.
    int64_t padded = tile_k + (gemm.a.k_contiguous() ? kGroup : 0);
    return tile_m * padded * gemm.a.bytes() + (tile_n + kGroup) * tile_k * gemm.b.bytes();
  }
};
using P = ThreadBlockGemmPlan;

// Multiples that M, N and K are padded to where no tile divides them.
GemmMultiples PaddingOf(const Gemm& gemm) {
  auto side = [](int64_t extent) -> int64_t { return extent > 64 ? 64 : 32; };
  return {side(gemm.m), side(gemm.n), kLeastK};
}

// As they are padded.
struct GemmExtents {
  int64_t m, n, k;
};

// FMAs with what a thread loads for each from shared memory; too few thread blocks leave a part of
// the device idle.
void SetCost(const GemmExtents& padded, const Gemm& gemm, const TargetInfo& target, P* plan) {
  auto m = static_cast<double>(plan->thread_m), n = static_cast<double>(plan->thread_n);
  int64_t tiles = (padded.m / plan->tile_m) * (padded.n / plan->tile_n);
  auto blocks = static_cast<double>(tiles);
  auto busy = static_cast<double>(target.busy_blocks);
  double fma = static_cast<double>(padded.m) * static_cast<double>(padded.n * padded.k) *
               static_cast<double>(gemm.batch) / (busy * kThreads);
  plan->cycles = fma * (1 + (m + n) / (m * n) + 1 / static_cast<double>(plan->tile_k * 8)) *
                 std::max(1.0, busy / blocks);
}

std::vector<P> EnumeratePlans(const Gemm& gemm, const GemmExtents& padded, const TargetInfo& target,
                              const Wanted<P>& want) {
  struct Choice {
    int64_t threads, thread_tile, tile_k;  // along M and along N
  };
  std::vector<P> plans;
  for (const Choice& choice : {Choice{16, 8, 8}, {16, 4, 8}, {16, 4, 4}, {8, 4, 4}}) {
    P plan;
    plan.tile_m = plan.tile_n = choice.threads * choice.thread_tile;
    plan.thread_m = plan.thread_n = choice.thread_tile;
    plan.tile_k = choice.tile_k;
    int64_t fitting = target.shared_bytes / plan.StageBytes(gemm);
    bool divides =
        padded.m % plan.tile_m == 0 && padded.n % plan.tile_n == 0 && padded.k % plan.tile_k == 0;
    if (!divides || plan.threads() > target.max_threads || fitting < 1) continue;
    // Devices with warps hide latencies by copying ahead.
    while (target.warp_size > 0 && plan.stages * 2 <= std::min(fitting, kMostStages))
      plan.stages *= 2;
    plan.stages = want.Or(&P::stages, plan.stages);
    if (plan.stages < 1 || plan.stages > fitting) continue;
    SetCost(padded, gemm, target, &plan);
    plans.push_back(plan);
  }
  return plans;
}

class MatmulScheduler {
 public:
  MatmulScheduler(Schedule* schedule, const std::string& block, const Gemm& gemm, const P& plan,
                  const TargetInfo& target)
      : schedule_(*schedule), block_(block), gemm_(gemm), plan_(plan), target_(target) {}

  void Run() {
    std::string reader = KeepAccumulators(&schedule_, block_, gemm_, StorageScope::kLocal);
    Tile();
    Copies left = Copy(gemm_.a), right = Copy(gemm_.b);
    Names out = schedule_.ReverseComputeAt(reader, At("jb"), {Name("ci"), Name("cj")});
    std::string init = schedule_.DecomposeReduction(block_, At("lo"), Name("init"));
    BindThreads(init);
    BindThreads(block_);
    Keep(right, gemm_.b);
    Keep(left, gemm_.a);
    Share(left.shared, gemm_.a);
    Share(right.shared, gemm_.b);
    for (const char* loop : {"it", "jt"}) {
      schedule_.Unroll(LoopOf(init, Name(loop)));
      schedule_.Unroll(At(loop));
    }
    schedule_.Unroll(At("lg"));
    schedule_.Unroll(At("li"));
    Store(reader, out);
    int64_t stages = std::min(plan_.stages, gemm_.k / plan_.tile_k);
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
    schedule_.Split(LoopOf(block_, gemm_.loops.m), {plan_.threads_m(), plan_.thread_m},
                    {Name("ib"), Name("iy"), Name("it")});
    schedule_.Split(LoopOf(block_, gemm_.loops.n), {plan_.threads_n(), plan_.thread_n},
                    {Name("jb"), Name("jx"), Name("jt")});
    schedule_.Split(LoopOf(block_, gemm_.loops.k), {plan_.tile_k / kGroup, kGroup},
                    {Name("lo"), Name("lg"), Name("li")});
    Names order = Around(block_, gemm_.loops.batch);
    for (const char* loop : {"ib", "jb", "lo", "iy", "jx", "lg", "li", "it", "jt"})
      order.push_back(At(loop));
    schedule_.Reorder(order);
    schedule_.Bind(At("ib"), "blockIdx.y");
    schedule_.Bind(At("jb"), "blockIdx.x");
    if (!gemm_.loops.batch.empty())
      schedule_.Bind(LoopOf(block_, FuseLoops(&schedule_, block_, gemm_.loops.batch)),
                     "blockIdx.z");
  }
  void BindThreads(const std::string& block) {
    schedule_.Bind(LoopOf(block, Name("iy")), "threadIdx.y");
    schedule_.Bind(LoopOf(block, Name("jx")), "threadIdx.x");
  }

  // What is computed only to be multiplied is computed on the way.
  Copies Copy(const GemmOperand& operand) {
    std::string shared = schedule_.CacheRead(block_, operand.name, StorageScope::kShared);
    FusePrologue(&schedule_, shared);
    return {shared, schedule_.CacheRead(block_, shared, StorageScope::kLocal)};
  }
  // What a thread needs of shared memory is in registers: A for kGroup of K where it is
  // K-contiguous, B for one.
  void Keep(const Copies& copies, const GemmOperand& operand) {
    bool grouped = operand.k_contiguous() && operand.is_a;
    Names made = schedule_.ComputeAt(copies.local, At(grouped ? "lg" : "li"));
    for (const std::string& loop : made)
      loop == made.back() ? schedule_.Vectorize(LoopOf(copies.local, loop))
                          : schedule_.Unroll(LoopOf(copies.local, loop));
  }

  // All threads copy a tile of an operand, as wide vectors as there can be.
  void Share(const std::string& copy, const GemmOperand& operand) {
    const std::string prefix = operand.is_a ? "as" : "bs";
    Names made = schedule_.ComputeAt(copy, At("lo"));
    int64_t rank = static_cast<int64_t>(AllocatedBuffer(copy)->shape.size());
    if (operand.k_contiguous() && !operand.is_a) {
      // N becomes contiguous, as it is read.
      std::string from, to;
      for (int64_t d = 0; d < rank; ++d) {
        from += (d ? ", d" : "d") + std::to_string(d);
        int64_t other = d + 2 < rank ? d : 2 * rank - 3 - d;
        to += (d ? ", d" : "d") + std::to_string(other);
      }
      schedule_.TransformLayout(copy, IndexMap::Parse("(" + from + ") -> (" + to + ")"));
    }
    // Rows are whole vectors, and of wide elements they start on different banks.
    if (operand.k_contiguous() && rank > 1)
      schedule_.StorageAlign(copy, rank - 2, 8, operand.bytes() >= 4 ? 4 : 0);
    int64_t side = operand.is_a ? plan_.tile_m : plan_.tile_n;
    int64_t elements = side * plan_.tile_k, last = operand.k_contiguous() ? plan_.tile_k : side;
    int64_t lanes = target_.vector_bytes > 0 ? target_.vector_bytes / operand.bytes() : 1;
    while (lanes > 1 && (last % lanes != 0 || elements < lanes * plan_.threads())) lanes /= 2;
    std::string all = FuseLoops(&schedule_, copy, made);
    std::vector<int64_t> factors = {plan_.threads_m(), plan_.threads_n()};
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
    int64_t lanes = target_.vector_bytes > 0 ? 4 : 1;
    size_t count = made.size();
    schedule_.Split(LoopOf(block, made[count - 2]), {plan_.thread_m}, {Name("cy"), Name("cr")});
    schedule_.Split(LoopOf(block, made[count - 1]), {plan_.thread_n / lanes, lanes},
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
  const Gemm& gemm_;
  const P& plan_;
  const TargetInfo& target_;
};

std::vector<P> ThreadBlockPlans(Schedule* schedule, const BlockInfo& block,
                                const TargetInfo& target, const Wanted<P>& want) {
  Gemm gemm = RequireGemm(*schedule, block.name, Sizes::kStatic);
  std::vector<P> plans = EnumeratePlans(gemm, {gemm.m, gemm.n, gemm.k}, target, want);
  if (!plans.empty()) return plans;
  auto check = [](const char* axis, int64_t extent, int64_t least) {
    if (extent < least)
      Refuse(std::string(axis) + " is " + std::to_string(extent) +
             ", and a tile is worth it from " + std::to_string(least) + " on");
  };
  check("M", gemm.m, kLeastSide);
  check("N", gemm.n, kLeastSide);
  check("K", gemm.k, kLeastK);
  GemmMultiples to = PaddingOf(gemm);
  plans = EnumeratePlans(
      gemm, {RoundUp(gemm.m, to.m), RoundUp(gemm.n, to.n), RoundUp(gemm.k, to.k)}, target, want);
  if (plans.empty())
    Refuse("no tile suits " + std::to_string(target.max_threads) + " threads and " +
           std::to_string(target.shared_bytes) + " bytes of shared memory");
  return plans;
}

// Where tiles do not divide M, N and K, zeros are added while they are copied to shared memory.
void ApplyThreadBlock(Schedule* schedule, const BlockInfo& before, const TargetInfo& target,
                      const P& plan) {
  BlockInfo block = DescribeBlock(FindBlockNamed(*schedule, before.name));
  Gemm gemm = RequireGemm(*schedule, block, Sizes::kStatic);
  if (gemm.m % plan.tile_m != 0 || gemm.n % plan.tile_n != 0 || gemm.k % plan.tile_k != 0)
    gemm = PadGemm(schedule, block, PaddingOf(gemm), Sizes::kStatic);
  MatmulScheduler(schedule, block.name, gemm, plan, target).Run();
}

// The convolution windows are gathered while they are copied to shared memory.
std::vector<P> ImplicitPlans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                             const Wanted<P>& want) {
  schedule->Im2col(block.name);
  return ThreadBlockPlans(schedule, block, target, want);
}

}  // namespace

void RegisterDeviceMatmulRules() {
  auto has_shared_memory = [](const TargetInfo& target) { return target.has_shared_memory(); };
  RegisterRule({.name = "thread_block_matmul",
                .description = "block tiles of A and B in shared memory, accumulators in registers",
                .kinds = {BlockKind::kMatmul},
                .fits = has_shared_memory,
                .priority = 20,
                .planned = Planned<P>(ThreadBlockPlans, ApplyThreadBlock)});
  RegisterRule({.name = "thread_block_implicit_gemm",
                .description = "implicit GEMM: im2col fused into the copies to shared memory",
                .kinds = {BlockKind::kConvolution},
                .fits = has_shared_memory,
                .priority = 20,
                .planned = Planned<P>(ImplicitPlans, ApplyThreadBlock)});
}

}  // namespace tern::schedule
