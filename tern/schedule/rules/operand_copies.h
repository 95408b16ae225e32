// SPDX-License-Identifier: Apache-2.0
//
// Operands that are copied first, in another order. Of a device's GEMM by kernels of their own, so
// that 16 bytes are copied at a time to shared memory: elements one by one would take longer than
// to multiply.
#ifndef TERN_SCHEDULE_RULES_OPERAND_COPIES_H_
#define TERN_SCHEDULE_RULES_OPERAND_COPIES_H_

#include <string>

#include "tern/schedule/rules/gemm.h"

namespace tern::schedule {

// A copy of a buffer that a block reads, with one of its dimensions as the last, by its own rule.
void CopyWithDimLast(Schedule* schedule, const BlockRef& block, const tir::Buffer& buffer,
                     size_t dim, const TargetInfo& target);

// Convolutions whose channels are not contiguous (NCHW): the input and the weights are copied with
// channels last, and padded to a multiple of a vector. Nothing is done to others, nor to fewer
// channels than a vector has.
void PutChannelsLast(Schedule* schedule, const BlockRef& block, const TargetInfo& target);

// A padded operand whose rows start at odd elements of narrow types: it is copied as padded, where
// its rows are whole vectors.
void CopyOddRows(Schedule* schedule, const GemmOperand& operand, const TargetInfo& target);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_OPERAND_COPIES_H_
