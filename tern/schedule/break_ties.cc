// SPDX-License-Identifier: Apache-2.0
//
// break_ties: argmin and argmax whose steps may run in any order.
//
//   if X[i, j] > best[i] { best[i] = X[i, j]   index[i] = j }
//   ->
//   let value = X[i, j]   let place = j
//   if value > best[i] || (value == best[i] && place < index[i]) { best[i] = value ... }
//
// The same where indices grow from step to step, and the init's index is no larger than any: of a
// value that equals that of the init none is taken, or all of them.
#include <algorithm>

#include "tern/arith/linear.h"
#include "tern/arith/linear_sum.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analysis/reduction_step.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Refuses unless an index grows with every step: from the last one of the inner loops to the first
// one of the next iteration of the loop around them, too.
void CheckGrows(const PrimFunc& function, const Nest& nest, const Expr& index,
                const std::string& name) {
  ir::VarMap bindings;
  for (const BlockIter& iter : nest.block->iters) {
    bindings[iter.var.node()] = iter.binding;
    if (iter.kind == IterKind::kReduce && UsesAnyOf(iter.binding, nest.around))
      Refuse("axis " + iter.var.name() + " is bound to a loop around other statements");
  }
  Expr value = ir::Substitute(index, bindings);
  arith::Analyzer analyzer = AnalyzerAt(function, {});
  for (const auto* loops : {&nest.around, &nest.loops})
    for (const ForNode* loop : *loops) analyzer.BindRange(loop->var, loop->min, loop->extent);
  ir::VarMap first, last;
  for (size_t i = nest.loops.size(); i-- > 0;) {
    const ForNode* loop = nest.loops[i];
    if (!UseOf(nest.block, loop->var.node()).reduce) continue;
    Expr one = ir::MakeConst(loop->var.dtype(), 1);
    Expr next =
        ir::Substitute(ir::Substitute(value, first), {{loop->var.node(), Expr(loop->var) + one}});
    if (!arith::ProveLessEqual(analyzer,
                               ir::Substitute(value, last) + ir::MakeConst(value.dtype(), 1), next))
      Refuse("it cannot be proven that " + name + " grows with every step along loop " +
             loop->var.name());
    first[loop->var.node()] = loop->min;
    last[loop->var.node()] = loop->min + loop->extent - one;
  }
}

// Without conversions that keep every value.
Expr Widened(const Expr& index, const arith::Analyzer& analyzer) {
  const auto* cast = index.As<ir::CastNode>();
  if (!cast || !arith::IsIndexType(cast->value.dtype())) return index;
  return analyzer.Bounds(cast->value).hi <= LargestOf(index.dtype()) ? cast->value : index;
}

}  // namespace

void Schedule::BreakTies(const BlockRef& block_ref) {
  Do("break_ties", {TextOf(block_ref)}, [&] {
    const BlockNode* block = At(block_ref);
    std::optional<SelectionUpdate> update = FindSelectionUpdate(block->body);
    if (!update || update->results.size() != 2)
      Refuse("block " + block_ref.name() +
             " is no reduction that keeps a value and its index, as in if X[i] > best { best = "
             "X[i]  index = i }");
    if (!update->is_ordered())
      Refuse("the order of the steps of block " + block_ref.name() + " does not matter already");
    size_t value = update->keys[0], place = 1 - value;
    if (!arith::IsIndexType(update->values[place].dtype()))
      Refuse("the index is " + update->values[place].dtype().str() +
             "; it has to be int32 or int64");
    arith::Analyzer analyzer = AnalyzerAt(function_, {});
    for (const BlockIter& iter : block->iters)
      analyzer.BindRange(iter.var, ir::MakeConst(iter.var.dtype(), 0), iter.extent);
    Expr index = Widened(update->values[place], analyzer);
    CheckGrows(function_, NestOf(tree(), block), index, update->results[place]->name);
    std::vector<Expr> start = StoredValues(block->init, update->results);
    if (start.empty() || !arith::ProveLessEqual(analyzer, start[place], index))
      Refuse("it cannot be proven that " + update->results[place]->name +
             " begins with no more than the index of any step");

    std::vector<Var> next;
    std::vector<Expr> found(2), old(2);
    for (size_t i = 0; i < 2; ++i) {
      next.emplace_back(i == value ? "value" : "place", update->values[i].dtype());
      found[i] = next[i];
      old[i] = ir::BufferLoadNode::Make(update->results[i], update->indices[i]);
    }
    auto better = [&](size_t i, bool larger) {
      return larger ? ir::GTNode::Make(found[i], old[i]) : found[i] < old[i];
    };
    bool last = update->order == SelectionUpdate::Order::kLast;
    Expr take =
        better(value, update->larger) || (found[value] == old[value] && better(place, last));
    std::vector<Stmt> stores;
    for (size_t i = 0; i < 2; ++i)
      stores.push_back(
          BufferStoreNode::Make(update->results[i], update->indices[i], found[i], block->span));
    Stmt body = IfThenElseNode::Make(take, SeqNode::Make(std::move(stores)), {}, block->span);
    for (size_t i = 2; i-- > 0;)
      body = LetStmtNode::Make(next[i], update->values[i], body, block->span);
    ReplaceStmt(block, block->With(block->init, body));
  });
}

}  // namespace tern::schedule
