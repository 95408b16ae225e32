// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "tern/arith/linear.h"
#include "tern/arith/linear_sum.h"
#include "tern/ir/structural.h"
#include "tern/schedule/new_block.h"
#include "tern/schedule/schedule.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

int64_t RoundUp(int64_t number, int64_t factor) { return (number + factor - 1) / factor * factor; }

// A dimension of the input: pixel * stride + tap * step + a constant.
struct WindowDim {
  const BlockIter* position = nullptr;
  const BlockIter* inside = nullptr;  // null: windows of one element
  int64_t stride = 1, step = 0;
  int64_t positions = 0;
  int64_t first = 0;   // the least index
  int64_t reach = 0;   // of a window, beyond its first element
  int64_t offset = 0;  // with it, inside * step is no less than 0
  int64_t pitch = 1;   // from one element to the next in the flat input

  // Polyphase split: elements whose indices differ by the stride are neighbours in the flat input.
  // So many phases are read.
  int64_t phases() const { return std::min(stride, reach + 1); }
  int64_t length() const { return positions + reach / stride; }
  // The tap's offset in a window, from 0.
  Expr place() const { return inside ? inside->var * Expr(step) + Expr(offset) : Expr(int64_t{0}); }
};

// Nothing where an index is no window, or has dynamic sizes.
std::optional<WindowDim> DimOf(const BlockNode* block, const Expr& index) {
  auto sum = arith::LinearSum::Of(index);
  if (!sum) return {};
  WindowDim dim;
  dim.first = sum->constant;
  for (const BlockIter& iter : block->iters) {
    if (!UsesAxis(index, iter)) continue;
    int64_t coefficient = sum->CoefficientOf(iter.var.node());
    std::optional<int64_t> extent = ir::AsConstInt(iter.extent);
    if (coefficient == 0 || !extent || *extent < 1) return {};
    if (iter.kind == IterKind::kSpatial && !dim.position && coefficient > 0) {
      dim.position = &iter;
      dim.stride = coefficient;
      dim.positions = *extent;
    } else if (iter.kind == IterKind::kReduce && !dim.inside) {
      dim.inside = &iter;
      dim.step = coefficient;
      dim.reach = std::abs(coefficient) * (*extent - 1);
      if (coefficient < 0) dim.offset = dim.reach;
    } else {
      return {};
    }
  }
  dim.first -= dim.offset;
  size_t axes = (dim.position ? 1 : 0) + (dim.inside ? 1 : 0);
  if (!dim.position || sum->terms.size() != axes) return {};
  return dim;
}

// An element of an input, and what there is beyond it.
struct InputRead {
  Expr expr;  // the load, or the select around it
  const ir::BufferLoadNode* load = nullptr;
  std::vector<Expr> conditions;  // under which it is loaded
  Expr border;                   // the value elsewhere
  std::vector<WindowDim> dims;   // the last ones of the input

  size_t others() const { return load->indices.size() - dims.size(); }
  const Expr& index(size_t dim) const { return load->indices[others() + dim]; }
  int64_t columns() const {
    int64_t last = 0;
    for (const WindowDim& dim : dims) last += (dim.positions - 1) * dim.pitch;
    return last + 1;
  }
  int64_t reach() const {
    int64_t last = 0;
    for (const WindowDim& dim : dims) last += dim.reach / dim.stride * dim.pitch;
    return last;
  }
};

// The last dimensions of a load that are ones of windows; those before the first that is more than
// an axis are not.
std::vector<WindowDim> DimsOf(const BlockNode* block, const ir::BufferLoadNode* load) {
  std::vector<WindowDim> dims;
  size_t plain = 0;
  for (size_t d = load->indices.size(); d-- > 0;) {
    std::optional<WindowDim> dim = DimOf(block, load->indices[d]);
    if (!dim) break;
    dims.insert(dims.begin(), *dim);
    bool is_axis = !dim->inside && dim->stride == 1 && dim->first == 0;
    plain = is_axis ? plain + 1 : 0;
  }
  dims.erase(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(plain));
  for (size_t d = dims.size(); d-- > 1;) dims[d - 1].pitch = dims[d].pitch * dims[d].length();
  return dims;
}

std::optional<InputRead> FindInput(const BlockNode* block, const Expr& value) {
  InputRead found;
  ir::ForEachExpr(value, [&](const Expr& expr) {
    const auto* select = expr.As<ir::SelectNode>();
    const auto* load = (select ? select->true_value : expr).As<ir::BufferLoadNode>();
    bool is_known = found.load && (found.load != load || !select);
    if (!load || is_known) return;
    std::vector<WindowDim> dims = DimsOf(block, load);
    if (dims.empty()) return;
    found = {expr, load, {}, {}, std::move(dims)};
    if (!select) return;
    found.conditions = Conjuncts(select->condition);
    found.border = select->false_value;
  });
  if (!found.load) return {};
  // Elsewhere it would be another value.
  if (found.border.get() && !arith::IsFixed(found.border))
    Refuse("the padding of " + found.load->buffer->name + " is read or computed by a call");
  for (const BlockIter& iter : block->iters)
    if (found.border.get() && UsesAxis(found.border, iter))
      Refuse("the padding of " + found.load->buffer->name + " differs along axis " +
             iter.var.name());
  return found;
}

// A comparison of indices of the input, at others.
Expr ConditionAt(const InputRead& input, const Expr& condition, const std::vector<Expr>& at) {
  Expr result;
  ir::DispatchExpr(condition.get(), [&]<class T>(const T* node) {
    if constexpr (std::is_same_v<T, ir::LTNode> || std::is_same_v<T, ir::LENode> ||
                  std::is_same_v<T, ir::GTNode> || std::is_same_v<T, ir::GENode>) {
      for (size_t d = 0; d < at.size() && !result; ++d) {
        auto difference = arith::LinearSum::Of(node->a), b = arith::LinearSum::Of(node->b),
             index = arith::LinearSum::Of(input.index(d));
        if (!difference || !b || !difference->Add(*b, -1)) return;
        int64_t factor =
            difference->CoefficientOf(input.dims[d].position->var.node()) / input.dims[d].stride;
        bool is_of_index =
            factor != 0 && difference->Add(*index, -factor) && difference->terms.empty();
        if (!is_of_index) continue;
        Expr left = factor == 1 ? at[d] : at[d] * Expr(factor);
        result = T::Make(left, Expr(-difference->constant), node->span);
      }
    }
  });
  if (!result)
    Refuse("the padding of " + input.load->buffer->name + " is not a condition on its indices");
  return result;
}

class WindowFlattener {
 public:
  WindowFlattener(const BlockNode* block, const ReductionUpdate& update, const InputRead& input,
                  const std::vector<std::string>& names, int64_t multiple)
      : block_(block), update_(update), input_(input) {
    columns_ = RoundUp(input.columns(), multiple);
    row_ = input.dims.size() > 1 ? input.dims.back().length() : columns_ + input.reach();
    plane_ = RoundUp(columns_ + input.reach(), row_);
    for (const BlockIter& iter : block->iters)
      if (IsOwn(iter)) is_apart_ &= IsOfInput(iter);
    std::vector<Expr> input_shape, result_shape;
    for (const BlockIter& iter : block->iters) {
      if (!IsOwn(iter)) continue;
      if (is_apart_)
        AddLoop(iter);
      else
        result_shape.push_back(iter.extent);
    }
    for (size_t d = 0; d < input.others(); ++d)
      if (const BlockIter* axis = OtherAxis(d); axis && !LoopOf(*axis))
        input_shape.push_back(axis->extent);
    for (const WindowDim& dim : input.dims)
      if (dim.phases() > 1) input_shape.emplace_back(dim.phases());
    input_shape.emplace_back(plane_);
    result_shape.emplace_back(columns_);
    flat_ = BufferNode::Make(names[0], input.load->buffer->dtype, input_shape);
    sums_ = BufferNode::Make(names[1], update.store->buffer->dtype, result_shape);
  }

  // In the place of the block's loops.
  Stmt Replace(const StmtTree& tree, const Stmt& top) const {
    std::vector<Stmt> row = {FillFlat(), Reduce(), Place()};
    if (!is_apart_) return ReplaceByRow(tree, top.get(), row, {flat_, sums_});
    Stmt all = SeqNode::Make(row);
    for (const Buffer& buffer : {flat_, sums_}) all = AllocateNode::Make(buffer, all);
    return ReplaceAt(PathTo(tree, top.get()), around_.Around(all));
  }

 private:
  bool IsPosition(const BlockIter& iter) const {
    return std::any_of(input_.dims.begin(), input_.dims.end(),
                       [&](const WindowDim& dim) { return dim.position == &iter; });
  }
  // Of the result, and no position.
  bool IsOwn(const BlockIter& iter) const {
    return iter.kind == IterKind::kSpatial && !IsPosition(iter);
  }
  bool IsOfInput(const BlockIter& iter) const {
    for (size_t d = 0; d < input_.others(); ++d)
      if (OtherAxis(d) == &iter) return true;
    return false;
  }
  // The axis of a dimension that is none of windows; null: it has a constant index.
  const BlockIter* OtherAxis(size_t dim) const {
    const Expr& index = input_.load->indices[dim];
    if (ir::AsConstInt(index)) return nullptr;
    for (const BlockIter& iter : block_->iters)
      if (iter.var.get() == index.get() && !IsPosition(iter)) return &iter;
    Refuse("an index of " + input_.load->buffer->name + " is neither an axis nor one of windows");
  }

  void AddLoop(const BlockIter& iter) {
    around_.vars.emplace_back(block_->name + "_" + AxisName(iter));
    around_.extents.push_back(iter.extent);
    around_axes_.push_back(&iter);
  }
  // The loop around all blocks that is an axis's; null: none.
  const Var* LoopOf(const BlockIter& iter) const {
    auto it = std::find(around_axes_.begin(), around_axes_.end(), &iter);
    return it == around_axes_.end() ? nullptr : &around_.vars[it - around_axes_.begin()];
  }
  Expr AddAxis(NewBlock* block, const BlockIter& iter) const {
    if (const Var* loop = LoopOf(iter)) return block->AddAround(AxisName(iter), iter, *loop);
    return block->Add(AxisName(iter), FusedAxes{{&iter}}, iter.kind);
  }

  // The input with its border.
  Stmt FillFlat() const {
    NewBlock fill(flat_->name, block_);
    std::vector<Expr> place, from, phases;
    for (size_t d = 0; d < input_.others(); ++d) {
      const BlockIter* axis = OtherAxis(d);
      if (!axis) {
        from.push_back(input_.load->indices[d]);
        continue;
      }
      // An axis of a sum is one of the input like others.
      const Var* loop = LoopOf(*axis);
      from.push_back(loop ? fill.AddAround(AxisName(*axis), *axis, *loop)
                          : fill.Add(AxisName(*axis), axis->extent, IterKind::kSpatial));
      if (!loop) place.push_back(from.back());
    }
    for (size_t d = 0; d < input_.dims.size(); ++d) {
      int64_t count = input_.dims[d].phases();
      phases.emplace_back(int64_t{0});
      if (count == 1) continue;
      phases.back() = fill.Add("p" + std::to_string(d), Expr(count), IterKind::kSpatial);
      place.push_back(phases.back());
    }
    Expr element = fill.AddRows("e", plane_ / row_, row_);
    place.push_back(element);
    std::vector<Expr> at = IndicesAt(element, phases);
    from.insert(from.end(), at.begin(), at.end());
    Expr border = input_.border.get() ? input_.border : ir::MakeConst(flat_->dtype, 0);
    Expr value = ir::SelectNode::Make(InsideAt(at),
                                      ir::BufferLoadNode::Make(input_.load->buffer, from), border);
    return fill.Finish({}, BufferStoreNode::Make(flat_, place, value));
  }

  // Indices of the input, of an element of the flat one.
  std::vector<Expr> IndicesAt(const Expr& element, const std::vector<Expr>& phases) const {
    std::vector<Expr> at;
    for (size_t d = 0; d < input_.dims.size(); ++d) {
      const WindowDim& dim = input_.dims[d];
      Expr row = ir::FloorDiv(element, Expr(dim.pitch));
      if (d > 0) row = ir::FloorMod(row, Expr(dim.length()));
      at.push_back(
          arith::Analyzer().Simplify(row * Expr(dim.stride) + phases[d] + Expr(dim.first)));
    }
    return at;
  }
  // Elements behind the last window are not in the input, whatever is said of its border.
  Expr InsideAt(const std::vector<Expr>& at) const {
    arith::Analyzer analyzer;
    std::vector<Expr> conditions;
    auto add = [&](const Expr& condition) {
      conditions.push_back(analyzer.Simplify(condition));
      for (size_t i = 0; i + 1 < conditions.size(); ++i)
        if (ir::StructuralEqual(conditions[i], conditions.back())) return conditions.pop_back();
    };
    for (const Expr& condition : input_.conditions) add(ConditionAt(input_, condition, at));
    for (size_t d = 0; d < at.size(); ++d)
      add(at[d] < input_.load->buffer->shape[input_.others() + d]);
    Expr inside;
    for (const Expr& condition : conditions) inside = And(inside, condition);
    return inside;
  }

  // The reduction over windows that begin one element after the other.
  Stmt Reduce() const {
    NewBlock reduce(block_->name, block_);
    std::vector<Expr> place, from;
    for (const BlockIter& iter : block_->iters) {
      if (!IsOwn(iter)) continue;
      Expr axis = AddAxis(&reduce, iter);
      if (!LoopOf(iter)) place.push_back(axis);
    }
    Expr element = reduce.Add("j", Expr(columns_), IterKind::kSpatial);
    place.push_back(element);
    for (const BlockIter& iter : block_->iters)
      if (iter.kind == IterKind::kReduce) AddAxis(&reduce, iter);

    for (size_t d = 0; d < input_.others(); ++d)
      if (const BlockIter* axis = OtherAxis(d); axis && !LoopOf(*axis)) from.push_back(axis->var);
    for (const WindowDim& dim : input_.dims) {
      if (dim.phases() > 1) from.push_back(ir::FloorMod(dim.place(), Expr(dim.stride)));
      element = element + ir::FloorDiv(dim.place(), Expr(dim.stride)) * Expr(dim.pitch);
    }
    from.push_back(element);
    for (Expr& index : from) index = arith::Analyzer().Simplify(index);
    Expr value = ReplacePart(update_.value, input_.expr, ir::BufferLoadNode::Make(flat_, from));
    Expr old = ir::BufferLoadNode::Make(sums_, place), first;
    AccessRewrite rewrite;
    rewrite.store = [&](const Buffer&, const std::vector<Expr>&, const Expr& start) {
      first = start;
      return BufferStoreNode::Make(sums_, place, start);
    };
    Stmt init = RewriteAccesses(block_->init, rewrite);
    for (const WindowDim& dim : input_.dims)
      if (UsesAxis(value, *dim.position) || UsesAxis(first, *dim.position))
        Refuse("axis " + dim.position->var.name() +
               " is used for more than the position of a window");
    Stmt step = BufferStoreNode::Make(sums_, place, CombineValues(update_.op, old, value));
    return reduce.Finish(Substitute(init, reduce.values), Substitute(step, reduce.values));
  }

  // What belongs to windows of the input.
  Stmt Place() const {
    NewBlock out(sums_->name, block_);
    std::vector<Expr> from, place;
    Expr column = int64_t{0};
    for (const BlockIter& iter : block_->iters) {
      if (iter.kind != IterKind::kSpatial) continue;
      Expr axis = AddAxis(&out, iter);
      if (IsOwn(iter) && !LoopOf(iter)) from.push_back(axis);
      for (const WindowDim& dim : input_.dims)
        if (dim.position == &iter) column = column + axis * Expr(dim.pitch);
    }
    from.push_back(arith::Analyzer().Simplify(column));
    for (const Expr& index : update_.store->indices)
      place.push_back(ir::Substitute(index, out.values));
    return out.Finish({}, BufferStoreNode::Make(update_.store->buffer, place,
                                                ir::BufferLoadNode::Make(sums_, from)));
  }

  const BlockNode* block_;
  const ReductionUpdate& update_;
  const InputRead& input_;
  int64_t columns_ = 0, plane_ = 0, row_ = 0;
  bool is_apart_ = true;  // each result has a part of the input to itself
  FreshLoops around_;     // over these parts
  std::vector<const BlockIter*> around_axes_;
  Buffer flat_, sums_;
};

}  // namespace

CopyRefs Schedule::FlattenSpatial(const BlockRef& block_ref, int64_t multiple, Names names) {
  return Do("flatten_spatial", {TextOf(block_ref), std::to_string(multiple)}, [&] {
    const BlockNode* block = At(block_ref);
    Nest nest = NestOf(tree(), block);
    CheckFactor("the multiple", multiple);
    std::optional<ReductionUpdate> update = PlainUpdate(block);
    if (!update || !block->init)
      Refuse("block " + block_ref.name() + " is not a reduction with an init");
    if (!FactsOf(block).complete || block->predicate.get() || !nest.around.empty())
      Refuse("block " + block_ref.name() + " does not run over all of its axes");
    if (!ReducesInOrder(nest)) CheckMayReassociate(block, "its loops and axes differ in order");
    SoleResult(block);
    std::optional<InputRead> input = FindInput(block, update->value);
    if (!input) Refuse("block " + block_ref.name() + " reads no windows of static sizes");
    CheckRoundsUp(Expr(input->columns()), multiple);
    Names made = {block_ref.name() + "_input", block_ref.name() + "_output"};
    std::copy(names.begin(), names.end(), made.begin());
    for (const std::string& name : made) {
      CheckNewBuffer(name);
      CheckNewBlock(name);
    }
    WindowFlattener flattener(block, *update, *input, made, multiple);
    SetBody(flattener.Replace(tree(), nest.top()));
    for (const std::string& name : made) SetFacts(name, {true, true, true});
    SetFacts(block_ref.name(), {true, true, true});
    return MadeAs(made);
  });
}

}  // namespace tern::schedule
