// SPDX-License-Identifier: Apache-2.0
//
// Operators that reduce axes of a tensor.
#include <algorithm>
#include <numeric>

#include "tern/op/formulas.h"
#include "tern/op/register.h"

namespace tern::op {
namespace {

using tir::Reduction;

// Which axes of an input are reduced, and what is left of its shape.
struct Reduced {
  std::vector<bool> along;  // for each axis of the input
  bool keep = true;         // as extents of 1
  Exprs shape;

  // The reduction of `value(element)` over them.
  Tensor Make(const std::string& name, const Tensor& x,
              const std::function<Reduction(const Expr&, std::vector<ReduceAxis>)>& f) const {
    return Compute(name, shape, [&](const Vars& axes) {
      std::vector<ReduceAxis> reduced;
      Exprs at;
      size_t out = 0;
      for (size_t i = 0; i < along.size(); ++i) {
        if (along[i]) {
          reduced.emplace_back("r" + std::to_string(i), x.shape()[i]);
          at.push_back(reduced.back());
          if (keep) ++out;
        } else {
          at.push_back(axes[out++]);
        }
      }
      return f(x.At(std::move(at)), std::move(reduced));
    });
  }

  Expr Count(const Tensor& x) const {
    Expr count = 1;
    for (size_t i = 0; i < along.size(); ++i)
      if (along[i]) count = count * x.shape()[i];
    return graph::Simplified(count);
  }
};

Reduced ReducedBy(const Call& c, const std::vector<int64_t>& axes) {
  Reduced reduced{std::vector<bool>(static_cast<size_t>(c.rank(0)), false), c.Flag("keepdims"), {}};
  for (int64_t axis : axes) reduced.along[static_cast<size_t>(c.AxisOf(axis, c.rank(0)))] = true;
  for (size_t i = 0; i < reduced.along.size(); ++i) {
    if (!reduced.along[i])
      reduced.shape.push_back(c.shape(0)[i]);
    else if (reduced.keep)
      reduced.shape.emplace_back(1);
  }
  return reduced;
}

// What the reduction is of, what combines it, and what is made of the result.
struct Kind {
  const char* name;
  const char* summary;
  std::function<Expr(const Expr&)> before;
  std::function<Reduction(Expr, std::vector<ReduceAxis>)> combine;
  std::function<Expr(const Expr& result, const Expr& count)> after;
  bool takes_bools = false;  // largest and smallest: what is no sum
};

// The largest and smallest of bools: whether one is true, or all are.
Tensors ReduceBools(const Call& c, const Kind& kind, const std::vector<int64_t>& axes) {
  const Tensor& x = c.tensor(0);
  DataType byte = DataType::UInt(8);
  Reduced reduced = ReducedBy(c, axes);
  Tensor result =
      reduced.Make(c.name("reduced"), x, [&](const Expr& element, std::vector<ReduceAxis> over) {
        Expr number = Select(element, tir::Const(byte, 1), tir::Const(byte, 0));
        Reduction reduction = kind.combine(number, std::move(over));
        return reduction;
      });
  return {Compute(c.name(), result.shape(), [&](const Vars& i) {
    return tir::Const(byte, 0) < result.At({i.begin(), i.end()});
  })};
}

Tensors Reduce(const Call& c, const Kind& kind) {
  const Tensor& x = c.tensor(0);
  std::vector<int64_t> axes;
  if (c.has(1)) axes = c.Ints(1);
  bool none = axes.empty();
  if (none && !c.Flag("noop_with_empty_axes")) {
    axes.resize(x.rank());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (axes.empty()) {  // of a single element each
    return {Compute(c.name(), x.shape(), [&](const Vars& i) {
      Expr value = x.At({i.begin(), i.end()});
      if (kind.before) value = kind.before(value);
      return kind.after ? kind.after(value, 1) : value;
    })};
  }
  if (x.dtype().is_bool() && kind.takes_bools) return ReduceBools(c, kind, axes);
  Reduced reduced = ReducedBy(c, axes);
  DataType type = x.dtype(), wide = kind.takes_bools ? type : SumType(type);
  auto f = [&](const Expr& element, std::vector<ReduceAxis> over) {
    Expr value = Converted(wide, element);
    return kind.combine(kind.before ? kind.before(value) : value, std::move(over));
  };
  if (!kind.after && wide == type) return {reduced.Make(c.name(), x, f)};
  Tensor result = reduced.Make(c.name("reduced"), x, f);
  return {Compute(c.name(), result.shape(), [&](const Vars& i) {
    Expr value = result.At({i.begin(), i.end()});
    return Converted(type, kind.after ? kind.after(value, reduced.Count(x)) : value);
  })};
}

Expr Square(const Expr& x) { return x * x; }
Expr Abs(const Expr& x) { return x.dtype().is_uint() ? x : tir::Call("abs", {x}); }

// Integers are divided as integers.
Expr Divided(const Expr& sum, const Expr& count) {
  Expr divisor = count.dtype() == sum.dtype() ? count : tir::Cast(sum.dtype(), count);
  return sum.dtype().is_float() ? sum / graph::Simplified(divisor)
                                : ir::TruncDivNode::Make(sum, divisor);
}

Tensors LogSumExp(Call& c) {
  std::vector<int64_t> axes(static_cast<size_t>(c.rank(0)));
  std::iota(axes.begin(), axes.end(), 0);
  if (c.has(1) && !c.Ints(1).empty()) axes = c.Ints(1);
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  DataType type = SumType(x.dtype());
  Reduced reduced = ReducedBy(c, axes);
  Tensor largest = reduced.Make(
      c.name("largest"), x,
      [](const Expr& e, std::vector<ReduceAxis> over) { return tir::MaxOf(e, std::move(over)); });
  Tensor total = Compute(c.name("total"), largest.shape(), [&](const Vars& axes_out) {
    Exprs out(axes_out.begin(), axes_out.end()), at;
    std::vector<ReduceAxis> over;
    size_t o = 0;
    for (size_t i = 0; i < reduced.along.size(); ++i) {
      if (reduced.along[i]) {
        over.emplace_back("r" + std::to_string(i), x.shape()[i]);
        at.push_back(over.back());
        if (reduced.keep) ++o;
      } else {
        at.push_back(out[o++]);
      }
    }
    Expr difference = Converted(type, x.At(std::move(at))) - Converted(type, largest.At(out));
    return tir::Sum(tir::Call("exp", {difference}), std::move(over));
  });
  return {Compute(c.name(), largest.shape(), [&](const Vars& i) {
    Exprs at(i.begin(), i.end());
    Expr sum = tir::Call("log", {total.At(at)}) + Converted(type, largest.At(at));
    return Converted(x.dtype(), sum);
  })};
}

const std::vector<graph::AttrSpec> kReduceAttrs = {
    {"keepdims", AttrKind::kInt, ffi::Any(1)},
    {"noop_with_empty_axes", AttrKind::kInt, ffi::Any(0)}};

void RegisterReduce(const Kind& kind) {
  RegisterOp({.name = kind.name,
              .summary = kind.summary,
              .inputs = {"x", "axes?"},
              .attrs = kReduceAttrs,
              .compute = [kind](Call& c) { return Reduce(c, kind); }});
}

void RegisterArg(const char* name, const char* summary, bool largest) {
  RegisterOp({.name = name,
              .summary = summary,
              .inputs = {"x"},
              .attrs = {{"axis", AttrKind::kInt, ffi::Any(0)},
                        {"keepdims", AttrKind::kInt, ffi::Any(1)},
                        {"select_last_index", AttrKind::kInt, ffi::Any(0)}},
              .compute = [largest](Call& c) {
                const Tensor& x = c.tensor(0);
                auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
                bool last = c.Flag("select_last_index");
                Reduced reduced = ReducedBy(c, {static_cast<int64_t>(axis)});
                Expr extent = x.shape()[axis];
                Tensors results = tir::ComputeAll(
                    {c.name("index"), c.name("value")}, reduced.shape, [&](const Vars& axes) {
                      ReduceAxis r("r", extent);
                      Exprs at(axes.begin(), axes.end());
                      Expr place = last ? extent - 1 - r : Expr(r);
                      if (reduced.keep)
                        at[axis] = place;
                      else
                        at.insert(at.begin() + static_cast<int64_t>(axis), place);
                      Expr value = x.At(std::move(at));
                      return largest ? tir::ArgMax(value, r) : tir::ArgMin(value, r);
                    });
                return Tensors{Compute(c.name(), reduced.shape, [&](const Vars& i) {
                  Expr index = results[0].At({i.begin(), i.end()});
                  return last ? extent - 1 - index : index;
                })};
              }});
}

}  // namespace

void RegisterReductionOps() {
  auto sqrt = [](const Expr& x, const Expr&) { return tir::Call("sqrt", {x}); };
  auto log = [](const Expr& x, const Expr&) { return tir::Call("log", {x}); };
  RegisterReduce({"reduce_sum", "the sum over axes; all by default", {}, tir::Sum, {}});
  RegisterReduce({"reduce_mean", "the mean over axes", {}, tir::Sum, Divided});
  RegisterReduce({"reduce_max", "the largest over axes", {}, tir::MaxOf, {}, true});
  RegisterReduce({"reduce_min", "the smallest over axes", {}, tir::MinOf, {}, true});
  RegisterReduce({"reduce_prod", "the product over axes", {}, tir::Prod, {}});
  RegisterReduce({"reduce_sum_square", "the sum of squares over axes", Square, tir::Sum, {}});
  RegisterReduce({"reduce_l1", "the sum of absolute values over axes", Abs, tir::Sum, {}});
  RegisterReduce({"reduce_l2", "the root of the sum of squares over axes", Square, tir::Sum, sqrt});
  RegisterReduce({"reduce_log_sum", "the logarithm of the sum over axes", {}, tir::Sum, log});
  RegisterOp({.name = "reduce_log_sum_exp",
              .summary = "the logarithm of the sum of exponentials over axes",
              .inputs = {"x", "axes?"},
              .attrs = kReduceAttrs,
              .compute = LogSumExp});
  RegisterArg("arg_max", "the index of the largest along an axis; the first of equals", true);
  RegisterArg("arg_min", "the index of the smallest along an axis; the first of equals", false);
}

}  // namespace tern::op
