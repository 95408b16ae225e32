// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <iterator>

#include "tern/schedule/new_block.h"
#include "tern/schedule/schedule.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// What a factor of a product is without its conversions.
Expr Bare(const Expr& expr) {
  const auto* cast = expr.As<ir::CastNode>();
  return cast ? Bare(cast->value) : expr;
}

// Axes of which the extents of some are known: the others stay axes of their own.
void SetDynamicApart(FusedAxes* fused, std::vector<const BlockIter*>* batch) {
  auto is_static = [](const BlockIter* axis) { return ir::AsConstInt(axis->extent) != nullptr; };
  if (std::none_of(fused->axes.begin(), fused->axes.end(), is_static)) return;
  std::copy_if(fused->axes.begin(), fused->axes.end(), std::back_inserter(*batch),
               std::not_fn(is_static));
  std::erase_if(fused->axes, std::not_fn(is_static));
}

}  // namespace

Schedule::Names Schedule::Im2col(const std::string& block_name, Names names) {
  return Do("im2col", {block_name}, [&]() -> Names {
    const BlockNode* block = FindBlock(block_name);
    Nest nest = NestOf(function_->body, block);
    std::optional<ReductionUpdate> update = PlainUpdate(block);
    const auto* product = update ? Bare(update->value).As<ir::MulNode>() : nullptr;
    if (!product || update->op != NodeKind::kAdd || !block->init)
      Refuse("block " + block_name + " is not a sum of products with an init");
    if (!FactsOf(block).whole || block->predicate.get() || !nest.around.empty())
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
        Refuse("axis " + iter.var.name() + " is not one of a single factor");
      else
        (in_first ? rows : columns).axes.push_back(&iter);
    }
    if (rows.axes.empty() || columns.axes.empty() || steps.axes.empty())
      Refuse("block " + block_name + " has no rows, no columns or no sum");
    std::vector<const BlockIter*> batch;
    SetDynamicApart(&rows, &batch);
    SetDynamicApart(&columns, &batch);
    arith::Analyzer analyzer;
    if (!analyzer.CanProve(steps.extent() >= Expr(1)))
      Refuse("the sum of block " + block_name + " may be one of nothing, which has no result");
    // Neighbours in the result are columns.
    const Expr& last = update->store->indices.back();
    if (std::any_of(rows.axes.begin(), rows.axes.end(),
                    [&](const BlockIter* axis) { return UsesAxis(last, *axis); })) {
      std::swap(rows, columns);
      std::swap(first, second);
    }

    Names made = {block_name + "_left", block_name + "_right", block_name + "_sums"};
    for (size_t i = 0; i < names.size(); ++i) made[i] = names[i];
    for (const std::string& name : made) {
      CheckNewBuffer(name);
      if (name != made[2]) CheckNewBlock(name);
    }
    CheckNewBlock(made[2]);
    Expr m = rows.extent(), n = columns.extent(), k = steps.extent();
    // The axes that stay, before two others, in a new block; those of a factor alone where it is
    // one's.
    using Indices = std::vector<Expr>;
    auto add_batch = [&](NewBlock* made, const Expr& factor) {
      Indices indices;
      for (const BlockIter* axis : batch)
        if (!factor.get() || UsesAxis(factor, *axis))
          indices.push_back(made->Add(axis->var.name(), FusedAxes{{axis}}, IterKind::kSpatial));
      return indices;
    };
    auto with = [](Indices indices, const Expr& i, const Expr& j) {
      indices.insert(indices.end(), {i, j});
      return indices;
    };
    auto make = [&](const std::string& name, DataType dtype, const Expr& factor, const Expr& i,
                    const Expr& j) {
      Indices shape;
      for (const BlockIter* axis : batch)
        if (!factor.get() || UsesAxis(factor, *axis)) shape.push_back(axis->extent);
      return BufferNode::Make(name, dtype, with(shape, i, j));
    };
    Buffer left = make(made[0], first.dtype(), first, m, k),
           right = make(made[1], second.dtype(), second, k, n),
           sums = make(made[2], result->dtype, {}, m, n);
    auto fill = [&](const Buffer& buffer, const Expr& factor, const FusedAxes& a,
                    const FusedAxes& b) {
      NewBlock copy(buffer->name);
      Indices at = add_batch(&copy, factor);
      Expr i = copy.Add("i", a, IterKind::kSpatial), j = copy.Add("j", b, IterKind::kSpatial);
      return copy.Finish(
          {}, BufferStoreNode::Make(buffer, with(at, i, j), ir::Substitute(factor, copy.values)));
    };
    Stmt fill_left = fill(left, first, rows, steps),
         fill_right = fill(right, second, steps, columns);

    NewBlock multiply(block_name);
    Indices all = add_batch(&multiply, {}), of_left, of_right;
    for (size_t a = 0; a < batch.size(); ++a) {
      if (UsesAxis(first, *batch[a])) of_left.push_back(all[a]);
      if (UsesAxis(second, *batch[a])) of_right.push_back(all[a]);
    }
    Expr i = multiply.Add("i", rows, IterKind::kSpatial),
         j = multiply.Add("j", columns, IterKind::kSpatial),
         l = multiply.Add("l", steps, IterKind::kReduce);
    Expr value =
        ReplacePart(update->value, first, ir::BufferLoadNode::Make(left, with(of_left, i, l)));
    value = ReplacePart(value, second, ir::BufferLoadNode::Make(right, with(of_right, l, j)));
    Indices sum = with(all, i, j);
    Expr old = ir::BufferLoadNode::Make(sums, sum);
    Stmt step = BufferStoreNode::Make(sums, sum, CombineValues(update->op, old, value));
    AccessRewrite rewrite;
    rewrite.store = [&](const Buffer& stored, const std::vector<Expr>&, const Expr& value) {
      return stored.same(result) ? BufferStoreNode::Make(sums, sum, value) : Stmt();
    };
    Stmt init = Substitute(RewriteAccesses(block->init, rewrite), multiply.values);

    NewBlock out(made[2]);
    Indices out_batch = add_batch(&out, {});
    Expr oi = out.Add("i", rows, IterKind::kSpatial),
         oj = out.Add("j", columns, IterKind::kSpatial);
    std::vector<Expr> place;
    for (const Expr& index : update->store->indices)
      place.push_back(ir::Substitute(index, out.values));
    Stmt store = BufferStoreNode::Make(result, place,
                                       ir::BufferLoadNode::Make(sums, with(out_batch, oi, oj)));

    SetBody(
        ReplaceByRow(function_->body, nest.top().get(),
                     {fill_left, fill_right, multiply.Finish(init, step), out.Finish({}, store)},
                     {left, right, sums}));
    for (const std::string& name : made) facts_[name] = {true, true, true};
    facts_[block_name] = {true, true, true};
    return made;
  });
}

}  // namespace tern::schedule
