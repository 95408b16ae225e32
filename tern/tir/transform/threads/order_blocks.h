// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_THREADS_ORDER_BLOCKS_H_
#define TERN_TIR_TRANSFORM_THREADS_ORDER_BLOCKS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Thread blocks with longer loops start first, so that the last ones to end are short: of a causal
// mask, or a triangular matrix.
//
// Before:  for b in 0..8 bind(blockIdx.x) { for k in 0..b + 1 { S(b, k) } }
// After:   for b in 0..8 bind(blockIdx.x) { for k in 0..7 - b + 1 { S(7 - b, k) } }
//
// Machines start blocks in the order of their indices. Kernels with atomics stay: blocks may wait
// for those before them.
PrimFunc OrderBlocks(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_ORDER_BLOCKS_H_
