// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_ROW_CHAINS_H_
#define TERN_SCHEDULE_RULES_ROW_CHAINS_H_

#include <vector>

#include "tern/schedule/rules/block_kind.h"

namespace tern::schedule {

// Finds blocks over the same rows, some of which reduce rows and the last of which computes
// elements with the results. The description of the last one, alone, becomes that of all.
void JoinRowChains(const tir::PrimFunc& function, std::vector<BlockInfo>* blocks);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_ROW_CHAINS_H_
