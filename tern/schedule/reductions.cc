// SPDX-License-Identifier: Apache-2.0
//
// The steps that take reductions apart, and those that fill them up.
#include <algorithm>
#include <optional>

#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/schedule/update.h"
#include "tern/tir/copy_with_fresh_defs.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

void CheckFactsOfReduction(const BlockNode* block) {
  bool reduces = std::any_of(block->iters.begin(), block->iters.end(),
                             [](const BlockIter& iter) { return iter.kind == IterKind::kReduce; });
  if (!reduces || !block->init) Refuse("block " + block->name + " is no reduction with an init");
}

// The loops of a nest that run along reductions of its block.
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

// That all of the loops run, as far as it is not sure.
Expr Runs(const std::vector<const ForNode*>& loops) {
  Expr all;
  for (const ForNode* loop : loops) {
    Expr runs = ir::IntImmNode::Make(loop->extent.dtype(), 0) < loop->extent;
    if (!arith::Analyzer().CanProve(runs)) all = And(all, runs);
  }
  return all;
}

// Runs at the first iteration of every reduction loop, over the other axes.
ffi::Ref<BlockNode> FirstOnly(const BlockNode* block, const std::string& name, const Stmt& body,
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
  if (copy->predicate) copy->predicate = ir::Substitute(copy->predicate, starts);
  return copy;
}

}  // namespace

std::string Schedule::DecomposeReduction(const std::string& block_name,
                                         const std::string& loop_name, std::string name) {
  return Do("decompose_reduction", {block_name, loop_name}, [&]() -> Names {
    const BlockNode* block = FindBlock(block_name);
    const ForNode* loop = FindLoop(loop_name);
    CheckFactsOfReduction(block);
    Nest nest = NestOf(function_->body, block);
    if (!nest.Has(loop))
      Refuse("loop " + loop_name + " is not one of block " + block_name + " alone");
    Facts facts = FactsOf(block);
    if (!facts.bounded) Refuse("block " + block_name + " does not run over all of its axes");
    name = Or(name, block_name + "_init");
    CheckNewBlock(name);
    std::vector<const ForNode*> reduction = ReductionLoops(nest), inside, others;
    for (size_t i = 0, in = 0; i < nest.loops.size(); ++i) {
      in |= nest.loops[i] == loop;
      if (in) inside.push_back(nest.loops[i]);
      if (in && !IsIn(reduction, nest.loops[i])) others.push_back(nest.loops[i]);
      if (!in && IsIn(reduction, nest.loops[i]))
        Refuse("loop " + nest.loops[i]->var.name() + " of the reduction is around loop " +
               loop_name);
    }
    for (const BlockIter& iter : block->iters)
      if (iter.kind == IterKind::kReduce && UsesAnyOf(iter.binding, nest.around))
        Refuse("axis " + iter.var.name() + " is bound to a loop around other statements");
    auto init = FirstOnly(block, name, block->init, reduction);
    // Without a step nothing is initialised.
    init->predicate = And(init->predicate, Runs(reduction));
    Stmt before = CopyWithFreshDefs(WrapLoops(others, Stmt(init)));
    Stmt after = WrapLoops(inside, block->With({}, block->body));
    SetBody(Replace(function_->body, loop, SeqNode::Make({before, after}, loop->span)));
    facts_[name] = facts_[block_name] = {facts.regular, false, false};
    return {name};
  })[0];
}

std::string Schedule::Rfactor(const std::string& loop_name, std::string name) {
  return Do("rfactor", {loop_name}, [&]() -> Names {
    const ForNode* loop = FindLoop(loop_name);
    std::vector<const BlockNode*> below = BlocksIn(loop->body);
    if (below.size() != 1) Refuse("there is more or less than one block in loop " + loop_name);
    const BlockNode* block = below[0];
    Nest nest = NestOf(function_->body, block);
    name = Or(name, block->name + "_rf");
    CheckNewBlock(name);
    CheckNewBuffer(name);
    CheckFactsOfReduction(block);
    if (!nest.Has(loop))
      Refuse("loop " + loop_name + " is not one of block " + block->name + " alone");
    if (!FactsOf(block).whole)
      Refuse("block " + block->name + " does not run over all of its axes");
    std::vector<const ForNode*> reduction = ReductionLoops(nest);
    if (!IsIn(reduction, loop)) Refuse("loop " + loop_name + " runs along no reduction");
    if (reduction.size() < 2)
      Refuse("loop " + loop_name + " is all of the reduction; split it, and take a part");
    if (!ir::IsConst(loop->min, 0)) Refuse("loop " + loop_name + " does not start at 0");
    std::optional<Update> update = MatchUpdate(block);
    Expr identity = update ? IdentityOf(update->combine, update->store->buffer->dtype) : Expr();
    if (!identity)
      Refuse("block " + block->name +
             " does not combine its result with a value by +, *, min or max");
    CheckMayReassociate(block, "partial results are combined");
    for (const BlockIter& iter : block->iters)
      if (UsesAnyOf(iter.binding, nest.around))
        Refuse("axis " + iter.var.name() + " is bound to a loop around other statements");

    // The partial results: one more axis, along the loop; the other reduction loops are axes
    // themselves.
    Var part("v" + loop->var.name(), loop->var.dtype());
    std::vector<Expr> shape = {arith::Analyzer().Simplify(loop->extent)}, at = {part};
    auto partial = CopyBlock(block);
    partial->name = name;
    partial->iters = {{loop->extent, loop->var, part, IterKind::kSpatial}};
    ir::VarMap axes = {{loop->var.node(), part}};
    for (const BlockIter& iter : block->iters)
      if (iter.kind == IterKind::kSpatial) {
        partial->iters.push_back(iter);
        shape.push_back(iter.extent);
        at.push_back(iter.var);
      }
    for (const ForNode* step : reduction) {
      if (step == loop) continue;
      Var axis("v" + step->var.name(), step->var.dtype());
      axes[step->var.node()] = axis;
      partial->iters.push_back({step->extent, step->var, axis, IterKind::kReduce});
      if (!ir::IsConst(step->min, 0)) Refuse("loop " + step->var.name() + " does not start at 0");
    }
    ir::VarMap values;
    for (const BlockIter& iter : block->iters)
      if (iter.kind == IterKind::kReduce)
        values[iter.var.node()] = ir::Substitute(iter.binding, axes);
    Buffer results = BufferNode::Make(name, update->store->buffer->dtype, shape);
    Expr so_far = ir::BufferLoadNode::Make(results, at);
    partial->init = BufferStoreNode::Make(results, at, identity);
    partial->body = BufferStoreNode::Make(
        results, at, Combine(update->combine, so_far, ir::Substitute(update->value, values)));
    // A part may have no step: of a loop's tail, which the condition cuts off. It begins anyway.
    bool cut = std::any_of(reduction.begin(), reduction.end(), [&](const ForNode* step) {
      return block->predicate.get() && ir::UsesVar(block->predicate, step->var.node());
    });
    std::vector<Stmt> row;
    std::vector<const ForNode*> spatial;
    for (const ForNode* outer : nest.loops)
      if (!IsIn(reduction, outer)) spatial.push_back(outer);
    Expr elsewhere;
    for (const Expr& condition : Conjuncts(block->predicate)) {
      if (!UsesAnyOf(condition, reduction))
        elsewhere = And(elsewhere, condition);
      else if (UsesAnyOf(condition, spatial))
        Refuse("the condition of block " + block->name + " joins axes of several kinds");
    }
    if (cut) {
      auto begin = CopyBlock(partial.get());
      begin->name = name + "_init";
      CheckNewBlock(begin->name);
      begin->body = partial->init;
      begin->init = {};
      begin->predicate = elsewhere;
      std::erase_if(begin->iters, [](const BlockIter& it) { return it.kind == IterKind::kReduce; });
      std::vector<const ForNode*> loops = spatial;
      loops.push_back(loop);
      row.push_back(CopyWithFreshDefs(WrapLoops(loops, Stmt(begin))));
      partial->init = {};
      facts_[begin->name] = {true, false, false};
    }
    row.push_back(CopyWithFreshDefs(WrapLoops(nest.loops, Stmt(partial))));

    // The results of the parts, combined.
    auto final = CopyBlock(block);
    std::erase_if(final->iters, [](const BlockIter& it) { return it.kind == IterKind::kReduce; });
    final->iters.push_back({loop->extent, loop->var, part, IterKind::kReduce});
    final->predicate = And(elsewhere, Runs(reduction));
    ir::VarMap starts;
    for (const BlockIter& iter : block->iters)
      if (iter.kind == IterKind::kReduce)
        starts[iter.var.node()] = ir::IntImmNode::Make(iter.var.dtype(), 0);
    final->init = Substitute(block->init, starts);
    const BufferStoreNode* store = update->store;
    final->body = BufferStoreNode::Make(
        store->buffer, store->indices,
        Combine(update->combine, ir::BufferLoadNode::Make(store->buffer, store->indices), so_far));
    spatial.push_back(loop);
    row.push_back(WrapLoops(spatial, Stmt(final)));
    SetBody(Replace(function_->body, nest.top().get(),
                    AllocateNode::Make(results, SeqNode::Make(std::move(row)))));
    facts_[name] = cut ? Facts{true, false, false} : Facts{true, true, true};
    return {name};
  })[0];
}

}  // namespace tern::schedule
