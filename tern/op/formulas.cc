// SPDX-License-Identifier: Apache-2.0
#include "tern/op/formulas.h"

#include "tern/tir/text.h"

namespace tern::op {

Expr WrappedIndex(const Expr& index, const Expr& extent) {
  if (std::optional<int64_t> constant = ir::AsConstInt(index))
    return *constant < 0 ? index + extent : index;
  return Select(index < Expr(0), index + extent, index);
}

Expr GuardedIndex(const Expr& index, const Expr& extent) {
  Expr wrapped = WrappedIndex(index, extent);
  return ir::AsConstInt(index) ? wrapped : Clamped(wrapped, 0, extent - 1);
}

Expr FlatIndex(const Exprs& indices, const Exprs& shape) {
  Expr flat = 0;
  for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + indices[i];
  return flat;
}

Exprs UnflatIndex(Expr flat, const Exprs& shape) {
  Exprs at(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    at[i] = i == 0 ? flat : ir::FloorMod(flat, shape[i]);
    flat = ir::FloorDiv(flat, shape[i]);
  }
  return at;
}

Exprs WithIndex(Exprs at, size_t axis, const Expr& value) {
  at[axis] = value;
  return at;
}

std::vector<ReduceAxis> ReduceAxes(const Exprs& shape, const std::string& prefix) {
  std::vector<ReduceAxis> axes;
  for (size_t i = 0; i < shape.size(); ++i) axes.emplace_back(prefix + std::to_string(i), shape[i]);
  return axes;
}

int64_t StaticExtent(const Expr& extent, const char* what) {
  std::optional<int64_t> constant = ir::AsConstInt(extent);
  TERN_CHECK(constant) << what << " has to be known when compiling; it is " << tir::Print(extent);
  return *constant;
}

std::vector<int64_t> IntsOr(const Call& c, const char* name, size_t count, int64_t value) {
  if (!c.HasAttr(name)) return std::vector<int64_t>(count, value);
  std::vector<int64_t> ints = c.Ints(name);
  TERN_CHECK(ints.size() == count)
      << name << " has " << ints.size() << " numbers; " << count << " are expected";
  return ints;
}

void CheckOneType(const Call& c, size_t from) {
  for (size_t i = from + 1; i < c.size(); ++i)
    if (c.has(i) && c.has(from) && c.dtype(i) != c.dtype(from))
      TERN_THROW(TypeError) << "inputs of one type are expected, not " << c.dtype(from).str()
                            << " and " << c.dtype(i).str();
}

void CheckFloat(const Call& c, size_t input) {
  if (!c.dtype(input).is_float())
    TERN_THROW(TypeError) << "input " << c.op().inputs[input] << " is of floats, not "
                          << c.dtype(input).str();
}

void CheckRank(const Call& c, size_t input, int64_t rank) {
  TERN_CHECK(c.rank(input) == rank) << "input " << c.op().inputs[input] << " has rank " << rank
                                    << ", not shape " << graph::ShapeText(c.shape(input));
}

void RequireBroadcast(const Call& c, size_t input, const Exprs& shape) {
  Exprs both = c.BroadcastShapes({c.shape(input), shape});
  TERN_CHECK(both.size() == shape.size()) << "a shape of " << graph::ShapeText(c.shape(input))
                                          << " cannot be broadcast to " << graph::ShapeText(shape);
  for (size_t i = 0; i < shape.size(); ++i)
    c.RequireEqual(both[i], shape[i], "axis " + std::to_string(i) + " of the input and of both");
}

}  // namespace tern::op
