// SPDX-License-Identifier: Apache-2.0
//
// GEMM with a short side, M or N below 8, that no vector along N is filled by, or no packing is
// worth: one dot product along K for each output. The operand of the long side is K-contiguous; the
// other one is copied where it is not, or where it is narrower than the accumulators.
//
//   short_copy[short, k] = the operand of the short side
//   for long, parallel
//     for short
//       acc[4, lanes] += long[long, k] * short_copy[short, k]    vectors along K
//       C = horizontal sum of acc                                as vectorize_reduction does
//
// Plans are those of vectorize_reduction (reduction_plan.h), by whose cost they are chosen. Against
// vectors along N:
//
//   cycles = outputs * (K / lanes + 20)                # dot products, a horizontal sum each
//            M * K * (1 / 2; M below 4: 1, to pack B)  # vectors along N
//
// Declines what is no faster by that, floats without `reassociate`, a K below two
// vectors, a long operand that is not K-contiguous, and a constant one, which is prepacked.
//
// Convolutions of NHWC with few output channels are the same, with the window around K.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/host_reductions.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/register_tiles.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// The most that is short.
constexpr int64_t kMostShort = 7;
// The most columns that are rows of a transposed result where A comes from memory.
constexpr int64_t kMostTurned = 32;
// From so many steps on, lines of an A of any number of rows leave L1 before the next rows.
constexpr int64_t kLeastTurnedSteps = 256;
// Cycles of a horizontal sum, and until the first product.
constexpr double kSumCycles = 20;
// Cycles of an element of A with a vector of N, and to pack an element of K-contiguous B.
constexpr double kElementCycles = 0.5, kPackCycles = 1;
// Cycles of an element of a window with a vector of N: it may be outside of the image.
constexpr double kWindowCycles = 1;
// Vectors along the channels of a pixel take so many times as long where the last is masked.
constexpr double kMaskFactor = 1.75;

// Whether as many dot products of so many vectors, of K steps, take less time than so many cycles
// for each step.
bool Pays(int64_t length, double vectors, int64_t k, double cycles) {
  return (vectors + kSumCycles) * static_cast<double>(length) < static_cast<double>(k) * cycles;
}

// The operand of the short side, K-contiguous and of the type of the accumulators.
void CopyShort(Schedule* schedule, const BlockInfo& block, const GemmOperand& operand,
               DataType dtype, const TargetInfo& target) {
  if (operand.k_contiguous() && operand.dtype == dtype) return;
  CopyRef copy = schedule->CacheRead(block.ref, operand.buffer, StorageScope::kGlobal,
                                     FreshBlockName(*schedule, block.ref + "_" + operand.name));
  if (operand.dtype != dtype) schedule->SetDtype(copy, dtype);
  if (!operand.k_contiguous())
    schedule->TransformLayout(copy,
                              PackedLayout(operand.rank, operand.own_dim, operand.k_dim, "x, k"));
  ApplyRules(schedule, DescribeBlock(*schedule, copy), target);
}

// A dot product for each output of some loops, along K.
struct Dots {
  GemmOperand narrow;  // the operand of the short side
  LoopRefs order;
};

// Convolutions of NHWC with few output channels: K is the channels, and the pixels are the long
// side.
Dots RequirePixelDots(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target) {
  DataType dtype = block.accesses[0].buffer->dtype;
  int64_t lanes = target.vector_bytes / dtype.bytes(), outputs = 1, taps = 1;
  std::optional<size_t> channels, features;
  for (size_t i = 0; i < block.axes.size(); ++i) {
    const BlockAxis& axis = block.axes[i];
    if (axis.role == AxisRole::kK && !channels) channels = i;
    if (axis.role == AxisRole::kWindow) taps *= ir::AsConstInt(axis.extent).value_or(1);
    if (axis.role != AxisRole::kN) continue;
    features = i;
    outputs *= ir::AsConstInt(axis.extent).value_or(kMostShort + 1);
  }
  if (outputs > kMostShort || !features) Refuse("N is not 1 to " + std::to_string(kMostShort));
  std::optional<int64_t> extent =
      channels ? ir::AsConstInt(block.axes[*channels].extent) : std::nullopt;
  if (!extent || *extent < lanes) Refuse("there are fewer channels than a vector");
  if (!target.masked_vectors && *extent > lanes && *extent < 2 * lanes)
    Refuse("channels are no whole vectors, and there are no masks");
  double vectors = static_cast<double>(CeilDiv(*extent, lanes) * taps);
  if (*extent % lanes != 0) vectors *= kMaskFactor;
  if (!Pays(outputs, vectors, *extent * taps, kWindowCycles))
    Refuse("there are so few channels that vectors along N cost less");
  std::optional<GemmOperand> weights;
  for (const BlockAccess& access : block.accesses) {
    if (access.buffer.same(block.accesses[0].buffer)) continue;
    auto dim_of = [&](size_t axis) -> size_t {
      return std::find_if(
                 access.indices.begin(), access.indices.end(),
                 [&](const Expr& index) { return index.get() == block.axes[axis].var.get(); }) -
             access.indices.begin();
    };
    size_t rank = access.indices.size(), own = dim_of(*features), k = dim_of(*channels);
    if (own < rank && k < rank)
      weights = {access.buffer, access.buffer->name, access.buffer->dtype, rank, own, k};
    else if (k + 1 != rank)
      Refuse("channels are not contiguous in " + access.buffer->name);
  }
  if (!weights) Refuse("the weights have no index that is the output channel");
  LoopsByKind loops = RequireLoops(schedule, block);
  LoopRefs order = loops.spatial;
  order.push_back(block.axes[*channels].loop);
  std::erase(loops.reduce, block.axes[*channels].loop);
  order.insert(order.end(), loops.reduce.begin(), loops.reduce.end());
  return {*weights, order};
}

Dots RequireDots(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target) {
  if (!MatchGemm(schedule, block, Sizes::kDynamic))
    return RequirePixelDots(schedule, block, target);
  Gemm gemm = RequireGemm(schedule, block, Sizes::kDynamic);
  GuessSizes(&gemm, target);
  bool short_n = gemm.n <= gemm.m;
  int64_t length = std::min(gemm.m, gemm.n), lanes = target.vector_bytes / gemm.c->dtype.bytes();
  const GemmOperand &narrow = short_n ? gemm.b : gemm.a, &wide = short_n ? gemm.a : gemm.b;
  if (length > kMostShort || length == 0)
    Refuse("M and N are " + std::to_string(gemm.m) + " and " + std::to_string(gemm.n) +
           "; expected one of 1 to " + std::to_string(kMostShort));
  if (!wide.k_contiguous()) Refuse(wide.name + " is not K-contiguous");
  if (IsConstant(schedule, wide.name)) Refuse(wide.name + " is constant, and can be prepacked");
  if (gemm.k < 2 * lanes) Refuse("K is shorter than two vectors");
  double vectors = static_cast<double>(gemm.k) / static_cast<double>(lanes);
  if (!Pays(length, vectors, gemm.k, short_n ? kElementCycles : kPackCycles))
    Refuse("K is so short that vectors along N cost less");
  LoopRefs order = gemm.loops.batch;
  order.push_back(short_n ? gemm.loops.m : gemm.loops.n);
  order.push_back(short_n ? gemm.loops.n : gemm.loops.m);
  order.push_back(gemm.loops.k);
  return {narrow, order};
}

BlockInfo Prepare(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  Dots dots = RequireDots(*schedule, block, target);
  CopyShort(schedule, block, dots.narrow, block.accesses[0].buffer->dtype, target);
  schedule->Reorder(dots.order.Of(block.ref));
  return DescribeBlock(*schedule, block.ref);
}

std::vector<ReductionPlan> DotPlans(Schedule* schedule, const BlockInfo& block,
                                    const TargetInfo& target, const Wanted<ReductionPlan>& want) {
  Schedule probe = *schedule;
  BlockInfo prepared = Prepare(&probe, block, target);
  return RowPlans(probe, prepared, target, want);
}

void ApplyDots(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
               ReductionPlan* plan) {
  ReduceRows(schedule, Prepare(schedule, block, target), target, plan);
}

// transposed_matmul, transposed_matmul_wide: few columns, and an A that is M-contiguous.
//
//   transposed[n, m] += A[k, m] * B[k, n]      a GEMM of few rows, by the other rules
//   C[m, n] = transposed[n, m]
//
// Declines where A is K-contiguous (dot products), or M is no longer than half of a vector, or N.
void Transpose(Schedule* schedule, const BlockInfo& block, const Gemm& gemm,
               const TargetInfo& target) {
  int64_t lanes = target.vector_bytes / gemm.c->dtype.bytes();
  if (!gemm.a.m_contiguous()) Refuse(gemm.a.name + " is not M-contiguous");
  if (gemm.m <= std::max(lanes / 2, gemm.n)) Refuse("M is no longer than half of a vector, or N");
  size_t rank = gemm.c->shape.size();
  CopyRef copy = schedule->CacheWrite(block.ref, gemm.c, StorageScope::kGlobal,
                                      FreshBlockName(*schedule, block.ref + "_transposed"));
  schedule->TransformLayout(copy, PackedLayout(rank, gemm.c_m_dim, rank - 1, "k, x"));
  schedule->Reorder(LoopRefs{gemm.loops.n, gemm.loops.m}.Of(block.ref));
  // Guesses of rows and columns change places too.
  TargetInfo turned = target;
  std::swap(turned.likely_m, turned.likely_n);
  for (const BlockRef& name : BlockRefs{block.ref, copy})
    if (schedule->tree().Has(name)) ApplyRules(schedule, DescribeBlock(*schedule, name), turned);
}

// N up to 7. Vectors along N would have few lanes, dot-product instructions columns of padding: it
// is asked before all of these.
void TransposedMatmul(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  Gemm gemm = RequireGemm(*schedule, block, Sizes::kDynamic);
  GuessSizes(&gemm, target);
  if (gemm.n > kMostShort || gemm.n == 0) Refuse("N is not 1 to " + std::to_string(kMostShort));
  Transpose(schedule, block, gemm, target);
}

// N up to 32, without dot-product instructions: vectors along N are not filled, or A, read a few
// elements of each row at a time, is not in L2. A constant A is prepacked instead.
void TransposedMatmulWide(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  Gemm gemm = RequireGemm(*schedule, block, Sizes::kDynamic);
  GuessSizes(&gemm, target);
  if (gemm.n > kMostTurned || gemm.n == 0) Refuse("N is not 1 to " + std::to_string(kMostTurned));
  if (gemm.m <= kMostTurned) Refuse("M is not above " + std::to_string(kMostTurned));
  if (!gemm.loops.batch.empty()) Refuse("it is a batch of products");
  bool in_l2 = gemm.m * gemm.k * gemm.a.bytes() <= target.l2_bytes,
       fills = gemm.n * gemm.c->dtype.bytes() >= target.vector_bytes;
  if (!gemm.is_dynamic() && in_l2 && fills)
    Refuse(gemm.a.name + " stays in L2, and N fills vectors");
  if (gemm.dynamic_m && !gemm.dynamic_k && gemm.k < kLeastTurnedSteps)
    Refuse("K is below " + std::to_string(kLeastTurnedSteps) + ", and lines of " + gemm.a.name +
           " stay in L1");
  if (IsConstant(*schedule, gemm.a.name)) Refuse(gemm.a.name + " is constant");
  Transpose(schedule, block, gemm, target);
}

}  // namespace

void RegisterHostDotProductRules() {
  RegisterRule({.name = "transposed_matmul",
                .description = "N below 8, A M-contiguous: the transposed result has few rows",
                .kinds = {BlockKind::kMatmul},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 50,
                .apply = TransposedMatmul});
  RegisterRule({.name = "transposed_matmul_wide",
                .description = "N up to 32, A M-contiguous, from memory: the transposed result",
                .kinds = {BlockKind::kMatmul},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 32,
                .apply = TransposedMatmulWide});
  RegisterRule({.name = "dot_product_matmul",
                .description = "M or N below 8: a dot product along K for each output",
                .kinds = {BlockKind::kMatmul, BlockKind::kConvolution},
                .fits = [](const TargetInfo& target) { return target.is_host_with_vectors(); },
                .priority = 31,
                .planned = Planned<ReductionPlan>(DotPlans, ApplyDots)});
}

}  // namespace tern::schedule
