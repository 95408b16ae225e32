// SPDX-License-Identifier: Apache-2.0
//
// The GEMM that a block computes, as all rules for GEMM read it, and what they share: padding, the
// fused prologue and epilogue, the layouts of packed operands.
#ifndef TERN_SCHEDULE_RULES_GEMM_H_
#define TERN_SCHEDULE_RULES_GEMM_H_

#include <optional>
#include <string>
#include <vector>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// A or B.
struct GemmOperand {
  tir::Buffer buffer;
  std::string name;
  DataType dtype;
  size_t rank = 0;
  size_t own_dim = 0, k_dim = 0;  // dimensions: M of A or N of B; K
  bool is_a = false;

  bool k_contiguous() const { return k_dim + 1 == rank; }
  bool m_contiguous() const { return is_a && own_dim + 1 == rank; }
  int64_t bytes() const { return dtype.bytes(); }
};

// C[batch, m, n] += A[batch, m, k] * B[batch, k, n]. Each operand has its dimensions in any order;
// N is the last one of C.
struct Gemm {
  struct Loops {
    LoopRef m, n, k;
    LoopRefs batch;
  } loops;
  int64_t batch = 1, m = 0, n = 0, k = 0;  // extents; a guess where they are dynamic
  bool dynamic_m = false, dynamic_n = false, dynamic_k = false, dynamic_batch = false;
  GemmOperand a, b;
  tir::Buffer c;
  size_t c_m_dim = 0;
  // The elementwise block that alone reads C, where C is allocated by the function, or none.
  BlockRef epilogue;

  double flops() const;
  bool is_dynamic() const { return dynamic_m || dynamic_n || dynamic_k; }
};

// Which extents a rule needs to be static. Those of the batch never.
enum class Sizes { kStatic, kDynamicM, kDynamic };
// Which axes are a batch, beside those of all operands: of several N axes, or of several M axes,
// all but the last one of C.
enum class BatchAxes { kShared, kOuterN, kOuterM };

// The match. Nothing where an extent is dynamic that may not be, or where an operand is not indexed
// by batch, M, N and K alone, one loop each.
std::optional<Gemm> MatchGemm(const Schedule& schedule, const BlockInfo& block, Sizes sizes,
                              BatchAxes batch_axes = BatchAxes::kShared);
// Refuses there.
Gemm RequireGemm(const Schedule& schedule, const BlockInfo& block, Sizes sizes,
                 BatchAxes batch_axes = BatchAxes::kShared);
// The same of a block as it is now.
Gemm RequireGemm(const Schedule& schedule, const BlockRef& block, Sizes sizes,
                 BatchAxes batch_axes = BatchAxes::kShared);

// Dynamic extents become what the target takes as likely.
void GuessSizes(Gemm* gemm, const TargetInfo& target);

// M, N and K padded with zeros to multiples; 1: as it is. What reads C reads the padded one; a
// parameter is copied to. Returns the GEMM as it is then.
struct GemmMultiples {
  int64_t m = 1, n = 1, k = 1;
};
Gemm PadGemm(Schedule* schedule, const BlockInfo& block, const GemmMultiples& multiples,
             Sizes sizes, BatchAxes batch_axes = BatchAxes::kShared);

// Whether a tensor or buffer has the same values at every call (tern/tir/analysis/preparation.h):
// a block outside of all loops that computes with such values alone is prepacked, once.
bool IsConstant(const Schedule& schedule, const std::string& buffer);

// The loops of a block's nest, one for each axis; none where the axis has a single value. The axes
// of a copy are its dimensions.
LoopRefs LoopsOfAxes(const Schedule& schedule, const BlockRef& block);

// The block that computes a buffer of the function's own element by element, or none.
BlockRef ProducerOf(const Schedule& schedule, const tir::Buffer& buffer);
// The block that alone reads the result of another, where it has spatial axes alone, or none.
BlockRef FindReader(const Schedule& schedule, const BlockRef& block, const tir::Buffer& result);
// The same, where it reads each element at its axes, in their order: an epilogue.
BlockRef FindEpilogue(const Schedule& schedule, const BlockRef& block, const tir::Buffer& result);

// Fused epilogue: the reader is computed in the block that writes the result, where it can be.
void FuseEpilogue(Schedule* schedule, const BlockRef& block, const tir::Buffer& result);

// C is in a buffer of its own scope, the accumulators. Returns the block that reads them: the
// epilogue, or a copy to C.
BlockRef KeepAccumulators(Schedule* schedule, const BlockRef& block, const Gemm& gemm,
                          tir::StorageScope scope);

// Which producers: all; those that no other block reads; or of these only those that call no
// function, for a block that runs several times for an element.
enum class Producers { kAll, kOwn, kCheap };
// Fused prologue: elementwise producers that a block reads are computed in it.
void FusePrologue(Schedule* schedule, const BlockRef& block, Producers producers = Producers::kAll);
// Whether there is one that would be, of the cheap ones.
bool HasCheapProducer(const Schedule& schedule, const BlockRef& block);

// Whether an index is a reduction axis, or that of a group's part: g * extent + axis.
bool IsChannelIndex(const ir::Expr& index, const BlockAxis& axis);
// Before im2col. Steps of K in a row are channels, not taps of the window: those of a tile are then
// under one condition, and side by side where channels are.
void MakeChannelsInnermost(Schedule* schedule, const BlockInfo& block);
// The last two dimensions of an operand that im2col made change places where neighbours of the one
// before are neighbours in what it is made of; where vectors are asked for, in groups of those, and
// unless neighbours of the last one are, too.
void PutContiguousLast(Schedule* schedule, const CopyRef& operand, int64_t vector_bytes = 0);
// After im2col, whose copy of A is given. Where N has fewer columns than a vector has lanes, as in
// NHWC with groups of few channels, M and N change places if vectors of A can be copied. Returns
// whether they did.
bool SwapNarrow(Schedule* schedule, const BlockRef& block, const BlockRef& a, int64_t vector_bytes);
// The spatial axes that both factors of a product have: a batch.
Schedule::Names SharedAxes(const BlockInfo& block);

// The layout of an operand's copy, or of C: other dimensions first, then what is said of "x", its M
// or N, and of "k". PackedLayout(b, "x // 32, k, x % 32") is panels of 32 columns.
IndexMap PackedLayout(size_t rank, size_t own_dim, size_t k_dim, const std::string& to);

// Fewer rows of an M-contiguous A are read in place.
inline constexpr int64_t kLeastTransposedRows = 16;
// A copy of an M-contiguous A, K-contiguous, which the GEMM reads instead. It is a block of its
// own, for the rules of transpositions.
CopyRef CopyRowsOfA(Schedule* schedule, const BlockRef& block, const GemmOperand& a,
                    const std::string& copy);

// The innermost loop that moved a block into a tile, `loops`, becomes vectors of so many lanes; the
// loop over vectors and the one around it are unrolled. The tail is that of the split.
void StoreTile(Schedule* schedule, const BlockRef& block, const LoopRefs& loops, int64_t lanes,
               const Schedule::Names& names, bool unroll = true,
               TailStrategy tail = TailStrategy::kLoop);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_GEMM_H_
