// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_ROW_CHAINS_H_
#define TERN_SCHEDULE_RULES_ROW_CHAINS_H_

#include <vector>

#include "tern/schedule/rules/block_kind.h"

namespace tern::schedule {

// Finds softmax and normalization: chains of blocks over the same rows, some of which reduce rows,
// and whose last is elementwise. The last block's description becomes that of the chain.
void JoinRowChains(const tir::PrimFunc& function, std::vector<BlockInfo>* blocks);

// Finds attention: a GEMM, blocks over its rows with exponentials and reductions among them, and a
// GEMM of what they make. The last one's description becomes that of all; those of row chains among
// them stay.
void JoinAttention(const tir::PrimFunc& function, std::vector<BlockInfo>* blocks);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_ROW_CHAINS_H_
