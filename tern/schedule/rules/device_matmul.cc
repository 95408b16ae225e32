// SPDX-License-Identifier: Apache-2.0
//
// GEMM by threads (device_gemm.h): each has accumulators of thread_m x thread_n in registers.
//
//   for batch, ib, jb                        blockIdx.z, .y, .x: tile_m x tile_n of C
//     for lo, blocks of tile_k, pipelined in `stages`
//       A_shared, B_shared = copies          by all threads, vectors
//       for iy, jx                           threadIdx.y, .x
//         acc[thread_m, thread_n] += A_shared * B_shared
//     C = epilogue(acc)
//
// Cycles of a tile: FMAs * (1 + loads of shared memory for each), or its copies.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_gemm.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/register_tiles.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// K that a thread takes at a time, as vectors where A is K-contiguous.
constexpr int64_t kGroup = 4;
constexpr int64_t kMostStages = 4;
// Rows or columns of the tiles that are one thread wide.
constexpr int64_t kThin = 4;
// FMAs of a multiprocessor in a cycle, for the cost model, and what memory takes at once.
constexpr double kFmaPerCycle = 128;
constexpr int64_t kSectorBytes = 32;
// Thread blocks of a multiprocessor that hide the latencies of each other, so that K is split.
constexpr int64_t kWantedBlocks = 4;

struct ThreadBlockGemmPlan : DeviceGemmPlan {
  int64_t thread_m = 0, thread_n = 0;  // of a thread, accumulators in registers

  static const std::vector<PlanField<ThreadBlockGemmPlan>>& Fields() {
    using P = ThreadBlockGemmPlan;
    static const std::vector<PlanField<P>> fields = {
        {"tile_m", &P::tile_m},     {"tile_n", &P::tile_n},     {"tile_k", &P::tile_k},
        {"thread_m", &P::thread_m}, {"thread_n", &P::thread_n}, {"stages", &P::stages},
        {"split_k", &P::split_k}};
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

void SetCost(const Gemm& gemm, const TargetInfo& target, P* plan) {
  auto m = static_cast<double>(plan->thread_m), n = static_cast<double>(plan->thread_n),
       fmas = static_cast<double>(plan->tile_m * plan->tile_n * plan->tile_k);
  // Few threads do not keep a multiprocessor busy, and a short tile_k waits more often.
  double busy = std::min(1.0, static_cast<double>(plan->threads()) / kFmaPerCycle);
  double multiply = fmas / kFmaPerCycle / busy *
                    (1 + (m + n) / (m * n) + 1 / static_cast<double>(plan->tile_k * 8));
  auto bytes = static_cast<double>((plan->tile_m * gemm.a.bytes() + plan->tile_n * gemm.b.bytes()) *
                                   plan->tile_k);
  // Neighbours in one thread that are no vector are stored one by one, a sector of memory each.
  bool is_vector = plan->thread_n == 1 || IsMultiple(gemm.c->shape.back(), kGroup);
  auto stored = static_cast<double>(is_vector ? gemm.c->dtype.bytes() : kSectorBytes);
  plan->cycles = DeviceGemmCycles(gemm, *plan, {multiply, bytes, false, stored}, target);
  plan->limit = LeastDeviceCycles(gemm, kFmaPerCycle, target);
}

// Whether all threads of a block but the first, of a row or a column of them, have none of the
// results, which are few. Which accumulators are stored depends on the thread then, and they are
// not in registers.
bool IsOfOneThread(const Gemm& gemm, const P& plan) {
  return (!gemm.dynamic_m && gemm.m <= plan.thread_m && plan.threads_m() > 1) ||
         (!gemm.dynamic_n && gemm.n <= plan.thread_n && plan.threads_n() > 1);
}
// Whether tiles of so few rows or columns have all of them.
bool IsWhole(const Gemm& gemm, const P& plan) {
  return (plan.tile_m > kThin || (!gemm.dynamic_m && gemm.m <= kThin)) &&
         (plan.tile_n > kThin || (!gemm.dynamic_n && gemm.n <= kThin));
}

std::vector<P> EnumeratePlans(const Schedule& schedule, const Gemm& gemm, const TargetInfo& target,
                              const Wanted<P>& want) {
  struct Choice {
    int64_t tile_m, tile_n, tile_k, thread_m, thread_n;
  };
  std::vector<P> plans;
  // Some store neighbours by neighbouring threads; the last ones are for very few rows or columns.
  for (const Choice& choice : {Choice{128, 128, 8, 8, 8},
                               {64, 64, 8, 4, 4},
                               {64, 64, 4, 4, 4},
                               {32, 32, 8, 4, 4},
                               {32, 32, 4, 4, 4},
                               {16, 128, 16, 4, 4},
                               {128, 16, 16, 4, 4},
                               {16, 64, 16, 4, 4},
                               {32, 128, 8, 16, 1},
                               {128, kThin, 32, 1, kThin},
                               {128, kThin, 8, 1, kThin},
                               {32, kThin, 32, 1, kThin},
                               {kThin, 128, 32, kThin, 1},
                               {kThin, 128, 8, kThin, 1},
                               {kThin, 32, 32, kThin, 1}}) {
    P plan;
    plan.tile_m = choice.tile_m;
    plan.tile_n = choice.tile_n;
    plan.thread_m = choice.thread_m;
    plan.thread_n = choice.thread_n;
    plan.tile_k = choice.tile_k;
    int64_t fitting = target.shared_bytes / plan.StageBytes(gemm);
    if (plan.threads() > target.max_threads || fitting < 1 || IsOfOneThread(gemm, plan) ||
        !IsWhole(gemm, plan) || CeilDiv(gemm.m, plan.tile_m) > target.most_grid_blocks)
      continue;
    // Devices with warps hide latencies by copying ahead.
    while (target.warp_size > 0 && plan.stages * 2 <= std::min(fitting, kMostStages))
      plan.stages *= 2;
    plan.stages = want.Or(&P::stages, plan.stages);
    if (plan.stages < 1 || plan.stages > fitting) continue;
    // A dynamic K may be too short for many parts.
    int64_t wanted = gemm.dynamic_k ? 1 : kWantedBlocks;
    for (int64_t parts : SplitsOfK(schedule, gemm, plan, target, wanted)) {
      plan.split_k = parts;
      SetCost(gemm, target, &plan);
      plans.push_back(plan);
    }
  }
  return plans;
}

class ThreadBlockScheduler : public DeviceGemmScheduler {
 public:
  ThreadBlockScheduler(Schedule* schedule, const BlockRef& block, const Gemm& gemm, const P& plan,
                       const TargetInfo& target)
      : DeviceGemmScheduler(schedule, block, gemm, plan,
                            {{"threadIdx.y", plan.threads_m()}, {"threadIdx.x", plan.threads_n()}},
                            target.vector_bytes),
        plan_(plan),
        store_lanes_(target.vector_bytes > 0 ? std::min(plan.thread_n, kGroup) : 1) {}

  void Run() {
    BlockRef reader = KeepAccumulators(&schedule_, block_, gemm_, StorageScope::kLocal);
    Tile();
    Copies left = Copy(gemm_.a), right = Copy(gemm_.b);
    LoopRefs out = schedule_.ReverseComputeAt(reader, At("jb"), {Name("ci"), Name("cj")});
    BlockRef init = schedule_.DecomposeReduction(block_, At("lo"), Name("init"));
    BindThreads(init);
    BindThreads(block_);
    Keep(right, gemm_.b);
    Keep(left, gemm_.a);
    Share(left.shared, gemm_.a);
    Share(right.shared, gemm_.b);
    for (const char* loop : {"it", "jt"}) {
      schedule_.Unroll(At(init, loop));
      schedule_.Unroll(At(loop));
    }
    schedule_.Unroll(At("lg"));
    schedule_.Unroll(At("li"));
    Store(reader, out);
    PipelineCopies();
  }

 private:
  struct Copies {
    CopyRef shared, local;
  };

  void Tile() {
    Split(gemm_.loops.m, {plan_.threads_m(), plan_.thread_m}, {"ib", "iy", "it"});
    Split(gemm_.loops.n, {plan_.threads_n(), plan_.thread_n}, {"jb", "jx", "jt"});
    Split(gemm_.loops.k, {plan_.tile_k / kGroup, kGroup}, {"lo", "lg", "li"});
    OrderLoops({"iy", "jx", "lg", "li", "it", "jt"});
  }
  void BindThreads(const BlockRef& block) {
    schedule_.Bind(At(block, "iy"), "threadIdx.y");
    schedule_.Bind(At(block, "jx"), "threadIdx.x");
  }

  Copies Copy(const GemmOperand& operand) {
    CopyRef shared = CopyToShared(operand);
    return {shared, schedule_.CacheRead(block_, shared, StorageScope::kLocal,
                                        Name(operand.is_a ? "al" : "bl"))};
  }
  // What a thread needs of shared memory is in registers: A for kGroup of K where it is
  // K-contiguous, B for one.
  void Keep(const Copies& copies, const GemmOperand& operand) {
    bool grouped = operand.k_contiguous() && operand.is_a;
    LoopRefs made = schedule_.ComputeAt(copies.local, At(grouped ? "lg" : "li"));
    for (const LoopRef& loop : made)
      loop == made.back() ? schedule_.Vectorize(loop.Of(copies.local))
                          : schedule_.Unroll(loop.Of(copies.local));
  }

  // Rows of a tile are whole vectors, and of wide elements they start on different banks.
  void Share(const CopyRef& copy, const GemmOperand& operand) {
    LoopRefs made = schedule_.ComputeAt(copy, At("lo"));
    auto rank = static_cast<int64_t>(schedule_.BufferAt(copy.buffer())->shape.size());
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
    if (operand.k_contiguous() && rank > 1)
      schedule_.StorageAlign(copy, rank - 2, 8, operand.bytes() >= 4 ? 4 : 0);
    ShareAmongThreads(copy, made, operand.is_a ? "as" : "bs");
  }

  void Store(const BlockRef& block, const LoopRefs& made) {
    size_t count = made.size();
    auto [cy, cr] =
        schedule_.Split(made[count - 2].Of(block), {plan_.thread_m}, {Name("cy"), Name("cr")});
    auto [cx, cc, cv] =
        schedule_.Split(made[count - 1].Of(block), {plan_.thread_n / store_lanes_, store_lanes_},
                        {Name("cx"), Name("cc"), Name("cv")});
    LoopRefs order = LoopRefs{cy, cx, cr, cc, cv}.Of(block);
    schedule_.Reorder(order);
    schedule_.Bind(order[0], "threadIdx.y");
    schedule_.Bind(order[1], "threadIdx.x");
    schedule_.Unroll(order[2]);
    schedule_.Unroll(order[3]);
    store_lanes_ > 1 ? schedule_.Vectorize(order[4]) : schedule_.Unroll(order[4]);
  }

  const P& plan_;
  int64_t store_lanes_;
};

std::vector<P> ThreadBlockPlans(Schedule* schedule, const BlockInfo& block,
                                const TargetInfo& target, const Wanted<P>& want) {
  Gemm gemm = RequireDeviceGemm(schedule, block.ref, target);
  std::vector<P> plans = EnumeratePlans(*schedule, gemm, target, want);
  if (plans.empty())
    Refuse("no tile suits " + std::to_string(target.max_threads) + " threads and " +
           std::to_string(target.shared_bytes) + " bytes of shared memory");
  return plans;
}

void ApplyThreadBlock(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                      const P& plan) {
  GemmPart part = SplitK(schedule, block.ref, plan, target);
  Gemm gemm = PadToTiles(schedule, part, plan);
  ThreadBlockScheduler(schedule, part.block, gemm, plan, target).Run();
}

}  // namespace

void RegisterDeviceMatmulRules() {
  RegisterRule({.name = "thread_block_matmul",
                .description = "block tiles of A and B in shared memory, accumulators in registers",
                .kinds = {BlockKind::kMatmul, BlockKind::kConvolution, BlockKind::kReduction},
                .fits = [](const TargetInfo& target) { return target.has_shared_memory(); },
                .priority = 20,
                .planned = Planned<P>(ThreadBlockPlans, ApplyThreadBlock)});
}

}  // namespace tern::schedule
