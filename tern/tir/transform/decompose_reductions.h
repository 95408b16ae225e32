// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_DECOMPOSE_REDUCTIONS_H_
#define TERN_TIR_TRANSFORM_DECOMPOSE_REDUCTIONS_H_

#include "tern/ir/mutator.h"
#include "tern/tir/function.h"

namespace tern::tir {

// Before: blocks with an init. After: where the loops right around such a block are those of its
// reduction axes, the init is a block of its own (`<name>_init`) before them, whether they run or
// not; the innermost loop asks nothing. Other blocks keep their init, for lower_blocks.
PrimFunc DecomposeReductions(const PrimFunc& function);

// Whether DecomposeReductions takes the init of the one block in these loops out of them.
bool IsDecomposable(const ForNode* outermost);

// The init as a block of its own, over the axes that are not reduced; its reduction axes are at 0,
// other variables as `starts` says.
Stmt InitBlock(const BlockNode* block, ir::VarMap starts, const Expr& predicate);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_DECOMPOSE_REDUCTIONS_H_
