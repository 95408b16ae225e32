// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/blocks/lower_blocks.h"

#include "tern/tir/transform/blocks/initialize_empty_reductions.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class BlockLowerer : public StmtMutator {
  using StmtMutator::MutateNode;
  Stmt MutateNode(const BlockNode* node, const Stmt&) override {
    ir::VarMap bindings;
    Expr first;
    for (const BlockIter& iter : node->iters) {
      bindings[iter.var.node()] = iter.binding;
      if (iter.kind != IterKind::kReduce) continue;
      Expr at_start = iter.binding == ir::MakeConst(iter.binding.dtype(), 0);
      first = first ? first && at_start : at_start;
    }
    Stmt body = Mutate(Substitute(node->body, bindings));
    if (node->init) {
      Stmt init = Mutate(Substitute(node->init, bindings));
      body = SeqNode::Make({IfThenElseNode::Make(first, init, {}, node->span), body}, node->span);
    }
    if (!node->predicate) return body;
    return IfThenElseNode::Make(ir::Substitute(node->predicate, bindings), body, {}, node->span);
  }
};

}  // namespace

PrimFunc LowerBlocks(const PrimFunc& function) {
  return BlockLowerer().MutateFunction(InitializeEmptyReductions(function, false));
}

}  // namespace tern::tir
