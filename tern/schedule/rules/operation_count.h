// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_OPERATION_COUNT_H_
#define TERN_SCHEDULE_RULES_OPERATION_COUNT_H_

#include "tern/tir/stmt.h"

namespace tern::schedule {

// Arithmetic of one instance of a block, for cost models: an operator counts once, a call as a
// polynomial of 16; loads, stores, casts and indices do not count.
//
//   S[vi] = S[vi] + X[vi, vj + 1] * 2     ->   2
int64_t CountArithmetic(const tir::BlockNode* block);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_OPERATION_COUNT_H_
