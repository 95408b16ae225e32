// SPDX-License-Identifier: Apache-2.0
//
// Operators that choose elements by indices: gather, scatter, and their relatives.
#include <algorithm>
#include <functional>

#include "tern/op/formulas.h"
#include "tern/op/register.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

void CheckIntegers(const Call& c, size_t input) {
  if (!c.dtype(input).is_integer())
    TERN_THROW(TypeError) << "input " << c.op().inputs[input] << " is of integers, not "
                          << c.dtype(input).str();
}

// ---- Gather

Tensors GatherElements(Call& c) {
  const Tensor &x = c.tensor(0), &at = c.tensor(1);
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  TERN_CHECK(at.rank() == x.rank()) << "indices have rank " << x.rank() << ", as the input";
  CheckIntegers(c, 1);
  for (size_t i = 0; i < x.rank(); ++i)
    if (i != axis)
      c.Require(ir::NotNode::Make(x.shape()[i] < at.shape()[i]),
                "indices reach beyond axis " + std::to_string(i));
  return {Compute(c.name(), at.shape(), [&](const Vars& axes) {
    Expr index = AsIndex(at.At(Indices(axes)));
    return x.At(WithIndex(Indices(axes), axis, GuardedIndex(index, x.shape()[axis])));
  })};
}

// Tuples of indices are the last axis of `indices`; of the first axes both have `batch_dims`.
Tensors GatherNd(Call& c) {
  const Tensor &x = c.tensor(0), &at = c.tensor(1);
  CheckIntegers(c, 1);
  TERN_CHECK(at.rank() > 0) << "indices have a last axis of tuples";
  auto count = static_cast<size_t>(StaticExtent(at.shape().back(), "the length of tuples"));
  int64_t batch_dims = c.Int("batch_dims");
  TERN_CHECK(batch_dims >= 0 && batch_dims < static_cast<int64_t>(at.rank()))
      << "batch_dims is less than the rank of indices, " << at.rank();
  auto batch = static_cast<size_t>(batch_dims);
  TERN_CHECK(count > 0 && batch + count <= x.rank())
      << "tuples of " << count << " behind " << batch << " axes do not fit into rank " << x.rank();
  for (size_t i = 0; i < batch; ++i)
    c.RequireEqual(x.shape()[i], at.shape()[i],
                   "axis " + std::to_string(i) + " of input and indices");
  Exprs shape(at.shape().begin(), at.shape().end() - 1);
  shape.insert(shape.end(), x.shape().begin() + static_cast<int64_t>(batch + count),
               x.shape().end());
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Exprs out = Indices(axes);
    auto tuple_end = out.begin() + static_cast<int64_t>(at.rank()) - 1;
    Exprs from(out.begin(), out.begin() + batch_dims), tuple(out.begin(), tuple_end);
    tuple.emplace_back(0);
    for (size_t k = 0; k < count; ++k) {
      tuple.back() = Expr(static_cast<int64_t>(k));
      from.push_back(GuardedIndex(AsIndex(at.At(tuple)), x.shape()[batch + k]));
    }
    from.insert(from.end(), tuple_end, out.end());
    return x.At(std::move(from));
  })};
}

// ---- Scatter

// The updates that reach an element of the result, which are looked for from there: no two threads
// write one element, and the last of several updates counts.
struct Updates {
  std::vector<ReduceAxis> over;  // all that could
  Expr reaches;                  // whether this one does
  Expr value;
};

Tensors Scatter(const Call& c, const std::function<Updates(const Vars& axes)>& updates_of,
                const std::function<Expr(const Vars& axes, const Exprs& update)>& load) {
  const Tensor& x = c.tensor(0);
  std::string how = c.String("reduction");
  auto all = [&](const std::function<tir::Reduction(const Expr&, std::vector<ReduceAxis>)>& reduce,
                 const std::function<Expr(const Expr&, const Expr&)>& combine) {
    Tensor updates = Compute(c.name("updates"), x.shape(), [&](const Vars& axes) {
      Updates u = updates_of(axes);
      tir::Reduction reduction = reduce(u.value, u.over);
      reduction.values[0] = Select(u.reaches, u.value, reduction.identities[0]);
      return reduction;
    });
    return Tensors{Compute(c.name(), x.shape(), [&](const Vars& axes) {
      return combine(x.At(Indices(axes)), updates.At(Indices(axes)));
    })};
  };
  if (how == "add") return all(tir::Sum, [](const Expr& a, const Expr& b) { return a + b; });
  if (how == "mul") return all(tir::Prod, [](const Expr& a, const Expr& b) { return a * b; });
  if (how == "max") return all(tir::MaxOf, [](const Expr& a, const Expr& b) { return Max(a, b); });
  if (how == "min") return all(tir::MinOf, [](const Expr& a, const Expr& b) { return Min(a, b); });
  TERN_CHECK(how == "none") << "reduction is none, add, mul, max or min, not " << how;
  Exprs extents;
  Tensor last = Compute(c.name("last"), x.shape(), [&](const Vars& axes) {
    Updates u = updates_of(axes);
    extents.clear();
    for (const ReduceAxis& axis : u.over) extents.push_back(axis.extent());
    Expr number = FlatIndex({u.over.begin(), u.over.end()}, extents);
    return tir::MaxOf(Select(u.reaches, number, Expr(-1)), u.over);
  });
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Expr number = last.At(Indices(axes));
    return Select(number >= Expr(0), load(axes, UnflatIndex(Max(number, 0), extents)),
                  x.At(Indices(axes)));
  })};
}

Tensors ScatterElements(Call& c) {
  const Tensor &x = c.tensor(0), &at = c.tensor(1), &updates = c.tensor(2);
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  CheckIntegers(c, 1);
  TERN_CHECK(at.rank() == x.rank() && updates.rank() == x.rank() && updates.dtype() == x.dtype())
      << "input, indices and updates have one rank, and updates are of the input's type";
  for (size_t i = 0; i < x.rank(); ++i)
    c.RequireEqual(at.shape()[i], updates.shape()[i], "the shape of indices and updates");
  auto updates_of = [&](const Vars& axes) {
    ReduceAxis k("k", at.shape()[axis]);
    Exprs in = WithIndex(Indices(axes), axis, k);
    // Indices may have smaller extents than the input; there nothing is updated.
    Expr reaches = WrappedIndex(AsIndex(at.At(in)), x.shape()[axis]) == axes[axis];
    for (size_t i = 0; i < axes.size(); ++i)
      if (i != axis && !graph::SameExtent(at.shape()[i], x.shape()[i]))
        reaches = axes[i] < at.shape()[i] && reaches;
    return Updates{{k}, reaches, updates.At(in)};
  };
  auto load = [&](const Vars& axes, const Exprs& update) {
    return updates.At(WithIndex(Indices(axes), axis, update[0]));
  };
  return Scatter(c, updates_of, load);
}

Tensors ScatterNd(Call& c) {
  const Tensor &x = c.tensor(0), &at = c.tensor(1), &updates = c.tensor(2);
  CheckIntegers(c, 1);
  TERN_CHECK(at.rank() > 0 && updates.dtype() == x.dtype())
      << "indices have a last axis of tuples, and updates are of the input's type";
  auto count = static_cast<size_t>(StaticExtent(at.shape().back(), "the length of tuples"));
  TERN_CHECK(count <= x.rank()) << "tuples of " << count << " do not fit into rank " << x.rank();
  Exprs tuples(at.shape().begin(), at.shape().end() - 1), shape = tuples;
  shape.insert(shape.end(), x.shape().begin() + static_cast<int64_t>(count), x.shape().end());
  TERN_CHECK(updates.rank() == shape.size()) << "updates are of shape " << graph::ShapeText(shape)
                                             << ", not " << graph::ShapeText(updates.shape());
  for (size_t i = 0; i < shape.size(); ++i)
    c.RequireEqual(shape[i], updates.shape()[i], "the shape of updates");
  auto load = [&](const Vars& axes, const Exprs& update) {
    Exprs in = update;
    if (tuples.empty()) in.clear();
    in.insert(in.end(), axes.begin() + static_cast<int64_t>(count), axes.end());
    return updates.At(std::move(in));
  };
  auto updates_of = [&](const Vars& axes) {
    std::vector<ReduceAxis> over = ReduceAxes(tuples);
    Exprs tuple(over.begin(), over.end());
    if (over.empty()) over.emplace_back("k", 1);
    Expr value = load(axes, tuple), reaches;
    tuple.emplace_back(0);
    for (size_t k = 0; k < count; ++k) {
      tuple.back() = Expr(static_cast<int64_t>(k));
      Expr here = WrappedIndex(AsIndex(at.At(tuple)), x.shape()[k]) == axes[k];
      reaches = reaches ? reaches && here : here;
    }
    if (!reaches) reaches = Expr(0) < Expr(1);
    return Updates{over, reaches, value};
  };
  return Scatter(c, updates_of, load);
}

// A part of a cache is written, from a position on that each of the batch has.
Tensors TensorScatter(Call& c) {
  const Tensor &past = c.tensor(0), &update = c.tensor(1);
  std::string mode = c.String("mode");
  TERN_CHECK(mode == "linear" || mode == "circular") << "mode is linear or circular, not " << mode;
  TERN_CHECK(update.rank() == past.rank() && update.dtype() == past.dtype())
      << "cache and update are of one rank and type";
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  TERN_CHECK(axis > 0) << "axis 0 is the batch";
  for (size_t i = 0; i < past.rank(); ++i)
    if (i != axis)
      c.RequireEqual(past.shape()[i], update.shape()[i], "the shape of cache and update");
  if (c.has(2)) {
    CheckIntegers(c, 2);
    CheckRank(c, 2, 1);
    c.RequireEqual(c.shape(2)[0], past.shape()[0], "the batch of write_indices and cache");
  }
  return {Compute(c.name(), past.shape(), [&](const Vars& axes) {
    Expr extent = past.shape()[axis], count = update.shape()[axis];
    Expr offset = axes[axis] - (c.has(2) ? AsIndex(c.tensor(2)(axes[0])) : Expr(0));
    if (mode == "circular") offset = ir::FloorMod(offset, extent);
    Expr inside = offset >= Expr(0) && offset < count;
    return Select(inside, update.At(WithIndex(Indices(axes), axis, Clamped(offset, 0, count - 1))),
                  past.At(Indices(axes)));
  })};
}

// ---- By position

Tensors OneHot(Call& c) {
  const Tensor &at = c.tensor(0), &values = c.tensor(2);
  TERN_CHECK(values.rank() == 1 && ir::IsConst(values.shape()[0], 2))
      << "values are two, off and on; they are of shape " << graph::ShapeText(values.shape());
  c.content(1);
  Expr depth = Simplified(AsIndex(c.Scalar(1)));
  int64_t rank = c.rank(0) + 1, axis = c.Axis("axis", rank);
  Exprs shape = at.shape();
  shape.insert(shape.begin() + axis, depth);
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Exprs in = Indices(axes);
    in.erase(in.begin() + axis);
    Expr index = WrappedIndex(AsIndex(at.At(std::move(in))), depth);
    return Select(index == axes[static_cast<size_t>(axis)], values(1), values(0));
  })};
}

Tensors Trilu(Call& c) {
  const Tensor& x = c.tensor(0);
  TERN_CHECK(x.rank() >= 2) << "the input is of matrices";
  Expr k = c.has(1) ? AsIndex(c.Scalar(1)) : Expr(0);
  bool upper = c.Flag("upper");
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    const Var &row = axes[axes.size() - 2], &column = axes.back();
    Expr keeps = upper ? column >= row + k : row + k >= column;
    Expr element = x.At(Indices(axes));
    Expr zero = x.dtype().is_bool() ? Expr(0) < Expr(0) : Number(element, 0);
    return Select(keeps, element, zero);
  })};
}

Tensors EyeLike(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckRank(c, 0, 2);
  DataType dtype = x.dtype();
  if (c.HasAttr("dtype")) {
    std::optional<DataType> given = DataType::Parse(c.String("dtype"));
    TERN_CHECK(given) << "there is no type " << c.String("dtype");
    dtype = *given;
  }
  int64_t k = c.Int("k");
  return {Compute(c.name(), x.shape(), [&](Var i, Var j) {
    Expr diagonal = j == i + Expr(k);
    return dtype.is_bool() ? diagonal
                           : Select(diagonal, tir::Const(dtype, 1), tir::Const(dtype, 0));
  })};
}

// The first sequence_lens[b] elements along the time axis in reverse order.
Tensors ReverseSequence(Call& c) {
  const Tensor& x = c.tensor(0);
  auto batch = static_cast<size_t>(c.Axis("batch_axis", c.rank(0)));
  auto time = static_cast<size_t>(c.Axis("time_axis", c.rank(0)));
  TERN_CHECK(batch != time) << "batch and time are two axes";
  CheckIntegers(c, 1);
  CheckRank(c, 1, 1);
  c.RequireEqual(c.shape(1)[0], x.shape()[batch], "the number of sequences");
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Expr length = AsIndex(c.tensor(1)(axes[batch]));
    Expr from = Select(axes[time] < length, length - 1 - axes[time], axes[time]);
    return x.At(WithIndex(Indices(axes), time, Clamped(from, 0, x.shape()[time] - 1)));
  })};
}

Tensors DepthToSpace(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckRank(c, 0, 4);
  int64_t block = c.Int("blocksize");
  std::string mode = c.String("mode");
  TERN_CHECK(mode == "DCR" || mode == "CRD") << "mode is DCR or CRD, not " << mode;
  TERN_CHECK(block > 0) << "blocksize is positive, not " << block;
  c.Require(
      ir::FloorMod(x.shape()[1], block * block) == Expr(0),
      tir::Print(x.shape()[1]) + " channels are no blocks of " + std::to_string(block * block));
  Expr channels = Simplified(ir::FloorDiv(x.shape()[1], block * block));
  Exprs shape{x.shape()[0], channels, Simplified(x.shape()[2] * Expr(block)),
              Simplified(x.shape()[3] * Expr(block))};
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Expr i = ir::FloorMod(axes[2], block), j = ir::FloorMod(axes[3], block);
    Expr place = i * Expr(block) + j;
    Expr channel =
        mode == "DCR" ? place * channels + axes[1] : axes[1] * Expr(block * block) + place;
    return x(axes[0], channel, ir::FloorDiv(axes[2], block), ir::FloorDiv(axes[3], block));
  })};
}

Tensors SpaceToDepth(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckRank(c, 0, 4);
  int64_t block = c.Int("blocksize");
  std::string mode = c.String("mode");
  TERN_CHECK(mode == "DCR" || mode == "CRD") << "mode is DCR or CRD, not " << mode;
  TERN_CHECK(block > 0) << "blocksize is positive, not " << block;
  for (size_t i = 2; i < 4; ++i)
    c.Require(
        ir::FloorMod(x.shape()[i], block) == Expr(0),
        "an extent of " + tir::Print(x.shape()[i]) + " is no blocks of " + std::to_string(block));
  Exprs shape{x.shape()[0], Simplified(x.shape()[1] * Expr(block * block)),
              Simplified(ir::FloorDiv(x.shape()[2], block)),
              Simplified(ir::FloorDiv(x.shape()[3], block))};
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    bool blocks_first = mode == "DCR";
    Expr place =
        blocks_first ? ir::FloorDiv(axes[1], x.shape()[1]) : ir::FloorMod(axes[1], block * block);
    Expr channel =
        blocks_first ? ir::FloorMod(axes[1], x.shape()[1]) : ir::FloorDiv(axes[1], block * block);
    return x(axes[0], channel, axes[2] * Expr(block) + ir::FloorDiv(place, block),
             axes[3] * Expr(block) + ir::FloorMod(place, block));
  })};
}

void RegisterByPosition() {
  RegisterOp({.name = "one_hot",
              .summary = "values[1] at the index along a new axis of extent depth, else values[0]",
              .inputs = {"indices", "depth", "values"},
              .attrs = {{"axis", AttrKind::kInt, ffi::Any(-1)}},
              .compute = OneHot});
  RegisterOp({.name = "trilu",
              .summary = "the upper or lower triangle of matrices, 0 elsewhere",
              .inputs = {"x", "k?"},
              .attrs = {{"upper", AttrKind::kInt, ffi::Any(1)}},
              .compute = Trilu});
  RegisterOp({.name = "eye_like",
              .summary = "1 on the k-th diagonal of a matrix of x's shape, 0 elsewhere",
              .inputs = {"x"},
              .attrs = {{"dtype", AttrKind::kString}, {"k", AttrKind::kInt, ffi::Any(0)}},
              .compute = EyeLike});
  RegisterOp({.name = "reverse_sequence",
              .summary = "sequences of given lengths in reverse order",
              .inputs = {"x", "sequence_lens"},
              .attrs = {{"batch_axis", AttrKind::kInt, ffi::Any(1)},
                        {"time_axis", AttrKind::kInt, ffi::Any(0)}},
              .compute = ReverseSequence});
  RegisterOp({.name = "depth_to_space",
              .summary = "blocks of channels as blocks of pixels",
              .inputs = {"x"},
              .attrs = {{"blocksize", AttrKind::kInt, {}, true},
                        {"mode", AttrKind::kString, ffi::Any(std::string("DCR"))}},
              .compute = DepthToSpace});
  RegisterOp({.name = "space_to_depth",
              .summary = "blocks of pixels as blocks of channels",
              .inputs = {"x"},
              .attrs = {{"blocksize", AttrKind::kInt, {}, true},
                        {"mode", AttrKind::kString, ffi::Any(std::string("DCR"))}},
              .compute = SpaceToDepth});
}

}  // namespace

void RegisterIndexingOps() {
  RegisterOp({.name = "gather_elements",
              .summary = "elements of x at indices along an axis",
              .inputs = {"x", "indices"},
              .attrs = {{"axis", AttrKind::kInt, ffi::Any(0)}},
              .compute = GatherElements});
  RegisterOp({.name = "gather_nd",
              .summary = "slices of x at tuples of indices",
              .inputs = {"x", "indices"},
              .attrs = {{"batch_dims", AttrKind::kInt, ffi::Any(0)}},
              .compute = GatherNd});
  graph::AttrSpec reduction{"reduction", AttrKind::kString, ffi::Any(std::string("none"))};
  RegisterOp({.name = "scatter_elements",
              .summary = "x with updates at indices along an axis",
              .inputs = {"x", "indices", "updates"},
              .attrs = {{"axis", AttrKind::kInt, ffi::Any(0)}, reduction},
              .compute = ScatterElements});
  RegisterOp({.name = "scatter_nd",
              .summary = "x with updates at tuples of indices",
              .inputs = {"x", "indices", "updates"},
              .attrs = {reduction},
              .compute = ScatterNd});
  RegisterOp({.name = "tensor_scatter",
              .summary = "a cache with an update along an axis, from write_indices on",
              .inputs = {"past", "update", "write_indices?"},
              .attrs = {{"axis", AttrKind::kInt, ffi::Any(-2)},
                        {"mode", AttrKind::kString, ffi::Any(std::string("linear"))}},
              .compute = TensorScatter});
  RegisterByPosition();
}

}  // namespace tern::op
