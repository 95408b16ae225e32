// SPDX-License-Identifier: Apache-2.0
//
// Sums and products of the elements up to each one along an axis: scans, by programs of one block,
// which the rules for scans schedule. x is [rows, n], or [rows, n, columns] along an inner axis:
//
//   y[r, v, c] = x[r, v, c] op select(v > 0, y[r, v - 1, c], identity)
#include <limits>

#include "tern/graph/builder.h"
#include "tern/graph/op.h"
#include "tern/op/register.h"

namespace tern::op {
namespace {

using graph::AttrKind;
using graph::Builder;
using graph::Node;
using graph::RegisterOp;
using graph::Value;

struct Kind {
  std::string name, op, identity;
  std::string rows() const { return name + "_rows"; }
  std::string columns() const { return name + "_columns"; }
};

std::string ProgramOf(const std::string& name, const Kind& kind, bool columns) {
  std::string shape = columns ? "[r, n, m]" : "[r, n]", last = columns ? ", vk]" : "]";
  return "func " + name + "(x: $0" + shape + ", y: $0" + shape + ") {\n  for i in 0..r, j in 0..n" +
         (columns ? ", k in 0..m" : "") + " {\n    block scan(vi: spatial(r) = i, vj: scan(n) = j" +
         (columns ? ", vk: spatial(m) = k" : "") + ") {\n      y[vi, vj" + last +
         " = select(vj >= $exclusive, x[vi, vj - $exclusive" + last + ", " + kind.identity + ") " +
         kind.op + " select(vj > 0, y[vi, vj - 1" + last + ", " + kind.identity +
         ")\n    }\n  }\n}\n";
}

Value Reversed(Builder& b, const Value& x, int64_t axis) {
  return b.Add("slice",
               {x, b.Ints({-1}, "start"), b.Ints({std::numeric_limits<int64_t>::min()}, "end"),
                b.Ints({axis}, "axes"), b.Ints({-1}, "steps")});
}

// The shape [rows, n, columns], without columns where the axis is the last.
Value ShapeAround(Builder& b, const Value& x, int64_t axis) {
  std::vector<int64_t> sizes = {1, 1, 1};
  bool is_static = true;
  for (size_t i = 0; i < x->type.rank(); ++i) {
    std::optional<int64_t> extent = ir::AsConstInt(x->type.shape[i]);
    is_static &= extent.has_value();
    auto at = static_cast<int64_t>(i);
    sizes[at < axis ? 0 : at == axis ? 1 : 2] *= extent.value_or(1);
  }
  bool is_last = axis + 1 == static_cast<int64_t>(x->type.rank());
  if (is_last) sizes.pop_back();
  if (is_static) return b.Ints(sizes, "shape");
  std::vector<Value> parts = {
      b.Ints({-1}, "rest"),
      b.Add("shape", {x}, {{"start", ffi::Any(axis)}, {"end", ffi::Any(axis + 1)}})};
  Value matrix = is_last ? x : b.Add("flatten", {x}, {{"axis", ffi::Any(axis + 1)}});
  if (!is_last) parts.push_back(b.Add("shape", {matrix}, {{"start", ffi::Any(-1)}}));
  return b.Add("concat", std::move(parts), {{"axis", ffi::Any(0)}});
}

std::vector<Value> Expand(Builder& b, const Node& node, const Kind& kind) {
  Value x = node->inputs[0], given = node->inputs[1];
  auto rank = static_cast<int64_t>(x->type.rank());
  std::optional<int64_t> number;
  if (given->content && given->content->size() == 1) number = ir::AsConstInt((*given->content)[0]);
  TERN_CHECK(number) << "the axis has to be known when compiling";
  TERN_CHECK(*number >= -rank && *number < rank)
      << "axis " << *number << " is none of rank " << rank;
  int64_t axis = *number < 0 ? *number + rank : *number;
  auto flag = [&](const char* name) {
    auto found = node->attrs.find(name);
    return found != node->attrs.end() && found->second.As<int64_t>() != 0;
  };
  Value from = flag("reverse") ? Reversed(b, x, axis) : x;
  Value parts = b.Add("reshape", {from, ShapeAround(b, x, axis)}, {{"allowzero", ffi::Any(1)}});
  std::string name = axis + 1 == rank ? kind.rows() : kind.columns();
  Value sums = b.Add(name.c_str(), {parts}, {{"exclusive", ffi::Any(flag("exclusive") ? 1 : 0)}});
  Value y = b.Add("reshape", {sums, b.Add("shape", {x})}, {{"allowzero", ffi::Any(1)}});
  return {flag("reverse") ? Reversed(b, y, axis) : y};
}

void Register(const Kind& kind, const std::string& what) {
  for (bool columns : {false, true}) {
    std::string name = columns ? kind.columns() : kind.rows();
    RegisterOp({.name = name,
                .summary = what + (columns ? "columns of [rows, n, columns]" : "rows"),
                .inputs = {"x"},
                .attrs = {{"exclusive", AttrKind::kInt, ffi::Any(0)}},
                .program = ProgramOf(name, kind, columns)});
  }
  RegisterOp({.name = kind.name,
              .summary = what + "an axis",
              .inputs = {"x", "axis"},
              .attrs = {{"exclusive", AttrKind::kInt, ffi::Any(0)},
                        {"reverse", AttrKind::kInt, ffi::Any(0)}},
              .expand = [kind](Builder& b, const Node& node) { return Expand(b, node, kind); }});
}

}  // namespace

void RegisterCumulativeOps() {
  Register({"cum_sum", "+", "0"}, "the sum of the elements up to each one along ");
  Register({"cum_prod", "*", "1"}, "the product of the elements up to each one along ");
}

}  // namespace tern::op
