// SPDX-License-Identifier: Apache-2.0
//
// channel_vectors: GEMM with a constant A and columns that fill their last vectors badly, as a 1x1
// convolution of a small NCHW image has: 49 pixels are four vectors of 16.
//
//   transposed[n, m] += B[k, n] * A[m, k]     # packed_matmul: vectors along M, A prepacked
//   C[m, n] = epilogue(transposed[n, m])      # transposed in registers, some rows at a time in L1
//
// Cost: register tiles of both orders as in packed_matmul; packing B, which is read in place here,
// and transposing the result, one cycle per element. On AVX-512 that is images of 7 x 7 (49 of 64
// lanes). Declines: A is not constant, B not N-contiguous or no matrix that half of L2 holds, M no
// multiple of a vector, dynamic M, N or K, not float32, or not 1.15 times as fast.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/packed_gemm_plan.h"
#include "tern/schedule/rules/transpose_tiles.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Cycles to pack a vector of B, and to transpose an element of the result.
constexpr double kPackCycles = 2, kTransposeCycles = 1;
// So much faster it must be: panels of A come from L2 for each tile of N.
constexpr double kLeastGain = 1.15;

// Of one step of K, by the best register tile.
double StepCycles(int64_t m, int64_t n, int64_t lanes, const TargetInfo& target) {
  double best = 0;
  int64_t vectors = std::min(CeilDiv(n, lanes), target.vector_registers);
  for (const RegisterTile& tile : RegisterTiles(m, vectors, lanes, target)) {
    if (!FitsRegisters(tile, 1, target)) continue;
    double cycles = TailedStepCycles(tile, m, n, DataType::Float(32).bytes(), target);
    if (best == 0 || cycles < best) best = cycles;
  }
  return best;
}

// The block writes its result transposed. The copy that is not: of what the one reader of the
// result reads, or to the result.
CopyRef StoreTransposed(Schedule* schedule, const BlockRef& block, const Gemm& gemm) {
  size_t rank = gemm.c->shape.size();
  IndexMap transpose = PackedLayout(rank, gemm.c_m_dim, rank - 1, "k, x"),
           back = PackedLayout(rank, rank - 2, rank - 1, "k, x");
  std::string name = FreshBlockName(*schedule, block + "_transposed");
  BlockRef reader = FindReader(*schedule, block, gemm.c);
  if (!reader) {
    CopyRef copy = schedule->CacheWrite(block, gemm.c, StorageScope::kGlobal, name);
    schedule->TransformLayout(copy, transpose);
    return copy;
  }
  schedule->TransformLayout(gemm.c, transpose);
  CopyRef copy = schedule->CacheRead(reader, gemm.c, StorageScope::kGlobal, name);
  schedule->TransformLayout(copy, back);
  return copy;
}

void ChannelVectors(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  Gemm gemm = RequireGemm(*schedule, block, Sizes::kStatic, BatchAxes::kOuterN);
  DataType dtype = DataType::Float(32);
  int64_t lanes = target.vector_bytes / dtype.bytes();
  if (gemm.c->dtype != dtype || gemm.a.dtype != dtype || gemm.b.dtype != dtype)
    Refuse("it is not of float32 alone");
  if (!IsConstant(*schedule, gemm.a.name)) Refuse(gemm.a.name + " is not constant");
  if (gemm.b.own_dim + 1 != gemm.b.rank) Refuse(gemm.b.name + " is not N-contiguous");
  if (gemm.m % lanes != 0 || gemm.m == 0)
    Refuse("M is " + std::to_string(gemm.m) + ", no multiple of a vector of " +
           std::to_string(lanes));
  if (gemm.k * gemm.n * dtype.bytes() > target.l2_bytes / 2)
    Refuse(gemm.b.name + " is larger than half of L2");
  auto m = static_cast<double>(gemm.m), n = static_cast<double>(gemm.n),
       k = static_cast<double>(gemm.k);
  double by_columns = k * (StepCycles(gemm.m, gemm.n, lanes, target) +
                           kPackCycles * n / static_cast<double>(lanes)),
         by_rows = k * StepCycles(gemm.n, gemm.m, lanes, target) + kTransposeCycles * m * n;
  if (!(by_rows * kLeastGain < by_columns))
    Refuse("it is estimated to be hardly faster: " + CyclesText(by_rows) + " cycles, and " +
           CyclesText(by_columns) + " with vectors along N");
  BlockRef product = block.ref;
  LoopRefs loops = {LoopRef(), LoopRef()};
  for (const BlockAxis& axis : block.axes)
    if (axis.loop == gemm.loops.n || axis.loop == gemm.loops.m)
      loops[axis.loop == gemm.loops.n ? 0 : 1] = axis.loop;
  CopyRef copy = StoreTransposed(schedule, product, gemm);
  schedule->Reorder(loops.Of(product));
  // Before the GEMM, whose epilogue it would be: one that stores by elements.
  if (!TransposeResult(schedule, copy, target)) Refuse("its result is not transposed in registers");
  // Others may transpose it back: transposed_matmul, where M is a few vectors of few lanes.
  for (const char* rule : {"packed_matmul", "implicit_gemm"}) {
    PlanRequest request{block.name, rule, {}};
    RuleResult result = ApplyRules(schedule, DescribeBlock(*schedule, product), target, &request);
    if (!result.rule.empty()) return;
  }
  Refuse("no rule takes the transposed GEMM");
}

}  // namespace

void RegisterHostChannelVectorRule() {
  RegisterRule({.name = "channel_vectors",
                .description = "A constant, N of few vectors: vectors along M, result transposed",
                .kinds = {BlockKind::kMatmul},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 31,
                .apply = ChannelVectors});
}

}  // namespace tern::schedule
