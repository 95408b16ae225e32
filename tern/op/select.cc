// SPDX-License-Identifier: Apache-2.0
//
// Operators whose results are as many as the data say: NonZero, Compress, Unique, TopK and
// NonMaxSuppression. All go one way: a program writes to memory for as many as there can be, and
// how many there are; that number is read, and is the extent of a view of the first of them.
//
//   positions, count = compact(mask)        int64[bound], int64[1]
//   n = read(count)                         by first_n, which needs to know it
//   first = first_n(positions, n)           int64[n]
#include <cmath>

#include "tern/graph/builder.h"
#include "tern/graph/op.h"
#include "tern/op/register.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

using graph::AttrKind;
using graph::Builder;
using graph::Call;
using graph::Node;
using graph::RegisterOp;
using graph::Value;
using ir::Expr;
using ir::Var;
using tir::Compute;
using tir::Max;
using tir::Min;
using tir::Select;
using tir::Tensor;
using Exprs = std::vector<Expr>;
using Vars = std::vector<Var>;
using Tensors = std::vector<Tensor>;
using Values = std::vector<Value>;

// ---- Programs

constexpr const char* kCompact = R"(
func compact(mask: bool[n], positions: int64[n], count: int64[1]) {
  count[0] = 0
  for i in 0..n {
    if mask[i] {
      positions[count[0]] = i
      count[0] = count[0] + 1
    }
  }
}
)";

// A merge sort of runs whose length doubles. Equal elements stay in their order.
constexpr const char* kSortIndices = R"(
func sort_indices(x: $0[r, n], order: int64[r, n]) {
  for row in 0..r {
    alloc other: int64[n]
    alloc now: int64[3] in local
    for i in 0..n { order[row, i] = i }
    now[0] = 1
    while now[0] < n {
      for run in 0..(n + 2 * now[0] - 1) // (2 * now[0]) {
        now[1] = run * 2 * now[0]
        now[2] = min(run * 2 * now[0] + now[0], n)
        for k in run * 2 * now[0]..min(run * 2 * now[0] + 2 * now[0], n) {
          if now[1] >= min(run * 2 * now[0] + now[0], n) || (now[2] < min(run * 2 * now[0] + 2 * now[0], n) &&
             (($largest != 0 && x[row, order[row, now[2]]] > x[row, order[row, now[1]]]) ||
              ($largest == 0 && x[row, order[row, now[2]]] < x[row, order[row, now[1]]]))) {
            other[k] = order[row, now[2]]
            now[2] = now[2] + 1
          } else {
            other[k] = order[row, now[1]]
            now[1] = now[1] + 1
          }
        }
      }
      for i in 0..n { order[row, i] = other[i] }
      now[0] = 2 * now[0]
    }
  }
}
)";

// The same of whole rows, by their first elements that differ.
constexpr const char* kSortRows = R"(
func sort_rows(x: $0[n, m], order: int64[n]) {
  alloc other: int64[n]
  alloc now: int64[5] in local
  for i in 0..n { order[i] = i }
  now[0] = 1
  while now[0] < n {
    for run in 0..(n + 2 * now[0] - 1) // (2 * now[0]) {
      now[1] = run * 2 * now[0]
      now[2] = min(run * 2 * now[0] + now[0], n)
      for k in run * 2 * now[0]..min(run * 2 * now[0] + 2 * now[0], n) {
        now[4] = 0
        if now[1] >= min(run * 2 * now[0] + now[0], n) {
          now[4] = 1
        } else if now[2] < min(run * 2 * now[0] + 2 * now[0], n) {
          now[3] = 0
          while now[3] < m && x[order[now[1]], now[3]] == x[order[now[2]], now[3]] { now[3] = now[3] + 1 }
          if now[3] < m && x[order[now[2]], now[3]] < x[order[now[1]], now[3]] { now[4] = 1 }
        }
        if now[4] > 0 {
          other[k] = order[now[2]]
          now[2] = now[2] + 1
        } else {
          other[k] = order[now[1]]
          now[1] = now[1] + 1
        }
      }
    }
    for i in 0..n { order[i] = other[i] }
    now[0] = 2 * now[0]
  }
}
)";

// Of rows in their order: where each distinct one is first, which of them each row is, how often
// each occurs, and how many there are. Unless sorted, distinct rows are in the order in which they
// are first.
constexpr const char* kUniqueRuns = R"(
func unique_runs(x: $0[n, m], order: int64[n], first: int64[n], inverse: int64[n], counts: int64[n], count: int64[1]) {
  alloc now: int64[2] in local
  count[0] = 0
  for k in 0..n {
    now[0] = m
    if k == 0 { now[0] = -1 }
    if k > 0 {
      now[0] = 0
      while now[0] < m && x[order[k], now[0]] == x[order[k - 1], now[0]] { now[0] = now[0] + 1 }
    }
    if now[0] < m {
      first[count[0]] = order[k]
      counts[count[0]] = 0
      count[0] = count[0] + 1
    }
    counts[count[0] - 1] = counts[count[0] - 1] + 1
    inverse[order[k]] = count[0] - 1
  }
  if $sorted == 0 {
    alloc number: int64[n]
    alloc old_first: int64[n]
    alloc old_counts: int64[n]
    now[1] = 0
    for i in 0..n {
      if first[inverse[i]] == i {
        number[inverse[i]] = now[1]
        now[1] = now[1] + 1
      }
    }
    for i in 0..count[0] {
      old_first[i] = first[i]
      old_counts[i] = counts[i]
    }
    for i in 0..count[0] {
      first[number[i]] = old_first[i]
      counts[number[i]] = old_counts[i]
    }
    for i in 0..n { inverse[i] = number[inverse[i]] }
  }
}
)";

// Of each class the best boxes that overlap none that was taken before.
constexpr const char* kSelectBoxes = R"(
func select_boxes(boxes: float32[b, n, 4], scores: float32[b, c, n], order: int64[r, n], most: int64[1], iou: float32[1],
                  score: float32[1], selected: int64[r * n, 3], count: int64[1]) {
  alloc now: int64[4] in local
  alloc area: float32[2] in local
  count[0] = 0
  for i in 0..b, j in 0..c {
    now[0] = count[0]
    for k in 0..n {
      now[3] = order[i * c + j, k]
      if count[0] - now[0] < most[0] && scores[i, j, now[3]] > score[0] {
        now[1] = 1
        now[2] = now[0]
        while now[1] > 0 && now[2] < count[0] {
          area[0] = max(min(boxes[i, now[3], 2], boxes[i, selected[now[2], 2], 2]) -
                        max(boxes[i, now[3], 0], boxes[i, selected[now[2], 2], 0]), 0.0) *
                    max(min(boxes[i, now[3], 3], boxes[i, selected[now[2], 2], 3]) -
                        max(boxes[i, now[3], 1], boxes[i, selected[now[2], 2], 1]), 0.0)
          area[1] = (boxes[i, now[3], 2] - boxes[i, now[3], 0]) * (boxes[i, now[3], 3] - boxes[i, now[3], 1]) +
                    (boxes[i, selected[now[2], 2], 2] - boxes[i, selected[now[2], 2], 0]) *
                    (boxes[i, selected[now[2], 2], 3] - boxes[i, selected[now[2], 2], 1]) - area[0]
          if area[0] > iou[0] * area[1] { now[1] = 0 }
          now[2] = now[2] + 1
        }
        if now[1] > 0 {
          selected[count[0], 0] = i
          selected[count[0], 1] = j
          selected[count[0], 2] = now[3]
          count[0] = count[0] + 1
        }
      }
    }
  }
}
)";

// ---- Formulas

Tensors FirstN(Call& c) {
  const Tensor& x = c.tensor(0);
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  const graph::Content& content = c.content(1);
  TERN_CHECK(content.size() == 1) << "n is one integer";
  Expr n = content[0].dtype() == DataType::Int(64) ? content[0]
                                                   : tir::Cast(DataType::Int(64), content[0]);
  c.Require(x.shape()[axis] >= n && n >= Expr(0), tir::Print(n) + " of " +
                                                      tir::Print(x.shape()[axis]) + " along axis " +
                                                      std::to_string(axis) + " are wanted");
  Exprs shape = x.shape();
  shape[axis] = n;
  return {Compute(c.name(), shape,
                  [&](const Vars& axes) { return x.At(Exprs(axes.begin(), axes.end())); })};
}

// The indices of elements of x, one in a column, from their positions in row-major order.
Tensors Unravel(Call& c) {
  const Tensor& positions = c.tensor(0);
  const Exprs& shape = c.shape(1);
  TERN_CHECK(positions.rank() == 1 && positions.dtype() == DataType::Int(64))
      << "positions are a vector of int64";
  Exprs result = {Expr(static_cast<int64_t>(shape.size())), positions.shape()[0]};
  return {Compute(c.name(), result, [&](const Var& d, const Var& j) {
    Expr rest = positions(j), value = rest;
    Exprs indices(shape.size());
    for (size_t i = shape.size(); i-- > 0;) {
      indices[i] = i == 0 ? rest : ir::FloorMod(rest, shape[i]);
      rest = ir::FloorDiv(rest, shape[i]);
    }
    if (!indices.empty()) value = indices.back();
    for (size_t i = indices.size(); i-- > 1;)
      value = Select(d < Expr(static_cast<int64_t>(i)), indices[i - 1], value);
    return value;
  })};
}

Tensors TakeRows(Call& c) {
  const Tensor &x = c.tensor(0), &order = c.tensor(1);
  TERN_CHECK(x.rank() == 2 && order.rank() == 2 && order.dtype() == DataType::Int(64))
      << "x and the order, of int64, have rank 2";
  c.RequireEqual(x.shape()[0], order.shape()[0], "the number of rows");
  return {Compute(c.name(), order.shape(), [&](const Var& i, const Var& j) {
    return x(i, Min(Max(order(i, j), Expr(0)), x.shape()[1] - Expr(1)));
  })};
}

// Boxes as [y, x, y, x] of the corners, the smaller first.
Tensors BoxCorners(Call& c) {
  const Tensor& boxes = c.tensor(0);
  TERN_CHECK(boxes.rank() == 3 && ir::IsConst(boxes.shape()[2], 4) && boxes.dtype().is_float())
      << "boxes are floats of shape [batch, boxes, 4], not " << graph::ShapeText(boxes.shape());
  bool center = c.Flag("center_point_box");
  return {Compute(c.name(), boxes.shape(), [&](const Var& b, const Var& n, const Var& k) {
    Expr axis = ir::FloorMod(k, 2), is_high = k >= Expr(2);
    if (center) {
      Expr middle = boxes(b, n, Expr(1) - axis);
      Expr half = boxes(b, n, Expr(3) - axis) * tir::Const(boxes.dtype(), 0.5);
      return Select(is_high, middle + half, middle - half);
    }
    Expr one = boxes(b, n, axis), other = boxes(b, n, axis + Expr(2));
    return Select(is_high, Max(one, other), Min(one, other));
  })};
}

// ---- Composites

Value InputOf(const Node& node, size_t i) {
  return i < node->inputs.size() ? node->inputs[i] : Value();
}

int64_t IntAttr(const Node& node, const char* name) {
  auto given = node->attrs.find(name);
  if (given != node->attrs.end()) return given->second.As<int64_t>();
  for (const graph::AttrSpec& spec : node->op->attrs)
    if (spec.name == name) return spec.default_value.As<int64_t>();
  return 0;
}

Value Reshaped(Builder& b, const Value& x, const std::vector<int64_t>& shape) {
  return b.Add("reshape", {x, b.Ints(shape, "shape")});
}
Value Flat(Builder& b, const Value& x) { return Reshaped(b, x, {-1}); }

Value FirstOf(Builder& b, const Value& x, const Value& n, int64_t axis = 0) {
  return b.Add("first_n", {x, n}, {{"axis", ffi::Any(axis)}});
}

// The number that a program has written; one read for all who use it.
Value CountOf(Builder& b, const Value& count) {
  return b.Add("read", {count}, {{"count", ffi::Any(1)}});
}

Value PositionsOf(Builder& b, const Value& mask) {
  Values found = b.Add(graph::GetOp("compact"), {mask});
  return FirstOf(b, found[0], CountOf(b, found[1]));
}

Values NonZero(Builder& b, const Node& node) {
  Value x = node->inputs[0];
  Value mask = Flat(b, b.Add("cast", {x}, {{"to", ffi::Any(std::string("bool"))}}));
  return {b.Add("unravel", {PositionsOf(b, mask), x})};
}

Values Compress(Builder& b, const Node& node) {
  Value x = node->inputs[0], mask = node->inputs[1];
  if (mask->type.dtype != DataType::Bool() || mask->type.rank() != 1)
    TERN_THROW(TypeError) << "the condition is a vector of bools, not " << mask->type.str();
  auto axis = node->attrs.find("axis");
  if (axis == node->attrs.end()) x = Flat(b, x);
  return {b.Add("gather", {x, PositionsOf(b, mask)},
                {{"axis", axis == node->attrs.end() ? ffi::Any(0) : axis->second}})};
}

Value Transposed(Builder& b, const Value& x, const std::vector<int64_t>& perm) {
  return b.Add("transpose", {x}, {{"perm", ffi::Any(ffi::MakeArray({perm.begin(), perm.end()}))}});
}

// The axes with one of them moved.
std::vector<int64_t> Moved(size_t rank, int64_t from, int64_t to) {
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i)
    if (i != from) perm.push_back(i);
  perm.insert(perm.begin() + to, from);
  return perm;
}

int64_t AxisOf(const Node& node, const Value& x) {
  auto rank = static_cast<int64_t>(x->type.rank());
  int64_t axis = IntAttr(node, "axis");
  TERN_CHECK(axis >= -rank && axis < rank) << "axis " << axis << " is none of rank " << rank;
  return axis < 0 ? axis + rank : axis;
}

Values TopK(Builder& b, const Node& node) {
  Value x = node->inputs[0];
  int64_t axis = AxisOf(node, x), last = static_cast<int64_t>(x->type.rank()) - 1;
  if (axis != last) x = Transposed(b, x, Moved(x->type.rank(), axis, last));
  Value shape = b.Add("shape", {x});
  Value rows = b.Add(
      "reshape",
      {x, b.Add("concat", {b.Ints({-1}, "rest"), b.Add("shape", {x}, {{"start", ffi::Any(-1)}})},
                {{"axis", ffi::Any(0)}})});
  Value order = b.Add("sort_indices", {rows}, {{"largest", ffi::Any(IntAttr(node, "largest"))}});
  Value k = node->inputs[1]->content ? node->inputs[1] : CountOf(b, node->inputs[1]);
  Value indices = FirstOf(b, order, k, 1);
  Values results = {b.Add("take_rows", {rows, indices}), indices};
  // Back to the axes of x.
  Value ahead = b.Add("shape", {x}, {{"end", ffi::Any(-1)}});
  Value wanted = b.Add("concat", {ahead, Flat(b, k)}, {{"axis", ffi::Any(0)}});
  for (Value& result : results) {
    result = b.Add("reshape", {result, wanted}, {{"allowzero", ffi::Any(1)}});
    if (axis != last) result = Transposed(b, result, Moved(x->type.rank(), last, axis));
  }
  return results;
}

Values Unique(Builder& b, const Node& node) {
  Value x = node->inputs[0];
  bool flat = node->attrs.find("axis") == node->attrs.end();
  int64_t axis = flat ? 0 : AxisOf(node, x);
  if (flat) x = Flat(b, x);
  Value front = axis == 0 ? x : Transposed(b, x, Moved(x->type.rank(), axis, 0));
  Value rows = b.Add("flatten", {front}, {{"axis", ffi::Any(1)}});
  Value order = b.Add("sort_rows", {rows});
  Values runs = b.Add(graph::GetOp("unique_runs"), {rows, order},
                      {{"sorted", ffi::Any(IntAttr(node, "sorted"))}});
  Value count = CountOf(b, runs[3]), first = FirstOf(b, runs[0], count);
  return {b.Add("gather", {x, first}, {{"axis", ffi::Any(axis)}}), first, runs[1],
          FirstOf(b, runs[2], count)};
}

Values NonMaxSuppression(Builder& b, const Node& node) {
  Value boxes = node->inputs[0], scores = node->inputs[1];
  for (const Value& input : {boxes, scores})
    if (input->type.rank() != 3 || input->type.dtype != DataType::Float(32))
      TERN_THROW(TypeError) << "boxes and scores are float32 of rank 3, not " << input->type.str();
  Value corners = b.Add("box_corners", {boxes},
                        {{"center_point_box", ffi::Any(IntAttr(node, "center_point_box"))}});
  auto scalar = [&](size_t i, DataType dtype, double otherwise) {
    Value given = InputOf(node, i);
    if (!given) given = b.Scalar(dtype, otherwise, node->op->inputs[i].substr(0, 3));
    return Reshaped(b, given, {1});
  };
  Value most = scalar(2, DataType::Int(64), 0), iou = scalar(3, DataType::Float(32), 0),
        score = scalar(4, DataType::Float(32), -INFINITY);
  Value last = b.Add("shape", {scores}, {{"start", ffi::Any(2)}});
  Value rows = b.Add(
      "reshape", {scores, b.Add("concat", {b.Ints({-1}, "rest"), last}, {{"axis", ffi::Any(0)}})});
  Value order = b.Add("sort_indices", {rows}, {{"largest", ffi::Any(1)}});
  Values found = b.Add(graph::GetOp("select_boxes"), {corners, scores, order, most, iou, score});
  return {FirstOf(b, found[0], CountOf(b, found[1]))};
}

void RegisterParts() {
  RegisterOp({.name = "compact",
              .summary = "the positions where the mask holds, and how many there are",
              .inputs = {"mask"},
              .program = kCompact});
  RegisterOp({.name = "sort_indices",
              .summary = "of each row the indices of its elements in their order",
              .inputs = {"x"},
              .attrs = {{"largest", AttrKind::kInt, ffi::Any(0)}},
              .program = kSortIndices});
  RegisterOp({.name = "sort_rows",
              .summary = "the numbers of the rows in their order",
              .inputs = {"x"},
              .program = kSortRows});
  RegisterOp({.name = "unique_runs",
              .summary = "where each distinct row is first, which one each row is, how often each "
                         "occurs, and how many there are",
              .inputs = {"x", "order"},
              .attrs = {{"sorted", AttrKind::kInt, ffi::Any(1)}},
              .program = kUniqueRuns});
  RegisterOp({.name = "select_boxes",
              .summary = "of each class the best boxes that do not overlap, and how many there are",
              .inputs = {"boxes", "scores", "order", "most", "iou", "score"},
              .program = kSelectBoxes});
  RegisterOp({.name = "first_n",
              .summary = "the first n along an axis",
              .inputs = {"x", "n"},
              .attrs = {{"axis", AttrKind::kInt, ffi::Any(0)}},
              .compute = FirstN});
  RegisterOp({.name = "unravel",
              .summary = "the indices into x of positions in row-major order, a column for each",
              .inputs = {"positions", "x"},
              .compute = Unravel});
  RegisterOp({.name = "take_rows",
              .summary = "of each row the elements at these indices",
              .inputs = {"x", "order"},
              .compute = TakeRows});
  RegisterOp({.name = "box_corners",
              .summary = "boxes as [y, x, y, x] of their corners, the smaller first",
              .inputs = {"boxes"},
              .attrs = {{"center_point_box", AttrKind::kInt, ffi::Any(0)}},
              .compute = BoxCorners});
}

}  // namespace

void RegisterSelectOps() {
  RegisterParts();
  RegisterOp({.name = "non_zero",
              .summary = "the indices of what is not 0, a column for each",
              .inputs = {"x"},
              .expand = NonZero});
  RegisterOp({.name = "compress",
              .summary = "slices of x along an axis, where the condition holds; without an axis "
                         "elements",
              .inputs = {"x", "condition"},
              .attrs = {{"axis", AttrKind::kInt}},
              .expand = Compress});
  RegisterOp(
      {.name = "top_k",
       .summary = "the k largest or smallest along an axis, in their order, and their indices",
       .inputs = {"x", "k"},
       .attrs = {{"axis", AttrKind::kInt, ffi::Any(-1)},
                 {"largest", AttrKind::kInt, ffi::Any(1)},
                 {"sorted", AttrKind::kInt, ffi::Any(1)}},
       .expand = TopK});
  RegisterOp({.name = "unique",
              .summary = "distinct slices along an axis, or elements; where each is first, which "
                         "one each is, and how often it occurs",
              .inputs = {"x"},
              .attrs = {{"axis", AttrKind::kInt}, {"sorted", AttrKind::kInt, ffi::Any(1)}},
              .expand = Unique});
  RegisterOp({.name = "non_max_suppression",
              .summary = "the batch, class and number of boxes that overlap no better one",
              .inputs = {"boxes", "scores", "max_boxes?", "iou_threshold?", "score_threshold?"},
              .attrs = {{"center_point_box", AttrKind::kInt, ffi::Any(0)}},
              .expand = NonMaxSuppression});
}

}  // namespace tern::op
