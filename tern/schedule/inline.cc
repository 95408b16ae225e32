// SPDX-License-Identifier: Apache-2.0
//
// The steps that make one block of two.
#include <algorithm>

#include "tern/arith/iter_map.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/block_op.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// buffer[axes] = value, once for every element: the one thing that `body` of a block does.
const BufferStoreNode* ElementStore(const BlockNode* block, const Stmt& body) {
  std::string name = "block " + block->name;
  const auto* store = body.As<BufferStoreNode>();
  if (!store || store->predicate.get() || block->init) Refuse(name + " is more than one store");
  for (const BlockIter& iter : block->iters)
    if (iter.kind != IterKind::kSpatial)
      Refuse(name +
             " is not elementwise: it has an axis that is "
             "not spatial");
  return store;
}

const BufferStoreNode* ElementStore(const BlockNode* block) {
  return ElementStore(block, block->body);
}

// What a block does once its lets are defined.
Stmt AfterLets(const BlockNode* block) {
  Stmt body = block->body;
  for (const auto* let = body.As<LetStmtNode>(); let; let = body.As<LetStmtNode>())
    body = let->body;
  return body;
}

// The values of the axes at an element; axes that it does not say anything of are at 0.
ir::VarMap AxesAt(const BlockNode* block, const std::vector<Expr>& element,
                  const std::vector<Expr>& indices) {
  ir::VarMap values;
  for (size_t d = 0; d < element.size(); ++d) {
    const auto* var = element[d].As<VarNode>();
    bool is_axis = var && std::any_of(block->iters.begin(), block->iters.end(),
                                      [&](const BlockIter& it) { return it.var.get() == var; });
    if (!is_axis || values.count(var))
      Refuse("block " + block->name + " does not access each element at axes of its own");
    values[var] =
        indices[d].dtype() == var->dtype ? indices[d] : ir::CastNode::Make(var->dtype, indices[d]);
  }
  for (const BlockIter& iter : block->iters) {
    if (values.count(iter.var.node())) continue;
    if (!ir::IsConst(iter.extent, 1))
      Refuse("axis " + iter.var.name() + " of block " + block->name +
             " is not one of the element's");
    values[iter.var.node()] = ir::IntImmNode::Make(iter.var.dtype(), 0);
  }
  return values;
}

// Refuses unless every element that is made is read, by the instance of the same place, and made
// once.
void CheckSameElements(const BlockNode* producer, const BufferStoreNode* store,
                       const BlockNode* consumer, const std::vector<Access>& reads) {
  const std::vector<Expr>& element = reads[0].indices;
  AxesAt(consumer, element, element);
  for (const Access& read : reads)
    for (size_t d = 0; d < element.size(); ++d)
      if (read.indices[d].get() != element[d].get())
        Refuse("block " + consumer->name + " reads more than one element");
  std::vector<Expr> extents;
  for (const Expr& axis : element)
    for (const BlockIter& iter : consumer->iters)
      if (iter.var.get() == axis.get()) extents.push_back(iter.extent);
  std::vector<arith::IterRange> axes;
  for (const BlockIter& iter : producer->iters)
    axes.push_back({iter.var, {ir::MakeConst(iter.var.dtype(), 0), iter.extent}});
  arith::Analyzer analyzer;
  arith::IterMapResult found = arith::DetectIterMap(store->indices, axes, {}, analyzer);
  if (!found.map || !arith::IsBijective(*found.map, extents, analyzer))
    Refuse("block " + consumer->name + " does not read all of what block " + producer->name +
           " makes, each element once");
}

bool Reads(const BlockNode* block, const Buffer& buffer) {
  std::vector<Access> accesses = AccessesOf(AsStmt(block), buffer);
  return std::any_of(accesses.begin(), accesses.end(), [](const Access& a) { return !a.store; });
}

// Statements that read a buffer.
std::vector<const StmtNode*> ReadersOf(const Stmt& root, const Buffer& buffer) {
  struct Scan : StmtVisitor {
    using StmtVisitor::Visit;
    void Visit(const Stmt& stmt) override {
      at.push_back(stmt.get());
      StmtVisitor::Visit(stmt);
      at.pop_back();
    }
    using StmtVisitor::VisitNode;
    void VisitNode(const ir::BufferLoadNode* node) override {
      if (node->buffer.same(buffer) && (readers.empty() || readers.back() != at.back()))
        readers.push_back(at.back());
      VisitChildren(node);
    }
    Buffer buffer;
    std::vector<const StmtNode*> at, readers;
  } scan;
  scan.buffer = buffer;
  scan.Visit(root);
  return scan.readers;
}

// Blocks that read a buffer compute its operators, too.
Stmt AddOp(const Stmt& root, const Buffer& buffer, const std::string& op) {
  struct Adder : StmtMutator {
    using StmtMutator::MutateNode;
    Stmt MutateNode(const BlockNode* node, const Stmt& stmt) override {
      Stmt result = MutateChildren(node, stmt);
      return Reads(node, buffer) ? WithOp(result, JoinOps(op, OpOf(node))) : result;
    }
    Buffer buffer;
    std::string op;
  } adder;
  if (op.empty()) return root;
  adder.buffer = buffer;
  adder.op = op;
  return adder.Mutate(root);
}

}  // namespace

void Schedule::ComputeInline(const BlockRef& block_ref) {
  Do("compute_inline", {TextOf(block_ref)}, [&] {
    const BlockNode* block = At(block_ref);
    const BufferStoreNode* store = ElementStore(block);
    Nest nest = NestOf(tree(), block);
    Buffer buffer = SoleResult(block);
    if (!AllocationOf(tree(), buffer))
      Refuse(buffer->name + " is a parameter, which has to be computed");
    if (!FactsOf(block).bounded)
      Refuse("block " + block_ref.name() + " does not run over all of its axes");
    if (AccessesOf(nest.top(), buffer).size() > 1)
      Refuse("block " + block_ref.name() + " reads what it computes");
    for (const StmtNode* reader : ReadersOf(function_->body, buffer)) {
      Between between = FindBetween(tree(), nest.top().get(), "block " + block_ref.name(), reader,
                                    "what reads " + buffer->name);
      CheckMayMove(function_, between, nest.top(), {buffer});
      CheckNothingCarried(function_, tree(), between, buffer);
      CheckVisible(between.to_a, AsStmt(store), "block " + block_ref.name());
    }
    AxesAt(block, store->indices, store->indices);
    AccessRewrite rewrite;
    rewrite.load = [&](const Buffer& loaded, const std::vector<Expr>& indices) -> Expr {
      if (!loaded.same(buffer)) return {};
      for (const Expr& index : indices)
        if (!index.dtype().is_scalar()) Refuse(buffer->name + " is read as a vector");
      return ir::Substitute(store->value, AxesAt(block, store->indices, indices));
    };
    RemoveStmt(nest.top().get());
    if (const AllocateNode* left = AllocationOf(tree(), buffer)) ReplaceStmt(left, left->body);
    SetBody(RewriteAccesses(AddOp(function_->body, buffer, OpOf(block)), rewrite));
  });
}

void Schedule::ReverseComputeInline(const BlockRef& block_ref) {
  Do("reverse_compute_inline", {TextOf(block_ref)}, [&] {
    const BlockNode* consumer = At(block_ref);
    ElementStore(consumer, AfterLets(consumer));
    Nest nest = NestOf(tree(), consumer);
    if (!FactsOf(consumer).complete)
      Refuse("block " + block_ref.name() + " does not run over all of its axes");
    for (const Expr& part : Conjuncts(consumer->predicate))
      if (!UsesAnyOf(part, nest.loops))
        Refuse("block " + block_ref.name() + " runs under a condition");
    // The one buffer of the function that it reads and a block of one store writes.
    const BlockNode* producer = nullptr;
    Buffer buffer;
    for (const BlockNode* block : BlocksIn(function_->body)) {
      const auto* store = block->body.As<BufferStoreNode>();
      if (block == consumer || !store || !Reads(consumer, store->buffer)) continue;
      if (producer) Refuse("block " + block_ref.name() + " reads the results of several blocks");
      producer = block;
      buffer = store->buffer;
    }
    if (!producer) Refuse("block " + block_ref.name() + " reads the result of no block");
    const BufferStoreNode* before = ElementStore(producer);
    std::string from = "block " + producer->name;
    if (!FactsOf(producer).complete) Refuse(from + " does not run over all of its axes");
    SoleResult(producer);
    SoleResult(consumer);
    if (!AllocationOf(tree(), buffer)) Refuse(buffer->name + " is a parameter");
    std::vector<Access> reads = AccessesOf(AsStmt(consumer), buffer);
    if (AccessesOf(function_->body, buffer).size() != reads.size() + 1)
      Refuse(buffer->name + " is read elsewhere, too");
    Stmt top = nest.top();
    Between between = FindBetween(tree(), NestOf(tree(), producer).top().get(), from, top.get(),
                                  "block " + block_ref.name());
    CheckMayMove(function_, between, top, {buffer});
    CheckNothingCarried(function_, tree(), between, buffer);
    CheckVisible(between.to_b, consumer->body, "block " + block_ref.name());
    CheckSameElements(producer, before, consumer, reads);

    ir::VarMap axes = AxesAt(consumer, reads[0].indices, before->indices);
    AccessRewrite rewrite;
    rewrite.load = [&](const Buffer& loaded, const std::vector<Expr>&) {
      return loaded.same(buffer) ? before->value : Expr();
    };
    Stmt joined = RewriteAccesses(Substitute(consumer->body, axes), rewrite);
    auto copy = CopyBlock(producer);
    copy->body = joined;
    SetOp(copy.get(), JoinOps(OpOf(producer), OpOf(consumer)));
    RemoveStmt(top.get());
    ReplaceStmt(producer, Stmt(copy));
    const AllocateNode* allocation = AllocationOf(tree(), buffer);
    ReplaceStmt(allocation, allocation->body);
  });
}

}  // namespace tern::schedule
