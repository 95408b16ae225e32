// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/instances.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tern/tir/visitor.h"

namespace tern::tir {

// The loops around each block that none of its axes depends on.
struct Instances::Finder : StmtVisitor {
  explicit Finder(PointerMap<BlockNode, std::unique_ptr<Axes>>* axes) : axes(axes) {}
  using StmtVisitor::VisitNode;
  using Vars = std::unordered_set<const VarNode*>;

  Vars LoopsIn(const Expr& expr) const {
    Vars loops;
    ir::ForEachExpr(expr, [&](const Expr& e) {
      auto it = depends.find(e.As<VarNode>());
      if (it != depends.end()) loops.insert(it->second.begin(), it->second.end());
    });
    return loops;
  }
  void VisitNode(const LetStmtNode* node) override {
    depends[node->var.node()] = LoopsIn(node->value);
    VisitChildren(node);
  }
  void VisitNode(const ForNode* node) override {
    depends[node->var.node()] = {node->var.node()};
    // Threads are no rounds: they run at once.
    bool repeats = node->for_kind != ForKind::kThread && node->for_kind != ForKind::kParallel;
    if (repeats) loops.push_back(node->var.node());
    VisitChildren(node);
    if (repeats) loops.pop_back();
  }
  void VisitNode(const WhileNode* node) override {
    ++whiles;
    VisitChildren(node);
    --whiles;
  }
  void VisitNode(const BlockNode* node) override {
    Axes found;
    found.block = node;
    found.in_while = whiles > 0;
    Vars bound;
    for (const BlockIter& iter : node->iters) {
      Vars own = LoopsIn(iter.binding);
      bound.insert(own.begin(), own.end());
      depends[iter.var.node()] = std::move(own);
      if (iter.kind == IterKind::kSpatial)
        found.spatial.push_back(iter.var.node());
      else if (iter.kind != IterKind::kReduce)
        found.round.push_back(iter.var.node());
    }
    for (const VarNode* loop : loops)
      if (!bound.count(loop)) found.round.push_back(loop);
    if (!found.spatial.empty() && !axes->Find(node))
      (*axes)[node] = std::make_unique<Axes>(std::move(found));
    VisitChildren(node);
  }

  PointerMap<BlockNode, std::unique_ptr<Axes>>* axes;
  std::unordered_map<const VarNode*, Vars> depends;
  std::vector<const VarNode*> loops;
  int whiles = 0;
};

Instances::Instances(const ir::IRModule& module) {
  Finder finder(&axes_);
  for (const auto& [name, base] : module->functions)
    if (PrimFunc function = IfPrimFunc(base)) finder.Visit(function->body);
}

InstanceId Instances::Begin(const BlockNode* block, const Variables& vars) {
  const std::unique_ptr<Axes>* found = axes_.Find(block);
  if (!found) return 0;
  Axes& axes = **found;
  current_.clear();
  current_.push_back(axes.in_while ? rounds_ : 0);
  for (const VarNode* var : axes.round) current_.push_back(vars.Find(var)->i());
  for (const VarNode* var : axes.spatial) current_.push_back(vars.Find(var)->i());
  // The steps of a reduction are of one instance.
  if (axes.last && std::equal(current_.begin(), current_.end(),
                              values_.begin() + instances_[axes.last - 1].first))
    return axes.last;
  instances_.push_back({&axes, values_.size()});
  values_.insert(values_.end(), current_.begin(), current_.end());
  return axes.last = static_cast<InstanceId>(instances_.size());
}

Instances::Difference Instances::Between(InstanceId now, InstanceId earlier) const {
  if (!now || !earlier || now == earlier) return {};
  const Instance &a = instances_[now - 1], &b = instances_[earlier - 1];
  if (a.axes != b.axes) return {};
  const int64_t *of_a = &values_[a.first], *of_b = &values_[b.first];
  size_t round = a.axes->round.size() + 1;
  if (!std::equal(of_a, of_a + round, of_b)) return {};
  for (size_t i = 0; i < a.axes->spatial.size(); ++i)
    if (of_a[round + i] != of_b[round + i])
      return {a.axes->spatial[i], of_a[round + i], of_b[round + i]};
  return {};
}

}  // namespace tern::tir
