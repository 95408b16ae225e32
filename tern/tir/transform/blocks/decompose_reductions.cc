// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/blocks/decompose_reductions.h"

#include <algorithm>
#include <unordered_set>

#include "tern/tir/analysis/conjuncts.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

using Vars = std::unordered_set<const ir::Node*>;

// The loops from `node` down to a block, each alone in the other; empty where they end otherwise.
std::vector<const ForNode*> LoopsAroundBlock(const ForNode* node) {
  std::vector<const ForNode*> loops{node};
  for (const auto* inner = node->body.As<ForNode>(); inner; inner = inner->body.As<ForNode>())
    loops.push_back(inner);
  if (!loops.back()->body.As<BlockNode>()) loops.clear();
  return loops;
}

bool UsesAny(const Expr& expr, const Vars& vars) {
  bool uses = false;
  ir::ForEachExpr(expr, [&](const Expr& e) { uses |= vars.count(e.get()) > 0; });
  return uses;
}

// Adds the variables of a sum of variables, each times a positive constant; false where the
// expression is no such sum.
bool CollectSum(const Expr& expr, Vars* vars) {
  if (expr.As<VarNode>()) return vars->insert(expr.get()).second;
  if (const auto* sum = expr.As<ir::AddNode>())
    return CollectSum(sum->a, vars) && CollectSum(sum->b, vars);
  const auto* product = expr.As<ir::MulNode>();
  std::optional<int64_t> factor = product ? ir::AsConstInt(product->b) : std::nullopt;
  return factor && *factor > 0 && product->a.As<VarNode>() && CollectSum(product->a, vars);
}

// Whether the loops are exactly those of the block's reduction axes: all axes are at 0 in the first
// iteration of the nest, and in no other.
bool AreReductionLoops(const std::vector<const ForNode*>& loops, const BlockNode* block) {
  Vars reduced, own;
  for (const BlockIter& iter : block->iters)
    if (iter.kind == IterKind::kReduce && !CollectSum(iter.binding, &reduced)) return false;
  for (const ForNode* loop : loops) own.insert(loop->var.get());
  if (reduced != own) return false;
  bool others_inside =
      std::any_of(block->iters.begin(), block->iters.end(), [&](const BlockIter& iter) {
        return iter.kind != IterKind::kReduce &&
               (UsesAny(iter.binding, own) || UsesAny(iter.extent, own));
      });
  bool regular = std::all_of(loops.begin(), loops.end(), [&](const ForNode* loop) {
    bool in_order = loop->for_kind == ForKind::kSerial || loop->for_kind == ForKind::kUnrolled;
    return in_order && ir::IsConst(loop->min, 0) && !UsesAny(loop->extent, own);
  });
  return regular && !others_inside;
}

const BlockNode* DecomposableBlock(const std::vector<const ForNode*>& loops) {
  const auto* block = loops.empty() ? nullptr : loops.back()->body.As<BlockNode>();
  return block && block->init && AreReductionLoops(loops, block) ? block : nullptr;
}

// The condition as far as it is on what is not reduced: the rest says which steps there are.
Expr SpatialPredicate(const BlockNode* block, const std::vector<const ForNode*>& loops) {
  Vars reduced;
  for (const ForNode* loop : loops) reduced.insert(loop->var.get());
  for (const BlockIter& iter : block->iters)
    if (iter.kind == IterKind::kReduce) reduced.insert(iter.var.get());
  return KeepConjuncts(block->predicate, [&](const Expr& part) { return !UsesAny(part, reduced); });
}

class Decomposer : public StmtMutator {
  using StmtMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    std::vector<const ForNode*> loops = LoopsAroundBlock(node);
    const BlockNode* block = DecomposableBlock(loops);
    if (!block) return MutateChildren(node, self);
    ir::VarMap starts;
    for (const ForNode* loop : loops) starts[loop->var.node()] = loop->min;
    Stmt init = CopyWithFreshDefs(InitBlock(block, starts, SpatialPredicate(block, loops)));
    Stmt update = block->With({}, block->body);
    for (size_t i = loops.size(); i-- > 0;)
      update = loops[i]->With(loops[i]->min, loops[i]->extent, update);
    return SeqNode::Make({init, update}, node->span);
  }
};

}  // namespace

bool IsDecomposable(const ForNode* outermost) {
  return DecomposableBlock(LoopsAroundBlock(outermost)) != nullptr;
}

Stmt InitBlock(const BlockNode* block, ir::VarMap starts, const Expr& predicate) {
  auto init = ffi::Make<BlockNode>(*block);
  init->name = block->name + "_init";
  init->iters.clear();
  for (const BlockIter& iter : block->iters) {
    if (iter.kind != IterKind::kReduce)
      init->iters.push_back(iter);
    else
      starts[iter.var.node()] = ir::MakeConst(iter.var.dtype(), 0);
  }
  init->predicate = predicate ? ir::Substitute(predicate, starts) : Expr();
  init->init = {};
  for (auto* regions : {&init->reads, &init->writes})
    for (BufferRegion& region : *regions)
      for (Range& range : region.ranges)
        range = {ir::Substitute(range.min, starts), ir::Substitute(range.extent, starts)};
  init->body = Substitute(block->init, starts);
  return Stmt(init);
}

PrimFunc DecomposeReductions(const PrimFunc& function) {
  return Decomposer().MutateFunction(function);
}

}  // namespace tern::tir
