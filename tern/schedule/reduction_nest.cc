// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/reduction_nest.h"

#include <algorithm>

#include "tern/tir/analysis/conjuncts.h"

namespace tern::schedule {

using namespace tern::tir;

std::vector<const ForNode*> ReductionLoops(const Nest& nest) {
  std::vector<const ForNode*> loops;
  for (const ForNode* loop : nest.loops) {
    AxisUse use = UseOf(nest.block, loop->var.node());
    if (!use.reduce) continue;
    if (use.spatial || use.other)
      Refuse("loop " + loop->var.name() + " runs along axes of several kinds");
    loops.push_back(loop);
  }
  return loops;
}

bool IsIn(const std::vector<const ForNode*>& loops, const ForNode* loop) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

bool IsOnSteps(const Expr& condition, const BlockNode* block,
               const std::vector<const ForNode*>& reduction) {
  return UsesAnyOf(condition, reduction) ||
         std::any_of(block->iters.begin(), block->iters.end(), [&](const BlockIter& iter) {
           return iter.kind == IterKind::kReduce && ir::UsesVar(condition, iter.var.node());
         });
}

Expr ConditionElsewhere(const BlockNode* block, const std::vector<const ForNode*>& reduction) {
  return KeepConjuncts(block->predicate,
                       [&](const Expr& part) { return !IsOnSteps(part, block, reduction); });
}

ffi::Ref<BlockNode> OncePerResult(const BlockNode* block, const std::string& name, const Stmt& body,
                                  const std::vector<const ForNode*>& reduction) {
  auto copy = CopyBlock(block);
  copy->name = name;
  copy->init = {};
  ir::VarMap starts;
  for (const ForNode* loop : reduction) starts[loop->var.node()] = loop->min;
  std::erase_if(copy->iters, [](const BlockIter& it) { return it.kind == IterKind::kReduce; });
  for (const BlockIter& iter : block->iters)
    if (iter.kind == IterKind::kReduce)
      starts[iter.var.node()] = ir::IntImmNode::Make(iter.var.dtype(), 0);
  copy->body = Substitute(body, starts);
  copy->predicate = ConditionElsewhere(block, reduction);
  return copy;
}

ffi::Ref<BlockNode> JoinFusedAxes(const Nest& nest, const ForNode* loop) {
  std::vector<const ForNode*> others = nest.around;
  others.insert(others.end(), nest.loops.begin(), nest.loops.end());
  std::erase(others, loop);
  Var axis("v" + loop->var.name(), loop->var.dtype());
  ir::VarMap values;
  for (const BlockIter& iter : nest.block->iters) {
    if (!ir::UsesVar(iter.binding, loop->var.node())) continue;
    if (iter.kind != IterKind::kReduce || UsesAnyOf(iter.binding, others)) return {};
    values[iter.var.node()] = ir::Substitute(iter.binding, {{loop->var.node(), axis}});
  }
  if (values.size() < 2 || nest.block->predicate.get()) return {};
  auto joined = CopyBlock(nest.block);
  std::erase_if(joined->iters, [&](const BlockIter& it) { return values.count(it.var.node()); });
  joined->iters.push_back({loop->extent, loop->var, axis, IterKind::kReduce});
  joined->body = Substitute(joined->body, values);
  if (joined->init) joined->init = Substitute(joined->init, values);
  return joined;
}

}  // namespace tern::schedule
