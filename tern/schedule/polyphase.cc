// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tern/arith/linear_sum.h"
#include "tern/ir/structural.h"
#include "tern/schedule/new_block.h"
#include "tern/schedule/schedule.h"
#include "tern/schedule/window_convolution.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

int64_t FloorDivide(int64_t a, int64_t b) { return (a - (((a % b) + b) % b)) / b; }

// A dimension of a transposed convolution: of t = position + shift - tap only multiples of the
// stride count, and the input is read at t // stride.
struct PhaseDim {
  const BlockIter *position = nullptr, *tap = nullptr;
  int64_t stride = 1, shift = 0;
  int64_t taps = 0;
  Var at{"at"};  // in the input

  // Of one phase, of which there are `stride`.
  int64_t window() const { return (taps + stride - 1) / stride; }
  // Where the input is read for the first position and the first tap of the window.
  int64_t first() const { return FloorDivide(shift, stride) - (window() - 1); }
  // The least t // stride that a tap has.
  int64_t least() const { return -FloorDivide(taps - 1 - shift, stride); }
  Expr positions() const {
    Expr last = ir::FloorDiv(position->extent + Expr(shift - 1), Expr(stride));
    return arith::Analyzer().Simplify(last - Expr(FloorDivide(shift, stride) - 1));
  }
  // Of a position.
  Expr phase(const Expr& y) const { return ir::FloorMod(y + Expr(shift), Expr(stride)); }
  Expr place(const Expr& y) const {
    return ir::FloorDiv(y + Expr(shift), Expr(stride)) - Expr(FloorDivide(shift, stride));
  }
};

// The dimension that a condition (y + 1 - dy) % 2 == 0 is of, or nothing.
std::optional<PhaseDim> DimOf(const BlockNode* block, const Expr& condition) {
  const auto* equal = condition.As<ir::EQNode>();
  const auto* rest = equal && ir::IsConst(equal->b, 0) ? equal->a.As<ir::FloorModNode>() : nullptr;
  std::optional<int64_t> stride = rest ? ir::AsConstInt(rest->b) : std::nullopt;
  auto sum = rest ? arith::LinearSum::Of(rest->a) : std::nullopt;
  if (!stride || *stride < 2 || !sum || sum->terms.size() != 2) return {};
  PhaseDim dim;
  dim.stride = *stride;
  dim.shift = sum->constant;
  for (const BlockIter& iter : block->iters) {
    int64_t coefficient = sum->CoefficientOf(iter.var.node());
    if (coefficient == 1 && iter.kind == IterKind::kSpatial) dim.position = &iter;
    if (coefficient == -1 && iter.kind == IterKind::kReduce) dim.tap = &iter;
  }
  if (!dim.position || !dim.tap) return {};
  dim.taps = ir::AsConstInt(dim.tap->extent).value_or(0);
  if (dim.taps < 1) Refuse("the extent of axis " + dim.tap->var.name() + " is dynamic");
  return dim;
}

// A number that is 0.
bool IsZeroValue(const Expr& value) { return IsZero(value) || ir::IsConst(value, 0); }

// A transposed convolution. The input, which is read by a part of the taps, is one of
// PhaseDim::at.
struct Phases {
  Expr part, input, weights;
  std::vector<PhaseDim> dims;
  FusedAxes outputs;
  std::vector<const BlockIter*> batch, channels;

  const PhaseDim* DimOfPosition(const BlockIter* iter) const {
    for (const PhaseDim& dim : dims)
      if (dim.position == iter) return &dim;
    return nullptr;
  }
  const PhaseDim* DimOfTap(const BlockIter* iter) const {
    for (const PhaseDim& dim : dims)
      if (dim.tap == iter) return &dim;
    return nullptr;
  }
};

// Whether a factor is zero but for some positions, and which.
bool FindDims(const BlockNode* block, const Expr& factor, Phases* found) {
  const auto* select = factor.As<ir::SelectNode>();
  if (!select || !IsZeroValue(select->false_value)) return false;
  for (const Expr& condition : Conjuncts(select->condition))
    if (std::optional<PhaseDim> dim = DimOf(block, condition)) found->dims.push_back(*dim);
  return !found->dims.empty();
}

Phases ReadPhases(const BlockNode* block, const Expr& a, const Expr& b) {
  Phases found;
  bool first = FindDims(block, a, &found);
  if (!first && !FindDims(block, b, &found))
    Refuse("no factor of block " + block->name +
           " is zero but where a position less a tap is a multiple of a stride");
  found.part = found.input = first ? a : b;
  found.weights = first ? b : a;
  arith::Analyzer analyzer;
  for (PhaseDim& dim : found.dims) {
    dim.at = Var("at", dim.position->var.dtype());
    Expr position = dim.tap->var + dim.at * Expr(dim.stride) - Expr(dim.shift);
    found.input =
        analyzer.Simplify(ir::Substitute(found.input, {{dim.position->var.node(), position}}));
    if (UsesAxis(found.input, *dim.tap) || UsesAxis(found.weights, *dim.position))
      Refuse("axis " + dim.tap->var.name() + " is used for more than the tap of a window");
  }
  for (const BlockIter& iter : block->iters) {
    if (found.DimOfPosition(&iter) || found.DimOfTap(&iter)) continue;
    bool in_input = UsesAxis(found.input, iter), in_weights = UsesAxis(found.weights, iter);
    if (iter.kind == IterKind::kReduce)
      found.channels.push_back(&iter);
    else if (iter.kind != IterKind::kSpatial || in_input == in_weights)
      Refuse("axis " + iter.var.name() + " is not an axis of exactly one operand");
    else if (in_input)
      found.batch.push_back(&iter);
    else
      found.outputs.axes.push_back(&iter);
  }
  return found;
}

// An input that may have such conditions already.
Expr ZeroUnless(const std::vector<Expr>& conditions, const Expr& input) {
  const auto* select = input.As<ir::SelectNode>();
  std::vector<Expr> known = select ? Conjuncts(select->condition) : std::vector<Expr>();
  Expr all = select ? select->condition : Expr();
  for (const Expr& condition : conditions)
    if (std::none_of(known.begin(), known.end(),
                     [&](const Expr& one) { return ir::StructuralEqual(one, condition); }))
      all = And(condition, all);
  if (!all.get()) return input;
  return select ? ir::SelectNode::Make(all, select->true_value, select->false_value)
                : ir::SelectNode::Make(all, input, ir::MakeConst(input.dtype(), 0));
}

class PhaseSplitter {
 public:
  PhaseSplitter(const BlockNode* block, const ReductionUpdate& update, const Phases& phases,
                const std::vector<std::string>& names)
      : block_(block), update_(update), phases_(phases) {
    Expr filters = phases.outputs.extent();
    for (const PhaseDim& dim : phases.dims) filters = filters * Expr(dim.stride);
    filters_ = arith::Analyzer().Simplify(filters);
    std::vector<Expr> weights_shape, sums_shape;
    for (const BlockIter* axis : phases.channels) weights_shape.push_back(axis->extent);
    for (const PhaseDim& dim : phases.dims) weights_shape.emplace_back(dim.window());
    weights_shape.insert(weights_shape.begin(), filters_);
    for (const Place& place : PlacesOf()) sums_shape.push_back(place.extent);
    weights_ = BufferNode::Make(names[0], phases.weights.dtype(), weights_shape);
    sums_ = BufferNode::Make(names[1], update.store->buffer->dtype, sums_shape);
  }

  Stmt Replace(const StmtTree& tree, const Stmt& top) const {
    return ReplaceByRow(tree, top.get(), {FillWeights(), Convolve(), Interleave()},
                        {weights_, sums_});
  }

 private:
  // A dimension of the sums: an axis of the batch, the positions of a dimension, or the filters.
  struct Place {
    const BlockIter* batch = nullptr;
    const PhaseDim* dim = nullptr;
    Expr extent;
  };
  // In the order of the result's, all filters where the first output axis is.
  std::vector<Place> PlacesOf() const {
    std::vector<Place> places;
    std::vector<const BlockIter*> seen;
    bool has_filters = false;
    for (const Expr& index : update_.store->indices) {
      if (ir::AsConstInt(index)) continue;
      const BlockIter* axis = nullptr;
      for (const BlockIter& iter : block_->iters)
        if (iter.var.get() == index.get()) axis = &iter;
      if (!axis) Refuse("an index of " + update_.store->buffer->name + " is no axis");
      seen.push_back(axis);
      if (const PhaseDim* dim = phases_.DimOfPosition(axis)) {
        places.push_back({nullptr, dim, dim->positions()});
      } else if (std::count(phases_.batch.begin(), phases_.batch.end(), axis) > 0) {
        places.push_back({axis, nullptr, axis->extent});
      } else if (!has_filters) {
        places.push_back({nullptr, nullptr, filters_});
        has_filters = true;
      }
    }
    for (const BlockIter& iter : block_->iters)
      if (iter.kind == IterKind::kSpatial && std::count(seen.begin(), seen.end(), &iter) != 1)
        Refuse("axis " + iter.var.name() + " is no index of the result");
    if (!has_filters) places.push_back({nullptr, nullptr, filters_});
    return places;
  }

  // The filter of these phases and outputs.
  Expr FilterAt(const std::vector<Expr>& phase, const ir::VarMap& values) const {
    Expr filter = int64_t{0};
    for (size_t d = 0; d < phase.size(); ++d)
      filter = filter * Expr(phases_.dims[d].stride) + phase[d];
    for (const BlockIter* axis : phases_.outputs.axes)
      filter = filter * axis->extent + values.at(axis->var.node());
    return arith::Analyzer().Simplify(filter);
  }

  // The taps of each phase, the last one first; zeros where a phase has fewer than others.
  Stmt FillWeights() const {
    NewBlock fill(weights_->name, block_);
    std::vector<Expr> phase, place = {Expr()};
    for (size_t d = 0; d < phases_.dims.size(); ++d)
      phase.push_back(
          fill.Add("p" + std::to_string(d), Expr(phases_.dims[d].stride), IterKind::kSpatial));
    for (const BlockIter* axis : phases_.outputs.axes)
      fill.Add(AxisName(*axis), FusedAxes{{axis}}, IterKind::kSpatial);
    for (const BlockIter* axis : phases_.channels)
      place.push_back(fill.Add(AxisName(*axis), FusedAxes{{axis}}, IterKind::kSpatial));
    Expr exists;
    for (size_t d = 0; d < phases_.dims.size(); ++d) {
      const PhaseDim& dim = phases_.dims[d];
      Expr inside = fill.Add(AxisName(*dim.tap), Expr(dim.window()), IterKind::kSpatial);
      Expr tap = (Expr(dim.window() - 1) - inside) * Expr(dim.stride) + phase[d];
      fill.values[dim.tap->var.node()] = tap;
      place.push_back(inside);
      if (dim.window() * dim.stride > dim.taps) exists = And(exists, tap < Expr(dim.taps));
    }
    place[0] = FilterAt(phase, fill.values);
    Expr value = ir::Substitute(phases_.weights, fill.values);
    if (exists.get())
      value = ir::SelectNode::Make(exists, value, ir::MakeConst(weights_->dtype, 0));
    return fill.Finish({}, BufferStoreNode::Make(weights_, place, value));
  }

  // At stride 1, with a filter for each phase and output.
  Stmt Convolve() const {
    NewBlock conv(block_->name, block_);
    std::vector<Expr> place, from = {Expr()};
    std::vector<Expr> at(phases_.dims.size());
    for (const Place& one : PlacesOf()) {
      if (one.batch) {
        place.push_back(conv.Add(AxisName(*one.batch), FusedAxes{{one.batch}}, IterKind::kSpatial));
      } else if (one.dim) {
        place.push_back(conv.Add(AxisName(*one.dim->position), one.extent, IterKind::kSpatial));
        at[one.dim - phases_.dims.data()] = place.back();
      } else {
        place.push_back(conv.Add("f", filters_, IterKind::kSpatial));
        from[0] = place.back();
        phases_.outputs.Take(ir::FloorMod(place.back(), phases_.outputs.extent()), &conv.values);
      }
    }
    for (const BlockIter* axis : phases_.channels)
      from.push_back(conv.Add(AxisName(*axis), FusedAxes{{axis}}, IterKind::kReduce));
    std::vector<Expr> needed;
    for (size_t d = 0; d < at.size(); ++d) {
      const PhaseDim& dim = phases_.dims[d];
      from.push_back(conv.Add(AxisName(*dim.tap), Expr(dim.window()), IterKind::kReduce));
      at[d] = arith::Analyzer().Simplify(at[d] + from.back() + Expr(dim.first()));
      conv.values[dim.at.node()] = at[d];
      // What only taps that are zeros need need not be there.
      if (dim.first() < dim.least())
        needed.push_back(arith::Analyzer().Simplify(at[d] >= Expr(dim.least())));
    }
    Expr input = arith::Analyzer().Simplify(ir::Substitute(phases_.input, conv.values));
    input = ZeroUnless(needed, input);
    Expr value = ReplacePart(update_.value, phases_.part, input);
    value = ReplacePart(value, phases_.weights, ir::BufferLoadNode::Make(weights_, from));
    Expr old = ir::BufferLoadNode::Make(sums_, place), start;
    AccessRewrite rewrite;
    rewrite.store = [&](const Buffer&, const std::vector<Expr>&, const Expr& given) {
      start = given;
      return BufferStoreNode::Make(sums_, place, given);
    };
    Stmt init = Substitute(RewriteAccesses(block_->init, rewrite), conv.values);
    for (const PhaseDim& dim : phases_.dims)
      if (UsesAxis(start, *dim.position))
        Refuse("the sums of block " + block_->name + " start from other values along axis " +
               dim.position->var.name());
    return conv.Finish(init,
                       BufferStoreNode::Make(sums_, place, CombineValues(update_.op, old, value)));
  }

  // Depth to space.
  Stmt Interleave() const {
    NewBlock out(sums_->name, block_);
    std::vector<Expr> from, place, phase;
    for (const BlockIter& iter : block_->iters)
      if (iter.kind == IterKind::kSpatial)
        out.Add(AxisName(iter), FusedAxes{{&iter}}, IterKind::kSpatial);
    auto axis = [&](const BlockIter* iter) { return out.values.at(iter->var.node()); };
    for (const PhaseDim& dim : phases_.dims) phase.push_back(dim.phase(axis(dim.position)));
    for (const Place& one : PlacesOf())
      from.push_back(one.batch ? axis(one.batch)
                     : one.dim ? one.dim->place(axis(one.dim->position))
                               : FilterAt(phase, out.values));
    for (Expr& index : from) index = arith::Analyzer().Simplify(index);
    for (const Expr& index : update_.store->indices)
      place.push_back(ir::Substitute(index, out.values));
    return out.Finish({}, BufferStoreNode::Make(update_.store->buffer, place,
                                                ir::BufferLoadNode::Make(sums_, from)));
  }

  const BlockNode* block_;
  const ReductionUpdate& update_;
  const Phases& phases_;
  Expr filters_;
  Buffer weights_, sums_;
};

}  // namespace

CopyRefs Schedule::Polyphase(const BlockRef& block_ref, Names names) {
  return Do("polyphase", {TextOf(block_ref)}, [&] {
    const BlockNode* block = At(block_ref);
    Nest nest = NestOf(tree(), block);
    std::optional<ReductionUpdate> update = PlainUpdate(block);
    Expr summand = update ? Bare(update->value) : Expr();
    const auto* product = summand.As<ir::MulNode>();
    if (!product || update->op != ExprKind::kAdd || !block->init)
      Refuse("block " + block_ref.name() + " is not a sum of products with an init");
    if (!FactsOf(block).complete || block->predicate.get() || !nest.around.empty())
      Refuse("block " + block_ref.name() + " does not run over all of its axes");
    SoleResult(block);
    Phases phases = ReadPhases(block, Bare(product->a), Bare(product->b));
    CheckMayReassociate(block, "the taps of a phase are added in another order");
    Names made = {block_ref.name() + "_weights", block_ref.name() + "_phases"};
    std::copy(names.begin(), names.end(), made.begin());
    for (const std::string& name : made) {
      CheckNewBuffer(name);
      CheckNewBlock(name);
    }
    SetBody(PhaseSplitter(block, *update, phases, made).Replace(tree(), nest.top()));
    for (const std::string& name : made) SetFacts(name, {true, true, true});
    SetFacts(block_ref.name(), {true, true, true});
    return MadeAs(made);
  });
}

}  // namespace tern::schedule
