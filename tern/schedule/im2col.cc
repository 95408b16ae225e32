// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>

#include "tern/schedule/new_block.h"
#include "tern/schedule/schedule.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// The same value, converted last: select(c, float32(x), 0) is float32(select(c, x, 0)).
Expr ConvertLast(const Expr& expr) {
  const auto* select = expr.As<ir::SelectNode>();
  if (!select) return expr;
  Expr value = ConvertLast(select->true_value);
  const auto* cast = value.As<ir::CastNode>();
  const auto* real = select->false_value.As<ir::FloatImmNode>();
  bool is_zero =
      real ? real->value == 0 && !std::signbit(real->value) : ir::IsConst(select->false_value, 0);
  if (!cast || !is_zero) return expr;
  Expr narrow = ir::SelectNode::Make(select->condition, cast->value,
                                     ir::MakeConst(cast->value.dtype(), 0), select->span);
  return ir::CastNode::Make(expr.dtype(), narrow, expr.span());
}

// The narrowest integer that surely has a value, such as int8 of int32(X[i]) - 128 where X is
// uint8; of others their own type.
DataType NarrowTypeOf(const Expr& value) {
  DataType dtype = value.dtype();
  if (!dtype.is_int() || value.As<ir::BufferLoadNode>()) return dtype;
  arith::ConstBounds bounds = arith::Analyzer().Bounds(value);
  for (int bits : {8, 16}) {
    int64_t most = (int64_t{1} << (bits - 1)) - 1;
    if (bits < dtype.bits() && bounds.lo >= -most - 1 && bounds.hi <= most)
      return DataType::Int(bits);
  }
  return dtype;
}

// A factor of the product: as it is written, converted last, and without the conversion.
struct Factor {
  explicit Factor(const Expr& written)
      : written(written),
        value(ConvertLast(written)),
        bare(Bare(value)),
        dtype(NarrowTypeOf(bare)) {}
  // Of what is kept of it.
  Expr Kept() const { return dtype == bare.dtype() ? bare : ir::CastNode::Make(dtype, bare); }
  Expr From(const Expr& kept) const {
    return dtype == bare.dtype() ? kept : ir::CastNode::Make(bare.dtype(), kept);
  }
  Expr written, value, bare;
  DataType dtype;
};

// By what constant an expression divides an axis wherever it uses it; 0 where it uses it otherwise,
// or not at all.
int64_t QuotientOf(const Expr& expr, const BlockIter& iter) {
  int64_t uses = 0, quotients = 0, divisor = 0;
  ir::ForEachExpr(expr, [&](const Expr& part) {
    uses += part.get() == iter.var.get();
    const auto* quotient = part.As<ir::FloorDivNode>();
    std::optional<int64_t> by = quotient ? ir::AsConstInt(quotient->b) : std::nullopt;
    if (!by || quotient->a.get() != iter.var.get() || (divisor && divisor != *by)) return;
    divisor = *by;
    ++quotients;
  });
  return uses == quotients ? divisor : 0;
}

// axis // divisor becomes one variable, and axis % divisor another.
struct AxisSplitter : StmtMutator {
  using StmtMutator::MutateNode;
  Expr MutateNode(const ir::FloorDivNode* node, const Expr& self) override {
    bool is_quotient = node->a.get() == axis && ir::IsConst(node->b, divisor);
    return is_quotient ? Expr(quotient) : MutateChildren(node, self);
  }
  Expr MutateNode(const VarNode* node, const Expr& self) override {
    return node == axis ? quotient * ir::MakeConst(node->dtype, static_cast<double>(divisor)) + rest
                        : self;
  }
  const VarNode* axis = nullptr;
  int64_t divisor = 1;
  Var quotient, rest;
};

// An axis of both factors that one of them divides, as grouped heads and channels, becomes two: the
// quotient is of both, and the rest of the other one.
void SplitGroups(BlockNode* block, const Schedule::Names& batch) {
  for (size_t i = 0; i < block->iters.size(); ++i) {
    BlockIter iter = block->iters[i];
    std::optional<int64_t> extent = ir::AsConstInt(iter.extent);
    std::optional<ReductionUpdate> update = PlainUpdate(block);
    Expr summand = update ? Bare(update->value) : Expr();
    const auto* product = summand.As<ir::MulNode>();
    bool is_batch = std::count(batch.begin(), batch.end(), iter.var.name()) > 0;
    if (!product || !extent || !is_batch || iter.kind != IterKind::kSpatial) continue;
    int64_t a = QuotientOf(product->a, iter), b = QuotientOf(product->b, iter);
    int64_t divisor = std::max(a, b);
    if ((a > 0) == (b > 0) || divisor < 2 || *extent % divisor != 0 || *extent == divisor) continue;
    const Expr& other = a > 0 ? product->b : product->a;
    if (!UsesAxis(other, iter)) continue;
    // A rest beside a dynamic axis could not be fused with it.
    if (std::any_of(block->iters.begin(), block->iters.end(), [&](const BlockIter& beside) {
          return beside.kind == IterKind::kSpatial && !ir::AsConstInt(beside.extent) &&
                 std::count(batch.begin(), batch.end(), beside.var.name()) == 0 &&
                 UsesAxis(other, beside);
        }))
      continue;
    AxisSplitter split;
    DataType dtype = iter.var.dtype();
    split.axis = iter.var.node();
    split.divisor = divisor;
    split.quotient = Var(iter.var.name(), dtype);
    split.rest = Var(iter.var.name() + "_rest", dtype);
    if (block->init) block->init = split.Mutate(block->init);
    block->body = split.Mutate(block->body);
    auto number = [&](int64_t value) { return ir::MakeConst(dtype, static_cast<double>(value)); };
    block->iters[i] = {number(*extent / divisor), {}, split.quotient, IterKind::kSpatial};
    block->iters.insert(block->iters.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                        {number(divisor), {}, split.rest, IterKind::kSpatial});
  }
}

// The reduction axes in the order of their loops; nothing where one has no loop of its own.
std::vector<const BlockIter*> StepsByLoops(const BlockNode* block, const Nest& nest) {
  std::vector<const BlockIter*> steps;
  size_t count = 0;
  for (const BlockIter& iter : block->iters) count += iter.kind == IterKind::kReduce;
  for (const ForNode* loop : nest.loops)
    for (const BlockIter& iter : block->iters)
      if (iter.kind == IterKind::kReduce && iter.binding.get() == loop->var.get())
        steps.push_back(&iter);
  return steps.size() == count ? steps : std::vector<const BlockIter*>();
}

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

CopyRefs Schedule::Im2col(const BlockRef& block_ref, const Names& wanted, Names names) {
  Names args = {TextOf(block_ref)};
  args.insert(args.end(), wanted.begin(), wanted.end());
  return Do("im2col", args, [&] {
    const BlockNode* given = At(block_ref);
    Nest nest = NestOf(tree(), given);
    auto block = CopyBlock(given);
    SplitGroups(block.get(), wanted);
    std::optional<ReductionUpdate> update = PlainUpdate(block.get());
    Expr summand = update ? Bare(update->value) : Expr();
    const auto* product = summand.As<ir::MulNode>();
    if (!product || update->op != ExprKind::kAdd || !block->init)
      Refuse("block " + block_ref.name() + " is not a sum of products with an init");
    if (!FactsOf(given).complete || block->predicate.get() || !nest.around.empty())
      Refuse("block " + block_ref.name() + " does not run over all of its axes");
    const Buffer result = SoleResult(given);

    // Rows are of one factor, columns of the other, and steps of both.
    Factor first(product->a), second(product->b);
    FusedAxes rows, columns, steps;
    std::vector<const BlockIter*> batch;
    for (const BlockIter& iter : block->iters) {
      bool in_first = UsesAxis(first.bare, iter), in_second = UsesAxis(second.bare, iter);
      bool in_batch = std::count(wanted.begin(), wanted.end(), iter.var.name()) > 0;
      if (iter.kind == IterKind::kReduce) continue;
      if (iter.kind == IterKind::kSpatial && in_first && in_second && in_batch)
        batch.push_back(&iter);
      else if (iter.kind != IterKind::kSpatial || in_first == in_second)
        Refuse("axis " + iter.var.name() + " is not an axis of exactly one operand");
      else
        (in_first ? rows : columns).axes.push_back(&iter);
    }
    steps.axes = StepsByLoops(block.get(), nest);
    if (steps.axes.empty()) {
      if (!ReducesInOrder(nest)) CheckMayReassociate(given, "its loops and axes differ in order");
      for (const BlockIter& iter : block->iters)
        if (iter.kind == IterKind::kReduce) steps.axes.push_back(&iter);
    }
    SplitBatch(&rows, wanted, &batch);
    SplitBatch(&columns, wanted, &batch);
    // Fused, an index is divided by the static ones alone.
    std::stable_partition(batch.begin(), batch.end(), [](const BlockIter* axis) {
      return !ir::AsConstInt(axis->extent).has_value();
    });
    for (const std::string& name : wanted)
      if (std::none_of(batch.begin(), batch.end(),
                       [&](const BlockIter* axis) { return axis->var.name() == name; }))
        Refuse("block " + block_ref.name() + " has no spatial axis " + name);
    if (rows.axes.empty() || columns.axes.empty() || steps.axes.empty())
      Refuse("block " + block_ref.name() + " has no M, no N or no K axis");
    arith::Analyzer analyzer;
    // Of several axes each is a quotient and a rest, by the extents of those inside of it.
    for (size_t i = 1; i < steps.axes.size(); ++i)
      if (!analyzer.CanProve(steps.axes[i]->extent >= Expr(1)))
        Refuse("the reduction of block " + block_ref.name() + " may be empty");
    // Neighbours in the result are columns.
    const Expr& last = update->store->indices.back();
    if (std::any_of(rows.axes.begin(), rows.axes.end(),
                    [&](const BlockIter* axis) { return UsesAxis(last, *axis); })) {
      std::swap(rows, columns);
      std::swap(first, second);
    }

    Names made = {block_ref.name() + "_a", block_ref.name() + "_b", block_ref.name() + "_c"};
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
    Axes left_batch = used_by(first.bare), right_batch = used_by(second.bare);
    Buffer left = make(made[0], first.dtype, left_batch, m, k),
           right = make(made[1], second.dtype, right_batch, k, n),
           sums = make(made[2], result->dtype, batch, m, n);
    auto fill = [&](const Buffer& buffer, const Expr& operand, const Axes& axes, const FusedAxes& a,
                    const FusedAxes& b) {
      NewBlock copy(buffer->name, block.get());
      add(&copy, axes);
      Expr i = copy.Add("i", a, IterKind::kSpatial), j = copy.Add("j", b, IterKind::kSpatial);
      return copy.Finish({}, BufferStoreNode::Make(buffer, indices(copy, axes, i, j),
                                                   ir::Substitute(operand, copy.values)));
    };
    Stmt fill_left = fill(left, first.Kept(), left_batch, rows, steps),
         fill_right = fill(right, second.Kept(), right_batch, steps, columns);

    NewBlock multiply(block_ref.name(), block.get());
    add(&multiply, batch);
    Expr i = multiply.Add("i", rows, IterKind::kSpatial),
         j = multiply.Add("j", columns, IterKind::kSpatial),
         l = multiply.Add("l", steps, IterKind::kReduce);
    auto load = [](const Expr& value, const Factor& factor, const Buffer& buffer, Indices at) {
      Expr element = factor.From(ir::BufferLoadNode::Make(buffer, std::move(at)));
      return ReplacePart(value, factor.written, ReplacePart(factor.value, factor.bare, element));
    };
    Expr value = load(update->value, first, left, indices(multiply, left_batch, i, l));
    value = load(value, second, right, indices(multiply, right_batch, l, j));
    Indices sum = indices(multiply, batch, i, j);
    Expr old = ir::BufferLoadNode::Make(sums, sum);
    Stmt step = BufferStoreNode::Make(sums, sum, CombineValues(update->op, old, value));
    AccessRewrite rewrite;
    rewrite.store = [&](const Buffer& stored, const std::vector<Expr>&, const Expr& value) {
      return stored.same(result) ? BufferStoreNode::Make(sums, sum, value) : Stmt();
    };
    Stmt init = Substitute(RewriteAccesses(block->init, rewrite), multiply.values);

    NewBlock out(made[2], block.get());
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
    for (const std::string& name : made) SetFacts(name, {true, true, true});
    SetFacts(block_ref.name(), {true, true, true});
    return MadeAs(made);
  });
}

}  // namespace tern::schedule
