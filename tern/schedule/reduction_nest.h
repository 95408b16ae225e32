// SPDX-License-Identifier: Apache-2.0
//
// The loops and conditions of a block that reduces, told apart: along its steps, and along its
// results.
#ifndef TERN_SCHEDULE_REDUCTION_NEST_H_
#define TERN_SCHEDULE_REDUCTION_NEST_H_

#include <string>
#include <vector>

#include "tern/schedule/nest.h"

namespace tern::schedule {

// The loops of a nest that run along reductions of its block.
std::vector<const tir::ForNode*> ReductionLoops(const Nest& nest);
bool IsIn(const std::vector<const tir::ForNode*>& loops, const tir::ForNode* loop);

// Whether a condition is on steps of the reduction.
bool IsOnSteps(const tir::Expr& condition, const tir::BlockNode* block,
               const std::vector<const tir::ForNode*>& reduction);
// The condition of the block, as far as it is not on steps of the reduction.
tir::Expr ConditionElsewhere(const tir::BlockNode* block,
                             const std::vector<const tir::ForNode*>& reduction);

// A block that runs once for all steps, over the other axes of one that reduces.
ffi::Ref<tir::BlockNode> OncePerResult(const tir::BlockNode* block, const std::string& name,
                                       const tir::Stmt& body,
                                       const std::vector<const tir::ForNode*>& reduction);

// The block of a nest, whose reduced axes that a loop was fused of are one, which is bound to it by
// itself. Null where they are not several, or are bound to other loops too.
ffi::Ref<tir::BlockNode> JoinFusedAxes(const Nest& nest, const tir::ForNode* loop);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_REDUCTION_NEST_H_
