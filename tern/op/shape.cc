// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements, or that say how many there are.
#include <algorithm>
#include <numeric>

#include "tern/ir/structural.h"
#include "tern/op/formulas.h"
#include "tern/op/register.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

// ---- Views: the same elements in the same order

// How many axes from `i` of a and from `j` of b on have as many elements together, as few as there
// can be of each; none where no such axes are found.
std::optional<std::pair<size_t, size_t>> EqualRun(const Exprs& a, size_t i, const Exprs& b,
                                                  size_t j) {
  Expr left = 1;
  for (size_t p = 1; i + p <= a.size(); ++p) {
    left = left * a[i + p - 1];
    Expr right = 1;
    for (size_t q = 1; j + q <= b.size(); ++q) {
      right = right * b[j + q - 1];
      if ((p == 1 || q == 1) && graph::SameExtent(left, right)) return std::pair(p, q);
    }
  }
  return {};
}

// The indices of a tensor of shape `from` for those of one of shape `shape`, run by run of axes
// that have as many elements: an axis that both have keeps its index. Empty where no such runs are
// found.
Exprs IndicesByRuns(const Exprs& indices, const Exprs& shape, const Exprs& from) {
  Exprs at;
  size_t i = 0;
  auto skip = [&] {
    while (i < shape.size() && ir::IsConst(shape[i], 1)) ++i;
  };
  for (size_t j = 0; j < from.size();) {
    if (ir::IsConst(from[j], 1)) {
      at.emplace_back(0);
      ++j;
      continue;
    }
    skip();
    auto run = EqualRun(shape, i, from, j);
    if (!run) return {};
    auto part = [](const Exprs& all, size_t first, size_t count) {
      auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
      return Exprs(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    Expr flat = FlatIndex(part(indices, i, run->first), part(shape, i, run->first));
    for (Expr& index : UnflatIndex(flat, part(from, j, run->second)))
      at.push_back(std::move(index));
    i += run->first;
    j += run->second;
  }
  skip();
  return i == shape.size() ? at : Exprs();
}

// The element of `x` that is at these indices of a tensor of another shape.
Expr LoadReshaped(const Tensor& x, const Exprs& indices, const Exprs& shape) {
  if (Exprs at = IndicesByRuns(indices, shape, x.shape()); !at.empty()) return x.At(std::move(at));
  return x.At(UnflatIndex(FlatIndex(indices, shape), x.shape()));
}

Tensors Reshaped(const Call& c, const Exprs& shape) {
  const Tensor& x = c.tensor(0);
  return {Compute(c.name(), shape,
                  [&](const Vars& axes) { return LoadReshaped(x, Indices(axes), shape); })};
}

// Extents of 0 are those of the input, and one of -1 is what is left.
Tensors Reshape(Call& c) {
  const Exprs& from = c.shape(0);
  const Content& wanted = c.content(1);
  Exprs shape;
  std::optional<size_t> rest;
  for (size_t i = 0; i < wanted.size(); ++i) {
    Expr extent = AsIndex(wanted[i]);
    if (ir::IsConst(extent, 0) && !c.Flag("allowzero")) {
      TERN_CHECK(i < from.size()) << "extent " << i << " is that of the input, which has rank "
                                  << from.size();
      extent = from[i];
    }
    if (ir::IsConst(extent, -1)) {
      TERN_CHECK(!rest) << "two extents are -1";
      rest = i;
      extent = 1;
    }
    shape.push_back(extent);
  }
  Expr have = graph::NumElements(from), want = graph::NumElements(shape);
  if (rest) {
    if (!ir::IsConst(want, 0)) shape[*rest] = Simplified(ir::FloorDiv(have, want));
    want = graph::NumElements(shape);
  }
  if (!graph::SameExtent(have, want))
    c.Require(have == want, "a tensor of shape " + graph::ShapeText(from) + " has " +
                                tir::Print(have) + " elements, and one of shape " +
                                graph::ShapeText(shape) + " " + tir::Print(want));
  return Reshaped(c, shape);
}

std::vector<int64_t> SortedAxes(const Call& c, size_t input, int64_t rank) {
  std::vector<int64_t> axes = c.Ints(input);
  for (int64_t& axis : axes) axis = c.AxisOf(axis, rank);
  std::sort(axes.begin(), axes.end());
  TERN_CHECK(std::adjacent_find(axes.begin(), axes.end()) == axes.end())
      << "an axis is given twice";
  return axes;
}

Tensors Squeeze(Call& c) {
  std::vector<int64_t> axes;
  if (c.has(1))
    axes = SortedAxes(c, 1, c.rank(0));
  else
    for (int64_t i = 0; i < c.rank(0); ++i)
      if (ir::IsConst(c.shape(0)[i], 1)) axes.push_back(i);
  Exprs shape;
  for (int64_t i = 0; i < c.rank(0); ++i) {
    const Expr& extent = c.shape(0)[i];
    if (!std::binary_search(axes.begin(), axes.end(), i))
      shape.push_back(extent);
    else
      c.Require(extent == Expr(1), "axis " + std::to_string(i) + " has an extent of " +
                                       tir::Print(extent) + ", not 1");
  }
  return Reshaped(c, shape);
}

Tensors Unsqueeze(Call& c) {
  std::vector<int64_t> axes =
      SortedAxes(c, 1, c.rank(0) + static_cast<int64_t>(c.content(1).size()));
  Exprs shape = c.shape(0);
  for (int64_t axis : axes) shape.insert(shape.begin() + axis, Expr(1));
  return Reshaped(c, shape);
}

Tensors Flatten(Call& c) {
  int64_t axis = c.Int("axis");
  if (axis != c.rank(0)) axis = c.AxisOf(axis, c.rank(0));
  auto at = static_cast<size_t>(axis);
  return Reshaped(c, {graph::NumElements(c.shape(0), 0, at), graph::NumElements(c.shape(0), at)});
}

void RegisterViews() {
  RegisterOp({.name = "reshape",
              .summary = "x in another shape; 0 keeps an extent, -1 is what is left",
              .inputs = {"x", "shape"},
              .attrs = {{"allowzero", AttrKind::kInt, ffi::Any(0)}},
              .compute = Reshape,
              .is_view = true});
  RegisterOp({.name = "squeeze",
              .summary = "x without axes of extent 1",
              .inputs = {"x", "axes?"},
              .compute = Squeeze,
              .is_view = true});
  RegisterOp({.name = "unsqueeze",
              .summary = "x with more axes, of extent 1",
              .inputs = {"x", "axes"},
              .compute = Unsqueeze,
              .is_view = true});
  RegisterOp({.name = "flatten",
              .summary = "x as a matrix: the axes before `axis`, and the others",
              .inputs = {"x"},
              .attrs = {{"axis", AttrKind::kInt, ffi::Any(1)}},
              .compute = Flatten,
              .is_view = true});
  RegisterOp({.name = "identity",
              .summary = "x",
              .inputs = {"x"},
              .compute = [](Call& c) { return Reshaped(c, c.shape(0)); },
              .is_view = true});
  RegisterOp({.name = "with_default",
              .summary = "x, an input of the model; `value` where a run does not give it",
              .inputs = {"x", "value"},
              .compute = [](Call& c) { return Reshaped(c, c.shape(0)); },
              .is_view = true});
}

// ---- Shapes as data

// A vector whose elements are known.
Tensor Vector(const std::string& name, const Exprs& elements) {
  return Compute(name, {Expr(static_cast<int64_t>(elements.size()))}, [&](const Var& i) {
    Expr value = elements.empty() ? Expr(0) : elements.back();
    for (size_t k = elements.size(); k-- > 1;)
      value = Select(i < Expr(static_cast<int64_t>(k)), elements[k - 1], value);
    return value;
  });
}

int64_t Clamped(int64_t at, int64_t rank) {
  return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
}

void RegisterShapesAsData() {
  RegisterOp({.name = "shape",
              .summary = "the extents of x, from axis `start` to before `end`",
              .inputs = {"x"},
              .attrs = {{"start", AttrKind::kInt, ffi::Any(0)},
                        {"end", AttrKind::kInt, ffi::Any(int64_t{1} << 31)}},
              .compute = [](Call& c) {
                int64_t from = Clamped(c.Int("start"), c.rank(0));
                int64_t to = std::max(from, Clamped(c.Int("end"), c.rank(0)));
                const Exprs& shape = c.shape(0);
                return Tensors{Vector(c.name(), {shape.begin() + from, shape.begin() + to})};
              }});
  RegisterOp({.name = "size",
              .summary = "how many elements x has",
              .inputs = {"x"},
              .compute = [](Call& c) {
                Expr size = graph::NumElements(c.shape(0));
                return Tensors{Compute(c.name(), {}, [&](const Vars&) { return size; })};
              }});
  RegisterOp({.name = "constant_of_shape",
              .summary = "a tensor of that shape, full of one value; 0 of float32 by default",
              .inputs = {"shape", "value?"},
              .compute = [](Call& c) {
                Exprs shape;
                for (const Expr& extent : c.content(0)) shape.push_back(AsIndex(extent));
                Expr value = c.has(1) ? c.Scalar(1) : tir::Const(DataType::Float(32), 0);
                return Tensors{Compute(c.name(), shape, [&](const Vars&) { return value; })};
              }});
  RegisterOp({.name = "range",
              .summary = "start, start + delta, ... before limit",
              .inputs = {"start", "limit", "delta"},
              .compute = [](Call& c) {
                for (size_t i = 0; i < 3; ++i) c.content(i);
                Expr start = c.Scalar(0), limit = c.Scalar(1), delta = c.Scalar(2);
                Expr count;
                if (start.dtype().is_float())
                  count = AsIndex(tir::Call("ceil", {(limit - start) / delta}));
                else
                  count = ir::CeilDiv(AsIndex(limit) - AsIndex(start), AsIndex(delta));
                return Tensors{Compute(c.name(), {Simplified(Max(count, 0))}, [&](const Var& i) {
                  Expr step = i.dtype() == start.dtype() ? Expr(i) : tir::Cast(start.dtype(), i);
                  return start + step * delta;
                })};
              }});
}

// How many a range has, where that depends on data.
Tensors RangeCount(Call& c) {
  for (size_t i = 1; i < 3; ++i)
    if (c.dtype(i) != c.dtype(0))
      TERN_THROW(TypeError) << "inputs of one type are expected, not " << c.dtype(0).str()
                            << " and " << c.dtype(i).str();
  Expr start = c.Scalar(0), limit = c.Scalar(1), delta = c.Scalar(2);
  Expr count = start.dtype().is_float()
                   ? AsIndex(tir::Call("ceil", {(limit - start) / delta}))
                   : ir::CeilDiv(AsIndex(limit) - AsIndex(start), AsIndex(delta));
  return {Compute(c.name(), {}, [&](const Vars&) { return Max(count, 0); })};
}

Tensors RangeOf(Call& c) {
  const Content& content = c.content(2);
  TERN_CHECK(content.size() == 1) << "the count is one integer";
  Expr start = c.Scalar(0), delta = c.Scalar(1), count = AsIndex(content[0]);
  if (start.dtype() != delta.dtype())
    TERN_THROW(TypeError) << "inputs of one type are expected, not " << start.dtype().str()
                          << " and " << delta.dtype().str();
  return {Compute(c.name(), {count}, [&](const Var& i) {
    Expr step = i.dtype() == start.dtype() ? Expr(i) : tir::Cast(start.dtype(), i);
    return start + step * delta;
  })};
}

void RegisterRanges() {
  RegisterOp({.name = "range_count",
              .summary = "how many there are in range(start, limit, delta)",
              .inputs = {"start", "limit", "delta"},
              .compute = RangeCount});
  RegisterOp({.name = "range_of",
              .summary = "start, start + delta, ..., as many as count says",
              .inputs = {"start", "delta", "count"},
              .compute = RangeOf});
}

// ---- Elements from elsewhere

Tensors Transpose(Call& c) {
  std::vector<int64_t> perm(static_cast<size_t>(c.rank(0)));
  if (c.HasAttr("perm")) {
    perm = c.Ints("perm");
    std::vector<int64_t> sorted = perm;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size() || i < static_cast<size_t>(c.rank(0)); ++i)
      TERN_CHECK(sorted.size() == static_cast<size_t>(c.rank(0)) &&
                 sorted[i] == static_cast<int64_t>(i))
          << "perm is no permutation of the " << c.rank(0) << " axes";
  } else {
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  const Tensor& x = c.tensor(0);
  Exprs shape;
  for (int64_t axis : perm) shape.push_back(x.shape()[static_cast<size_t>(axis)]);
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Exprs at(axes.size());
    for (size_t i = 0; i < axes.size(); ++i) at[static_cast<size_t>(perm[i])] = axes[i];
    return x.At(std::move(at));
  })};
}

Tensors Concat(Call& c) {
  Tensors inputs = c.tensors();
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  Exprs shape = inputs[0].shape(), ends;
  Expr end = 0;
  for (const Tensor& input : inputs) {
    if (input.rank() != shape.size() || input.dtype() != inputs[0].dtype())
      TERN_THROW(TypeError) << "inputs of one type and rank are expected, not "
                            << inputs[0].dtype().str() << graph::ShapeText(shape) << " and "
                            << input.dtype().str() << graph::ShapeText(input.shape());
    for (size_t i = 0; i < shape.size(); ++i)
      if (i != axis)
        c.RequireEqual(shape[i], input.shape()[i], "the extent of axis " + std::to_string(i));
    end = Simplified(end + input.shape()[axis]);
    ends.push_back(end);
  }
  shape[axis] = end;
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    auto load = [&](size_t k) {
      Exprs at = Indices(axes);
      if (k > 0) at[axis] = at[axis] - ends[k - 1];
      return inputs[k].At(std::move(at));
    };
    Expr value = load(inputs.size() - 1);
    for (size_t k = inputs.size() - 1; k-- > 0;)
      value = Select(axes[axis] < ends[k], load(k), value);
    return value;
  })};
}

Tensors Split(Call& c) {
  const Tensor& x = c.tensor(0);
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  Exprs sizes;
  if (c.has(1)) {
    for (const Expr& size : c.content(1)) sizes.push_back(AsIndex(size));
  } else {
    int64_t parts = c.Int("num_outputs");
    TERN_CHECK(parts > 0) << "the number of parts is not known";
    Expr part = Simplified(ir::CeilDiv(x.shape()[axis], parts)), left = x.shape()[axis];
    for (int64_t i = 0; i < parts; ++i, left = Simplified(left - part))
      sizes.push_back(i + 1 < parts ? part : left);
  }
  Tensors parts;
  Expr begin = 0;
  for (size_t k = 0; k < sizes.size(); ++k) {
    Exprs shape = x.shape();
    shape[axis] = sizes[k];
    parts.push_back(
        Compute(k ? c.name() + "_" + std::to_string(k) : c.name(), shape, [&](const Vars& axes) {
          Exprs at = Indices(axes);
          at[axis] = at[axis] + begin;
          return x.At(std::move(at));
        }));
    begin = Simplified(begin + sizes[k]);
  }
  c.Require(begin == x.shape()[axis], "the parts have " + tir::Print(begin) +
                                          " elements along axis " + std::to_string(axis) +
                                          ", the input " + tir::Print(x.shape()[axis]));
  return parts;
}

// One axis of a slice: how many elements, and where they start. Bounds beyond the axis end there.
struct SliceAxis {
  Expr count, start;
  int64_t step = 1;
};

SliceAxis SliceOf(const Expr& start, const Expr& end, int64_t step, const Expr& extent) {
  auto from_front = [&](const Expr& at) {
    if (std::optional<int64_t> constant = ir::AsConstInt(at))
      return *constant < 0 ? at + extent : at;
    return Select(at < Expr(0), at + extent, at);
  };
  // The largest numbers mean "to the end"; taken as they are they would stay beside a symbolic
  // extent.
  constexpr int64_t kHuge = (int64_t{1} << 31) - 1;
  auto clamped = [&](const Expr& at, const Expr& low, const Expr& high) {
    std::optional<int64_t> constant = ir::AsConstInt(at);
    if (constant && *constant >= kHuge) return high;
    if (constant && *constant <= -kHuge) return low;
    return Simplified(Min(Max(from_front(at), low), high));
  };
  if (step > 0) {
    Expr from = clamped(start, 0, extent), to = clamped(end, 0, extent);
    return {Simplified(Max(ir::CeilDiv(to - from, step), 0)), from, step};
  }
  Expr last = Simplified(extent - 1);
  Expr from = clamped(start, 0, last), to = clamped(end, -1, last);
  return {Simplified(Max(ir::CeilDiv(from - to, -step), 0)), from, step};
}

Tensors Slice(Call& c) {
  const Tensor& x = c.tensor(0);
  const Content &starts = c.content(1), &ends = c.content(2);
  TERN_CHECK(starts.size() == ends.size())
      << starts.size() << " starts and " << ends.size() << " ends";
  std::vector<int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.has(3)) axes = c.Ints(3);
  if (c.has(4)) steps = c.Ints(4);
  TERN_CHECK(axes.size() == starts.size() && steps.size() == starts.size())
      << "starts, ends, axes and steps are not equally many";
  std::vector<SliceAxis> slices;
  for (const Expr& extent : x.shape()) slices.push_back({extent, 0, 1});
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = static_cast<size_t>(c.AxisOf(axes[i], c.rank(0)));
    TERN_CHECK(steps[i] != 0) << "the step along axis " << axis << " is 0";
    slices[axis] = SliceOf(AsIndex(starts[i]), AsIndex(ends[i]), steps[i], x.shape()[axis]);
  }
  Exprs shape;
  for (const SliceAxis& slice : slices) shape.push_back(slice.count);
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Exprs at;
    for (size_t i = 0; i < axes.size(); ++i)
      at.push_back(slices[i].start + axes[i] * Expr(slices[i].step));
    return x.At(std::move(at));
  })};
}

Tensors Gather(Call& c) {
  const Tensor &x = c.tensor(0), &at = c.tensor(1);
  if (!at.dtype().is_integer())
    TERN_THROW(TypeError) << "indices are integers, not " << at.dtype().str();
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  Exprs shape(x.shape().begin(), x.shape().begin() + static_cast<int64_t>(axis));
  shape.insert(shape.end(), at.shape().begin(), at.shape().end());
  shape.insert(shape.end(), x.shape().begin() + static_cast<int64_t>(axis) + 1, x.shape().end());
  bool single = c.known(1) && c.content(1).size() == 1;
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Exprs out = Indices(axes);
    auto begin = out.begin() + static_cast<int64_t>(axis);
    Exprs index_at(begin, begin + static_cast<int64_t>(at.rank()));
    Exprs from(out.begin(), begin);
    Expr index = single ? c.content(1)[0] : at.At(std::move(index_at));
    from.push_back(GuardedIndex(AsIndex(index), x.shape()[axis]));
    from.insert(from.end(), begin + static_cast<int64_t>(at.rank()), out.end());
    return x.At(std::move(from));
  })};
}

Tensors Expand(Call& c) {
  Exprs wanted;
  for (const Expr& extent : c.content(1)) wanted.push_back(AsIndex(extent));
  const Tensor& x = c.tensor(0);
  Exprs shape = c.BroadcastShapes({x.shape(), wanted});
  return {Compute(c.name(), shape,
                  [&](const Vars& axes) { return graph::BroadcastLoad(x, Indices(axes), shape); })};
}

Tensors Tile(Call& c) {
  const Tensor& x = c.tensor(0);
  const Content& repeats = c.content(1);
  TERN_CHECK(repeats.size() == x.rank()) << repeats.size() << " repeats for a rank of " << x.rank();
  Exprs shape;
  for (size_t i = 0; i < x.rank(); ++i)
    shape.push_back(Simplified(x.shape()[i] * AsIndex(repeats[i])));
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Exprs at;
    for (size_t i = 0; i < axes.size(); ++i)
      at.push_back(graph::SameExtent(shape[i], x.shape()[i]) ? Expr(axes[i])
                                                             : ir::FloorMod(axes[i], x.shape()[i]));
    return x.At(std::move(at));
  })};
}

// Where an index beyond an axis comes from.
Expr PaddedIndex(const std::string& mode, const Expr& i, const Expr& extent) {
  if (mode == "edge") return Min(Max(i, 0), extent - 1);
  if (mode == "wrap") return ir::FloorMod(i, extent);
  Expr mirrored = Select(i < Expr(0), Expr(0) - i, i);
  Expr beyond = Expr(2) * (extent - 1) - mirrored;
  return Select(mirrored < extent, mirrored, beyond);
}

Tensors Pad(Call& c) {
  const Tensor& x = c.tensor(0);
  std::string mode = c.String("mode");
  TERN_CHECK(mode == "constant" || mode == "edge" || mode == "reflect" || mode == "wrap")
      << "mode is constant, edge, reflect or wrap, not " << mode;
  std::vector<int64_t> axes(x.rank());
  const graph::Content& pads = c.content(1);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.has(3)) axes = c.Ints(3);
  TERN_CHECK(pads.size() == 2 * axes.size())
      << pads.size() << " pads for " << axes.size() << " axes; two for each are expected";
  Exprs before(x.rank(), Expr(0)), after(x.rank(), Expr(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = static_cast<size_t>(c.AxisOf(axes[i], c.rank(0)));
    before[axis] = pads[i];
    after[axis] = pads[i + axes.size()];
  }
  Exprs shape;
  for (size_t i = 0; i < x.rank(); ++i)
    shape.push_back(Simplified(x.shape()[i] + before[i] + after[i]));
  Expr value = c.has(2) ? c.Scalar(2) : tir::Const(x.dtype(), 0);
  return {Compute(c.name(), shape, [&](const Vars& out) {
    Exprs at;
    Expr inside;
    for (size_t i = 0; i < out.size(); ++i) {
      bool moved = !ir::IsConst(before[i], 0), padded = moved || !ir::IsConst(after[i], 0);
      Expr index = moved ? out[i] - before[i] : Expr(out[i]);
      if (padded && mode != "constant") index = PaddedIndex(mode, index, x.shape()[i]);
      if (padded && mode == "constant") {
        Expr here = index >= Expr(0) && index < x.shape()[i];
        inside = inside ? inside && here : here;
      }
      at.push_back(index);
    }
    Expr element = x.At(std::move(at));
    return inside ? Select(inside, element, value) : element;
  })};
}

void RegisterMoves() {
  RegisterOp({.name = "transpose",
              .summary = "x with its axes in another order; reversed by default",
              .inputs = {"x"},
              .attrs = {{"perm", AttrKind::kInts}},
              .compute = Transpose});
  RegisterOp({.name = "concat",
              .summary = "the inputs one behind the other along an axis",
              .inputs = {"x..."},
              .attrs = {{"axis", AttrKind::kInt, {}, true}},
              .compute = Concat,
              .is_concat = true});
  RegisterOp({.name = "split",
              .summary = "parts of x along an axis, of given sizes or equal ones",
              .inputs = {"x", "split?"},
              .attrs = {{"axis", AttrKind::kInt, ffi::Any(0)},
                        {"num_outputs", AttrKind::kInt, ffi::Any(0)}},
              .compute = Split});
  RegisterOp({.name = "slice",
              .summary = "every step-th element of x from start to before end, along axes",
              .inputs = {"x", "starts", "ends", "axes?", "steps?"},
              .compute = Slice});
  RegisterOp({.name = "gather",
              .summary = "slices of x along an axis, at indices; -1 is the last",
              .inputs = {"x", "indices"},
              .attrs = {{"axis", AttrKind::kInt, ffi::Any(0)}},
              .compute = Gather});
  RegisterOp({.name = "expand",
              .summary = "x broadcast to a shape, and that to x's",
              .inputs = {"x", "shape"},
              .compute = Expand});
  RegisterOp({.name = "tile",
              .summary = "x repeated along each axis",
              .inputs = {"x", "repeats"},
              .compute = Tile});
  RegisterOp({.name = "pad",
              .summary = "x with a border, of a value or of its own elements",
              .inputs = {"x", "pads", "value?", "axes?"},
              .attrs = {{"mode", AttrKind::kString, ffi::Any(std::string("constant"))}},
              .compute = Pad});
}

}  // namespace

void RegisterShapeOps() {
  RegisterViews();
  RegisterShapesAsData();
  RegisterRanges();
  RegisterMoves();
}

}  // namespace tern::op
