// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_ROW_CHAINS_H_
#define TERN_SCHEDULE_RULES_ROW_CHAINS_H_

#include <optional>
#include <vector>

#include "tern/schedule/rules/block_kind.h"

namespace tern::schedule {

// Finds softmax and normalization: chains of blocks over the same rows, some of which reduce rows,
// and whose last is elementwise. The last block's description becomes that of the chain.
void JoinRowChains(const tir::PrimFunc& function, std::vector<BlockInfo>* blocks);
// A GEMM in the last two dimensions of all: C[rows, n] += A[.., m, k] * B[.., k, n],
// or of transposed ones. Rows are batch axes, then M; the other indices of A and B are anything of
// the batch, so that heads may share an operand.
struct RowProduct {
  std::vector<size_t> batch;  // axes, by number
  size_t m = 0, n = 0, k = 0;
  const BlockAccess *a = nullptr, *b = nullptr;
};
std::optional<RowProduct> MatchRowProduct(const tir::BlockNode* node, const BlockInfo& block);

// Finds attention: a GEMM, blocks over its rows with exponentials and reductions among them, and a
// GEMM of what they make. The last one's description becomes that of all; those of row chains among
// them stay.
void JoinAttention(const tir::PrimFunc& function, std::vector<BlockInfo>* blocks);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_ROW_CHAINS_H_
