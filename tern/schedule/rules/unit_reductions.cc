// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "tern/arith/analyzer.h"
#include "tern/arith/linear.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/block_kind.h"
#include "tern/schedule/rules/fuse_axes.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Indices that are an axis are written as that: `let row = vy + 0 - 0` is vy wherever it is used.
struct SimplifyIndices : StmtMutator {
  using StmtMutator::MutateNode;
  Expr MutateNode(const ir::AddNode* node, const Expr& self) override {
    return AxisOr(MutateChildren(node, self));
  }
  Expr MutateNode(const ir::SubNode* node, const Expr& self) override {
    return AxisOr(MutateChildren(node, self));
  }
  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    Expr value = Mutate(node->value);
    if (!value.As<VarNode>()) return MutateChildren(node, self);
    return Mutate(Substitute(node->body, {{node->var.node(), value}}));
  }
  static Expr AxisOr(const Expr& expr) {
    if (!arith::IsIndexType(expr.dtype())) return expr;
    Expr simple = arith::Analyzer().Simplify(expr);
    return simple.As<VarNode>() ? simple : expr;
  }
};

bool IsUnit(const BlockIter& iter) {
  return iter.kind == IterKind::kReduce && ir::IsConst(iter.extent, 1);
}

// The block without its reduction axes of extent 1.
Stmt WithoutUnitAxes(const BlockNode* block) {
  ir::VarMap zero;
  for (const BlockIter& iter : block->iters)
    if (IsUnit(iter)) zero[iter.var.node()] = ir::MakeConst(iter.var.dtype(), 0);
  auto bare = CopyBlock(block);
  std::erase_if(bare->iters, IsUnit);
  bare->body = SimplifyIndices().Mutate(Substitute(block->body, zero));
  if (block->init) bare->init = Substitute(block->init, zero);
  if (block->predicate) bare->predicate = ir::Substitute(block->predicate, zero);
  return Stmt(bare);
}

// What a block should be without them: a convolution a GEMM, and a reduction still one.
std::optional<BlockKind> KindWithout(const BlockNode* block) {
  BlockKind kind = DescribeBlock(block).kind;
  if (kind == BlockKind::kConvolution) return BlockKind::kMatmul;
  if (kind == BlockKind::kReduction) return kind;
  return {};
}

}  // namespace

PrimFunc DropUnitReductions(const PrimFunc& function) {
  std::vector<const BlockNode*> blocks = BlocksIn(function->body);
  std::erase_if(blocks, [](const BlockNode* block) {
    return std::none_of(block->iters.begin(), block->iters.end(), IsUnit) || !KindWithout(block);
  });
  if (blocks.empty()) return function;
  StmtTree tree(function->body);
  struct Rewrite : StmtMutator {
    Stmt Mutate(const Stmt& stmt) override {
      auto it = replaced.find(stmt.get());
      return it == replaced.end() ? StmtMutator::Mutate(stmt) : it->second;
    }
    using StmtMutator::Mutate;
    std::unordered_map<const StmtNode*, Stmt> replaced;
  } rewrite;
  for (const BlockNode* block : blocks) {
    Stmt bare = WithoutUnitAxes(block);
    if (DescribeBlock(bare.As<BlockNode>()).kind != KindWithout(block)) continue;
    Nest nest = NestOf(tree, block);
    auto is_used = [&](const ForNode* loop) {
      const auto& iters = bare.As<BlockNode>()->iters;
      return std::any_of(iters.begin(), iters.end(), [&](const BlockIter& iter) {
        return ir::UsesVar(iter.binding, loop->var.node());
      });
    };
    std::vector<const ForNode*> kept;
    for (const ForNode* loop : nest.loops)
      if (is_used(loop) || !ir::IsConst(loop->extent, 1)) kept.push_back(loop);
    rewrite.replaced[nest.top().get()] = WrapLoops(kept, bare);
  }
  return function.WithBody(rewrite.Mutate(function->body));
}

}  // namespace tern::schedule
