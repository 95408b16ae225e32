// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_BLOCKS_DECOMPOSE_REDUCTIONS_H_
#define TERN_TIR_TRANSFORM_BLOCKS_DECOMPOSE_REDUCTIONS_H_

#include "tern/ir/mutator.h"
#include "tern/tir/function.h"

namespace tern::tir {

// Moves the init of a reduction before its loops, so that the inner loop has no predicate.
//
// Before:  for i { for k { block sum(..) { init { S[vi] = 0 }   S[vi] = S[vi] + A[vi, vk] } } }
// After:   for i { block sum_init(..) { S[vi] = 0 }   for k { block sum(..) { S[vi] = ... } } }
//
// Only where the loops right around the block are those of its reduction axes. The init then runs
// even where these are empty. Other blocks keep their init, for lower_blocks.
PrimFunc DecomposeReductions(const PrimFunc& function);

// Whether DecomposeReductions takes the init of the one block in these loops out of them.
bool IsDecomposable(const ForNode* outermost);

// The init as a block of its own, over the axes that are not reduced; its reduction axes are at 0,
// other variables as `starts` says.
Stmt InitBlock(const BlockNode* block, ir::VarMap starts, const Expr& predicate);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_BLOCKS_DECOMPOSE_REDUCTIONS_H_
