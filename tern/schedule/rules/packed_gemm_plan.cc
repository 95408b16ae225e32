// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/packed_gemm_plan.h"

#include <algorithm>
#include <optional>

namespace tern::schedule {
namespace {

using P = PackedGemmPlan;

// Where rows of B are so far apart, each is in another page.
constexpr int64_t kPageBytes = 4096;
// Cycles to pack a vector of B.
constexpr double kPackCycles = 2;
// Cycles to pack an element of B, or to store one of the result, where it has no neighbours.
constexpr double kScatterCycles = 2;
// From so many cycles on, a plan of one block costs so many times what it would by itself.
constexpr double kParallelCycles = 20000, kAloneFactor = 1.5;
// Where half of L2 holds B, but not A too, all of B is packed before, and A comes from memory once:
// so many blocks of rows are what threads share.
constexpr int64_t kRowBlocks = 16;
// What a last tile of fewer vectors costs beside its arithmetic: it is code of its own.
constexpr double kTailFactor = 1.05;
// Interleaved K streams of prepacked B that comes from memory: the prefetcher follows each of them
// to the end of a page.
constexpr int64_t kPrepackedStreams = 4;
// Blocks of N, and the least and most columns of one, where B is read in place: long parts of its
// rows are prefetched, accumulators stay in L1.
constexpr int64_t kStreamedBlocks = 8, kLeastStreamedN = 512, kStreamedN = 2048;

// Whether B is not in L2, or may not be.
bool IsInMemory(const PackedGemmProblem& problem, const TargetInfo& target) {
  return problem.b_bytes() > target.l2_bytes || problem.gemm.dynamic_n || problem.gemm.dynamic_k;
}
// So few rows of such a B that memory is the limit.
bool IsMemoryBound(const PackedGemmProblem& problem, const TargetInfo& target) {
  return problem.gemm.m <= std::min((target.vector_registers - 2) / 2, target.l1_ways) &&
         IsInMemory(problem, target);
}

// Rows of a tile that B is read in place for, at most twice: from memory, then from L1. 0: there
// are too many. Steps of K that are a multiple of a page apart share the ways of L1.
int64_t StreamedRows(const PackedGemmProblem& problem, const TargetInfo& target) {
  const Gemm& gemm = problem.gemm;
  bool apart = !gemm.dynamic_k && !gemm.dynamic_m && gemm.a.k_contiguous() &&
               gemm.k * gemm.a.bytes() % kPageBytes != 0;
  int64_t most = (target.vector_registers - 2) / 2;
  if (!apart) most = std::min(most, target.l1_ways);
  bool twice = 4 * gemm.m * target.memory_bytes_per_cycle <=
               5 * gemm.b.bytes() * problem.lanes * target.fma_per_cycle;
  int64_t rows = gemm.m <= most ? gemm.m : twice ? CeilDiv(gemm.m, 2) : gemm.m;
  return rows <= most ? rows : 0;
}

// So many rows, and as many vectors as hide the latency of an accumulator.
RegisterTile FlatTile(const PackedGemmProblem& problem, int64_t rows, const TargetInfo& target) {
  RegisterTile tile{rows, 2, problem.lanes};
  auto fits = [&](int64_t n) {
    return target.masked_vectors ? n <= problem.gemm.n : problem.gemm.n % n == 0;
  };
  while (tile.m * tile.vectors < target.fma_per_cycle * target.fma_latency && fits(2 * tile.n()))
    tile.vectors *= 2;
  return tile;
}

// FMAs and bytes of B from memory, of which most overlaps, and packing.
void SetCost(const PackedGemmProblem& problem, const TargetInfo& target, P* plan) {
  const Gemm& gemm = problem.gemm;
  auto divide = [](double a, int64_t b) { return a / static_cast<double>(b); };
  auto batch = static_cast<double>(gemm.batch), b_bytes = static_cast<double>(problem.b_bytes());
  auto step_cycles = plan->pack_b && !gemm.dynamic_n ? TailedStepCycles : GemmStepCycles;
  double arithmetic = batch * static_cast<double>(gemm.k) *
                      step_cycles(plan->tile(), gemm.m, gemm.n, gemm.b.bytes(), target);
  // Accumulators of several tiles are loaded and stored for each block of K; those of one tile
  // while B comes from memory.
  if (plan->block_k && plan->tile_m < gemm.m) arithmetic *= 1 + divide(2, plan->block_k);
  double memory = 0, packing = 0;
  if (problem.b_bytes() > target.l2_bytes)
    memory = batch * divide(b_bytes, target.memory_bytes_per_cycle);
  // In place, rows of B are apart, which costs about as much as packing.
  if (plan->pack_b != kPrepacked && plan->block_k == 0)
    packing = kPackCycles * batch * divide(b_bytes, gemm.b.bytes() * plan->vector);
  double scattering =
      problem.scattered ? kScatterCycles * static_cast<double>(gemm.n * (gemm.m + gemm.k)) : 0;
  plan->cycles =
      std::max(arithmetic, memory) + std::min(arithmetic, memory) / 8 + packing + scattering;
  // One block that packs B is of one thread, while others have nothing to do.
  bool is_alone = plan->pack_b == kPacked && gemm.batch == 1 && !gemm.dynamic_m &&
                  !gemm.dynamic_n && !gemm.dynamic_batch && gemm.m <= plan->block_m &&
                  (plan->block_n == 0 || gemm.n <= plan->block_n);
  if (target.threads != 1 && is_alone && plan->cycles >= kParallelCycles)
    plan->cycles *= kAloneFactor;
  plan->limit = std::max(divide(gemm.flops() / 2, plan->vector * target.fma_per_cycle), memory);
}

// Constant A is prepacked; a larger one comes from memory while it is used, better as tile_m
// streams.
Pack PackOfA(const PackedGemmProblem& problem, const RegisterTile& tile, const TargetInfo& target) {
  const Gemm& gemm = problem.gemm;
  bool packs =
      tile.m > 1 && problem.constant_a && gemm.m * gemm.k * gemm.a.bytes() <= target.l2_bytes;
  return packs ? kPrepacked : kInPlace;
}

// B is read in place, several rows of it concurrently, and the accumulators stay in L1. One that
// could be prepacked is only read so where that is surely as fast.
std::vector<P> StreamedPlans(const PackedGemmProblem& problem, const TargetInfo& target,
                             const Wanted<P>& want) {
  const Gemm& gemm = problem.gemm;
  int64_t acc_bytes = gemm.m * gemm.n * gemm.b.bytes(), rows = StreamedRows(problem, target);
  bool cuts = gemm.dynamic_n || gemm.dynamic_k || gemm.k % kRowStreams != 0 ||
              gemm.n % (2 * problem.lanes) != 0;
  if (problem.b_layout != LayoutOfB::kAsIndexed || gemm.b.k_contiguous() ||
      (gemm.dynamic_n && gemm.dynamic_m) || rows == 0 || !IsInMemory(problem, target) ||
      (cuts && !target.masked_vectors) || gemm.n < 2 * problem.lanes ||
      (problem.constant_b && acc_bytes > target.l1_bytes / 2))
    return {};
  P plan;
  plan.SetTile(FlatTile(problem, rows, target));
  plan.pack_a = PackOfA(problem, plan.tile(), target);
  plan.block_m = gemm.dynamic_m ? 0 : RoundUp(gemm.m, rows);
  int64_t n = RoundUp(gemm.n, plan.tile_n);
  auto columns = [&](int64_t blocks) { return RoundUp(CeilDiv(n, blocks), plan.tile_n); };
  int64_t part = std::clamp(columns(kStreamedBlocks),
                            std::min(kLeastStreamedN, columns(kStreamedBlocks / 2)), kStreamedN);
  if (gemm.dynamic_n) part = kStreamedN / 2;
  plan.block_n = want.Or(&P::block_n, target.threads == 1 && !gemm.dynamic_n ? n : part);
  plan.block_k = want.Or(&P::block_k, kRowStreams);
  bool fits = plan.block_n > 0 && plan.block_n % plan.tile_n == 0 && plan.block_k > 0 &&
              (target.masked_vectors || gemm.k % plan.block_k == 0);
  SetCost(problem, target, &plan);
  return fits ? std::vector<P>{plan} : std::vector<P>{};
}

// The other numbers of a tile, as they are wanted or else best; nothing where that is not possible.
std::optional<P> PlanOfTile(const PackedGemmProblem& problem, const RegisterTile& tile,
                            const TargetInfo& target, const Wanted<P>& want) {
  const Gemm& gemm = problem.gemm;
  P plan;
  plan.SetTile(tile);
  int64_t m = RoundUp(gemm.m, tile.m), n = RoundUp(gemm.n, tile.n());
  int64_t k_bytes = gemm.k * gemm.b.bytes();
  bool in_l1 = problem.b_layout == LayoutOfB::kContiguousN
                   ? tile.n() * k_bytes <= target.l1_bytes / 2
                   : problem.b_bytes() <= target.l1_bytes;
  // N that is not contiguous is no vectors; panels that many M tiles read are contiguous. The last
  // columns of whole tiles are masked, or packed with zeros behind them.
  bool pages = problem.b_layout == LayoutOfB::kAsIndexed && problem.b_bytes() > target.l2_bytes &&
               gemm.n * gemm.b.bytes() >= kPageBytes;
  bool many_uses = m / tile.m >= (pages ? kPackUsesOfPages : kPackUses);
  bool pads = gemm.dynamic_n || gemm.n != n;
  bool masks = target.masked_vectors && (gemm.m <= tile.m || (!many_uses && !gemm.dynamic_n));
  bool must_pack =
      problem.b_layout == LayoutOfB::kGathered || gemm.b.k_contiguous() || (pads && !masks);
  bool packs = must_pack || (many_uses && !in_l1);
  plan.pack_b = want.Or(&P::pack_b, problem.constant_b ? kPrepacked : packs ? kPacked : kInPlace);
  bool streams = plan.pack_b == kPrepacked && problem.b_bytes() > target.l2_bytes &&
                 !gemm.dynamic_k && gemm.k % kPrepackedStreams == 0;
  plan.k_streams = want.Or(&P::k_streams, streams ? kPrepackedStreams : 1);
  plan.n_outer = want.Or(
      &P::n_outer, problem.b_layout == LayoutOfB::kContiguousN && plan.pack_b == kInPlace ? 1 : 0);
  plan.pack_a = want.Or(&P::pack_a, PackOfA(problem, tile, target));
  // A K-contiguous B that is padded is copied twice: both copies are in L2.
  bool twice = plan.pack_b == kPacked && gemm.b.k_contiguous() && pads;
  GemmBlocks blocks = ChooseBlocks(m, n, tile.m, tile.n(), (twice ? 2 : 1) * k_bytes, target, true);
  int64_t operand_bytes = m * gemm.k * gemm.a.bytes() + n * k_bytes;
  if (problem.constant_a && plan.pack_b == kPacked && !gemm.is_dynamic() && !twice &&
      n * k_bytes <= target.l2_bytes / 2 && operand_bytes > target.l2_bytes / 2)
    blocks = {std::min(RoundUp(CeilDiv(m, kRowBlocks), tile.m), m), n};
  plan.block_m = want.Or(&P::block_m, gemm.dynamic_m ? 0 : blocks.m);
  plan.block_n = want.Or(&P::block_n, gemm.dynamic_n ? tile.n() : blocks.n);
  auto is_block = [](int64_t block, int64_t tile, int64_t all) {
    return block > 0 && block <= all && block % tile == 0;
  };
  bool possible =
      ((plan.block_n == 0 && plan.pack_b != kPrepacked) ||
       (gemm.dynamic_n ? plan.block_n == tile.n() : is_block(plan.block_n, tile.n(), n))) &&
      (plan.block_m == 0 ? gemm.dynamic_m
                         : is_block(plan.block_m, tile.m, gemm.dynamic_m ? plan.block_m : m)) &&
      (plan.pack_b == kPrepacked
           ? problem.constant_b
           : plan.pack_b == kPacked || (plan.pack_b == kInPlace && !must_pack)) &&
      (plan.pack_a == kPrepacked ? problem.constant_a
       : plan.pack_a == kPacked  ? gemm.dynamic_m && plan.block_m > 0
                                 : plan.pack_a == kInPlace) &&
      (plan.k_streams == 1 || (plan.k_streams > 1 && plan.pack_b == kPrepacked && !gemm.dynamic_k &&
                               gemm.k % plan.k_streams == 0)) &&
      (plan.n_outer == 0 || plan.n_outer == 1);
  if (!possible) return {};
  SetCost(problem, target, &plan);
  return plan;
}

}  // namespace

double TailedStepCycles(const RegisterTile& tile, int64_t m, int64_t n, int64_t bytes,
                        const TargetInfo& target) {
  int64_t whole = n / tile.n() * tile.n(), vectors = CeilDiv(n - whole, tile.lanes);
  double cycles = GemmStepCycles(tile, m, whole, bytes, target);
  if (vectors == 0) return cycles;
  cycles += GemmStepCycles({tile.m, vectors, tile.lanes}, m, n - whole, bytes, target);
  return whole > 0 && vectors < tile.vectors ? kTailFactor * cycles : cycles;
}

std::vector<PackedGemmPlan> PackedGemmPlans(const PackedGemmProblem& problem,
                                            const TargetInfo& target, const Wanted<P>& want) {
  const Gemm& gemm = problem.gemm;
  std::vector<P> plans = StreamedPlans(problem, target, want);
  std::vector<RegisterTile> tiles;
  bool flat = problem.constant_b && !gemm.is_dynamic() && IsMemoryBound(problem, target) &&
              gemm.n % (2 * problem.lanes) == 0;
  if (flat) {
    tiles = {FlatTile(problem, gemm.m, target)};
  } else {
    int64_t vectors = std::min(CeilDiv(gemm.n, problem.lanes), target.vector_registers);
    for (const RegisterTile& tile : RegisterTiles(gemm.m, vectors, problem.lanes, target))
      if (FitsRegisters(tile, 1, target)) tiles.push_back(tile);
  }
  for (const RegisterTile& tile : tiles)
    if (std::optional<P> plan = PlanOfTile(problem, tile, target, want)) plans.push_back(*plan);
  return plans;
}

}  // namespace tern::schedule
