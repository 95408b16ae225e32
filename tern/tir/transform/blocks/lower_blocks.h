// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_BLOCKS_LOWER_BLOCKS_H_
#define TERN_TIR_TRANSFORM_BLOCKS_LOWER_BLOCKS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Replaces blocks by their bodies.
//
// Before:  for k { block sum(vk: reduce(n) = k) { init { S[0] = 0 }   S[0] = S[0] + A[vk] } }
// After:   for k { if k == 0 { S[0] = 0 }   S[0] = S[0] + A[k] }
//
// Axes become their bindings. An init runs where all reduction axes are at 0; reductions that may
// be empty are initialised as by InitializeEmptyReductions.
PrimFunc LowerBlocks(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_BLOCKS_LOWER_BLOCKS_H_
