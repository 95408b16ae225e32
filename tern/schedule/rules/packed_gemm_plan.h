// SPDX-License-Identifier: Apache-2.0
//
// The plans of GEMMs on hosts (host_matmul.cc): what is known of one, and what may be chosen.
#ifndef TERN_SCHEDULE_RULES_PACKED_GEMM_PLAN_H_
#define TERN_SCHEDULE_RULES_PACKED_GEMM_PLAN_H_

#include <vector>

#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/plan.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/schedule/rules/target_info.h"

namespace tern::schedule {

// B is packed at each call where so many M tiles read it; where each row of it is in another page,
// and comes from memory, the fewer.
inline constexpr int64_t kPackUses = 4, kPackUsesOfPages = 2;
// Fewer rows than so many are one tile, which converts B while it reads it.
inline constexpr int64_t kFewRows = 8;
// Rows of B that are read concurrently where it is not packed, or while it is.
inline constexpr int64_t kRowStreams = 16;

enum Pack : int64_t { kInPlace = 0, kPacked = 1, kPrepacked = 2 };

struct PackedGemmPlan : HostPlan {
  int64_t tile_m = 0, tile_n = 0;  // accumulators in registers
  int64_t vector = 0;              // lanes
  // Of N, whose packed B stays in L2 through the M loop, and of M. 0: all of N, packed for a matrix
  // of the batch; all of M, which is dynamic. Blocks of a dynamic M are padded with zeros.
  int64_t block_m = 0, block_n = 0;
  int64_t block_k = 0;  // K that is added to C at a time; 0: all
  int64_t pack_a = kInPlace,
          pack_b = kInPlace;  // kPacked of A: blocks of rows, where they are padded
  int64_t k_streams = 1;      // of the panels of prepacked B
  // 1: the N tile loop is outside of the M tile loop, and columns of B stay in L1 through the
  // latter; 0: the other way round, rows of A stay.
  int64_t n_outer = 0;
  // Of implicit_gemm. 1: N axes that do not lie side by side are batch axes, as images of NCHW.
  int64_t batch = 0;

  static const std::vector<PlanField<PackedGemmPlan>>& Fields() {
    using P = PackedGemmPlan;
    static const std::vector<PlanField<P>> fields = {
        {"tile_m", &P::tile_m},   {"tile_n", &P::tile_n},   {"vector", &P::vector},
        {"block_m", &P::block_m}, {"block_n", &P::block_n}, {"block_k", &P::block_k},
        {"pack_a", &P::pack_a},   {"pack_b", &P::pack_b},   {"k_streams", &P::k_streams},
        {"n_outer", &P::n_outer}, {"batch", &P::batch},     {"parallel", &P::parallel}};
    return fields;
  }
  // Columns of packed B are whole vectors, not whole tiles: the last tile has as many as are left.
  int64_t multiple_of_n(bool dynamic_n) const { return pack_b && !dynamic_n ? vector : tile_n; }
  RegisterTile tile() const { return {tile_m, tile_n / vector, vector}; }
  BatchAxes batch_axes() const { return batch ? BatchAxes::kOuterN : BatchAxes::kShared; }
  void SetTile(const RegisterTile& tile) {
    tile_m = tile.m;
    tile_n = tile.n();
    vector = tile.lanes;
  }
};

// Where the elements of B are.
enum class LayoutOfB {
  kAsIndexed,
  kContiguousN,  // elsewhere, but N is contiguous
  kGathered,     // anywhere: it has to be packed
};

// What the plans of one GEMM depend on.
struct PackedGemmProblem {
  Gemm gemm;
  LayoutOfB b_layout = LayoutOfB::kAsIndexed;
  bool constant_a = false, constant_b = false;  // prepacking costs nothing
  int64_t lanes = 0;
  bool scattered = false;  // vectors along N are not contiguous in B and the result

  int64_t b_bytes() const { return gemm.n * gemm.k * gemm.b.bytes(); }
};

// Cycles of one step along K, as GemmStepCycles, where the last columns are a tile of fewer
// vectors.
double TailedStepCycles(const RegisterTile& tile, int64_t m, int64_t n, int64_t bytes,
                        const TargetInfo& target);

// The plans that are possible, with what is wanted.
std::vector<PackedGemmPlan> PackedGemmPlans(const PackedGemmProblem& problem,
                                            const TargetInfo& target,
                                            const Wanted<PackedGemmPlan>& want);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_PACKED_GEMM_PLAN_H_
