// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "tern/schedule/new_block.h"
#include "tern/schedule/schedule.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Dynamic axes of several that are fused become batch axes, and those that are wanted.
void SplitBatch(FusedAxes* fused, const Schedule::Names& wanted,
                std::vector<const BlockIter*>* batch) {
  std::vector<Expr> extents;
  for (const BlockIter* axis : fused->axes) extents.push_back(axis->extent);
  std::vector<size_t> apart = DynamicBesideStatic(extents);
  std::vector<const BlockIter*> kept;
  for (size_t i = 0; i < fused->axes.size(); ++i) {
    const BlockIter* axis = fused->axes[i];
    bool in_batch = std::count(apart.begin(), apart.end(), i) > 0 ||
                    std::count(wanted.begin(), wanted.end(), axis->var.name()) > 0;
    (in_batch ? *batch : kept).push_back(axis);
  }
  fused->axes = kept;
}

}  // namespace

Schedule::Names Schedule::Im2col(const std::string& block_name, const Names& wanted, Names names) {
  Names args = {block_name};
  args.insert(args.end(), wanted.begin(), wanted.end());
  return Do("im2col", args, [&]() -> Names {
    const BlockNode* block = FindBlock(block_name);
    Nest nest = NestOf(tree(), block);
    std::optional<ReductionUpdate> update = PlainUpdate(block);
    Expr summand = update ? Bare(update->value) : Expr();
    const auto* product = summand.As<ir::MulNode>();
    if (!product || update->op != NodeKind::kAdd || !block->init)
      Refuse("block " + block_name + " is not a sum of products with an init");
    if (!FactsOf(block).complete || block->predicate.get() || !nest.around.empty())
      Refuse("block " + block_name + " does not run over all of its axes");
    if (!ReducesInOrder(nest)) CheckMayReassociate(block, "its loops and axes differ in order");
    const Buffer result = SoleResult(block);

    // Rows are of one factor, columns of the other, and steps of both.
    Expr first = Bare(product->a), second = Bare(product->b);
    FusedAxes rows, columns, steps;
    for (const BlockIter& iter : block->iters) {
      bool in_first = UsesAxis(first, iter), in_second = UsesAxis(second, iter);
      if (iter.kind == IterKind::kReduce)
        steps.axes.push_back(&iter);
      else if (iter.kind != IterKind::kSpatial || in_first == in_second)
        Refuse("axis " + iter.var.name() + " is not an axis of exactly one operand");
      else
        (in_first ? rows : columns).axes.push_back(&iter);
    }
    std::vector<const BlockIter*> batch;
    SplitBatch(&rows, wanted, &batch);
    SplitBatch(&columns, wanted, &batch);
    for (const std::string& name : wanted)
      if (std::none_of(batch.begin(), batch.end(),
                       [&](const BlockIter* axis) { return axis->var.name() == name; }))
        Refuse("block " + block_name + " has no spatial axis " + name);
    if (rows.axes.empty() || columns.axes.empty() || steps.axes.empty())
      Refuse("block " + block_name + " has no M, no N or no K axis");
    arith::Analyzer analyzer;
    if (!analyzer.CanProve(steps.extent() >= Expr(1)))
      Refuse("the reduction of block " + block_name + " may be empty");
    // Neighbours in the result are columns.
    const Expr& last = update->store->indices.back();
    if (std::any_of(rows.axes.begin(), rows.axes.end(),
                    [&](const BlockIter* axis) { return UsesAxis(last, *axis); })) {
      std::swap(rows, columns);
      std::swap(first, second);
    }

    Names made = {block_name + "_a", block_name + "_b", block_name + "_c"};
    for (size_t i = 0; i < names.size(); ++i) made[i] = names[i];
    for (const std::string& name : made) {
      CheckNewBuffer(name);
      if (name != made[2]) CheckNewBlock(name);
    }
    CheckNewBlock(made[2]);
    Expr m = rows.extent(), n = columns.extent(), k = steps.extent();
    // The batch axes of an operand, in the place that a block over new axes gives them.
    using Indices = std::vector<Expr>;
    using Axes = std::vector<const BlockIter*>;
    auto used_by = [&](const Expr& operand) {
      Axes used;
      std::copy_if(batch.begin(), batch.end(), std::back_inserter(used),
                   [&](const BlockIter* axis) { return UsesAxis(operand, *axis); });
      return used;
    };
    auto add = [](NewBlock* to, const Axes& axes) {
      for (const BlockIter* axis : axes)
        to->Add(axis->var.name(), FusedAxes{{axis}}, IterKind::kSpatial);
    };
    auto indices = [](const NewBlock& in, const Axes& axes, const Expr& i, const Expr& j) {
      Indices result;
      for (const BlockIter* axis : axes) result.push_back(in.values.at(axis->var.node()));
      result.insert(result.end(), {i, j});
      return result;
    };
    auto make = [](const std::string& name, DataType dtype, const Axes& axes, const Expr& i,
                   const Expr& j) {
      Indices shape;
      for (const BlockIter* axis : axes) shape.push_back(axis->extent);
      shape.insert(shape.end(), {i, j});
      return BufferNode::Make(name, dtype, shape);
    };
    Axes left_batch = used_by(first), right_batch = used_by(second);
    Buffer left = make(made[0], first.dtype(), left_batch, m, k),
           right = make(made[1], second.dtype(), right_batch, k, n),
           sums = make(made[2], result->dtype, batch, m, n);
    auto fill = [&](const Buffer& buffer, const Expr& operand, const Axes& axes, const FusedAxes& a,
                    const FusedAxes& b) {
      NewBlock copy(buffer->name);
      add(&copy, axes);
      Expr i = copy.Add("i", a, IterKind::kSpatial), j = copy.Add("j", b, IterKind::kSpatial);
      return copy.Finish({}, BufferStoreNode::Make(buffer, indices(copy, axes, i, j),
                                                   ir::Substitute(operand, copy.values)));
    };
    Stmt fill_left = fill(left, first, left_batch, rows, steps),
         fill_right = fill(right, second, right_batch, steps, columns);

    NewBlock multiply(block_name);
    add(&multiply, batch);
    Expr i = multiply.Add("i", rows, IterKind::kSpatial),
         j = multiply.Add("j", columns, IterKind::kSpatial),
         l = multiply.Add("l", steps, IterKind::kReduce);
    Expr value = ReplacePart(update->value, first,
                             ir::BufferLoadNode::Make(left, indices(multiply, left_batch, i, l)));
    value = ReplacePart(value, second,
                        ir::BufferLoadNode::Make(right, indices(multiply, right_batch, l, j)));
    Indices sum = indices(multiply, batch, i, j);
    Expr old = ir::BufferLoadNode::Make(sums, sum);
    Stmt step = BufferStoreNode::Make(sums, sum, CombineValues(update->op, old, value));
    AccessRewrite rewrite;
    rewrite.store = [&](const Buffer& stored, const std::vector<Expr>&, const Expr& value) {
      return stored.same(result) ? BufferStoreNode::Make(sums, sum, value) : Stmt();
    };
    Stmt init = Substitute(RewriteAccesses(block->init, rewrite), multiply.values);

    NewBlock out(made[2]);
    add(&out, batch);
    Expr oi = out.Add("i", rows, IterKind::kSpatial),
         oj = out.Add("j", columns, IterKind::kSpatial);
    std::vector<Expr> place;
    for (const Expr& index : update->store->indices)
      place.push_back(ir::Substitute(index, out.values));
    Stmt store = BufferStoreNode::Make(result, place,
                                       ir::BufferLoadNode::Make(sums, indices(out, batch, oi, oj)));

    SetBody(
        ReplaceByRow(tree(), nest.top().get(),
                     {fill_left, fill_right, multiply.Finish(init, step), out.Finish({}, store)},
                     {left, right, sums}));
    for (const std::string& name : made) facts_[name] = {true, true, true};
    facts_[block_name] = {true, true, true};
    return made;
  });
}

}  // namespace tern::schedule
