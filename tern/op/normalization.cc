// SPDX-License-Identifier: Apache-2.0
//
// Normalizations by statistics of the input itself. Statistics of narrow floats are computed in
// float32.
#include <algorithm>

#include "tern/op/formulas.h"
#include "tern/op/register.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

// The sum over all axes from `axis` on, for each index of those before.
Tensor RowSum(const std::string& name, const Tensor& x, size_t axis,
              const std::function<Expr(const Exprs& at, const Exprs& row)>& f) {
  Exprs rows(x.shape().begin(), x.shape().begin() + static_cast<int64_t>(axis));
  return Compute(name, rows, [&](const Vars& row) {
    Exprs at = Indices(row);
    std::vector<ReduceAxis> over =
        ReduceAxes({x.shape().begin() + static_cast<int64_t>(axis), x.shape().end()});
    at.insert(at.end(), over.begin(), over.end());
    if (over.empty()) over.emplace_back("k", 1);
    return tir::Sum(f(at, Indices(row)), over);
  });
}

Exprs RowOf(const Exprs& at, size_t axis) {
  return {at.begin(), at.begin() + static_cast<int64_t>(axis)};
}

Tensors RmsNorm(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  DataType type = SumType(x.dtype());
  Expr count = Simplified(tir::Cast(type, graph::NumElements(x.shape(), axis)));
  Tensor squares = RowSum(c.name("squares"), x, axis, [&](const Exprs& at, const Exprs&) {
    Expr value = Converted(type, x.At(at));
    return value * value;
  });
  RequireBroadcast(c, 1, x.shape());
  double epsilon = c.Float("epsilon");
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Exprs at = Indices(axes);
    Expr mean = squares.At(RowOf(at, axis)) / count + tir::Const(type, epsilon);
    Expr y = Converted(x.dtype(), Converted(type, x.At(at)) * tir::Call("rsqrt", {mean}));
    Expr scale = graph::BroadcastLoad(c.tensor(1), at, x.shape());
    return y * Converted(x.dtype(), scale);
  })};
}

// The mean and the reciprocal deviation of rows, as layer_normalization has them; reduced axes are
// of extent 1.
Tensors LayerNormStatistics(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  DataType type = SumType(x.dtype());
  Expr count = Simplified(tir::Cast(type, graph::NumElements(x.shape(), axis)));
  Tensor sum = RowSum(c.name("sum"), x, axis,
                      [&](const Exprs& at, const Exprs&) { return Converted(type, x.At(at)); });
  Tensor squares = RowSum(c.name("squares"), x, axis, [&](const Exprs& at, const Exprs& row) {
    Expr d = Converted(type, x.At(at)) - sum.At(row) / count;
    return d * d;
  });
  Exprs shape(x.shape().begin(), x.shape().begin() + static_cast<int64_t>(axis));
  shape.resize(x.rank(), Expr(1));
  double epsilon = c.Float("epsilon");
  Tensor mean = Compute(c.name(), shape, [&](const Vars& axes) {
    return sum.At(RowOf(Indices(axes), axis)) / count;
  });
  Tensor deviation = Compute(c.name("deviation"), shape, [&](const Vars& axes) {
    Expr variance = squares.At(RowOf(Indices(axes), axis)) / count + tir::Const(type, epsilon);
    return Number(variance, 1) / tir::Call("sqrt", {variance});
  });
  return {mean, deviation};
}

// Channels in groups: each group of each image has mean 0 and variance 1, then channels, or groups,
// are scaled and shifted.
Tensors GroupNorm(const Call& c, const Expr& groups) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  TERN_CHECK(x.rank() >= 2) << "the input is [batch, channels, ...]";
  Expr channels = x.shape()[1], each = Simplified(ir::FloorDiv(channels, groups));
  c.Require(each * groups == channels,
            tir::Print(channels) + " channels are not " + tir::Print(groups) + " equal groups");
  for (size_t i = 1; i < 3; ++i) {
    CheckRank(c, i, 1);
    c.Require(c.shape(i)[0] == channels || c.shape(i)[0] == groups,
              "scale and bias have an element for each channel");
  }
  DataType type = SumType(x.dtype());
  Exprs spatial(x.shape().begin() + 2, x.shape().end());
  Expr count = Simplified(tir::Cast(type, Simplified(each * graph::NumElements(spatial))));
  auto statistic = [&](const char* name, const std::function<Expr(const Expr&, const Exprs&)>& f) {
    return Compute(c.name(name), {x.shape()[0], groups}, [&](const Vars& row) {
      std::vector<ReduceAxis> over;
      over.emplace_back("c", each);
      for (const ReduceAxis& axis : ReduceAxes(spatial)) over.push_back(axis);
      Exprs at{row[0], row[1] * each + over[0]};
      at.insert(at.end(), over.begin() + 1, over.end());
      return tir::Sum(f(Converted(type, x.At(at)), Indices(row)), over);
    });
  };
  Tensor sum = statistic("sum", [](const Expr& value, const Exprs&) { return value; });
  Tensor squares = statistic("squares", [&](const Expr& value, const Exprs& row) {
    Expr d = value - sum.At(row) / count;
    return d * d;
  });
  double epsilon = c.Float("epsilon");
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Expr group = ir::IsConst(each, 1) ? Expr(axes[1]) : ir::FloorDiv(axes[1], each);
    Exprs row{axes[0], group};
    Expr variance = squares.At(row) / count + tir::Const(type, epsilon);
    Expr y = (Converted(type, x.At(Indices(axes))) - sum.At(row) / count) *
             tir::Call("rsqrt", {variance});
    auto parameter = [&](size_t i) {
      bool by_group = !graph::SameExtent(c.shape(i)[0], channels);
      return Converted(type, c.tensor(i)(by_group ? group : Expr(axes[1])));
    };
    return Converted(x.dtype(), y * parameter(1) + parameter(2));
  })};
}

// Each row along the axis divided by its norm; rows of zeros stay so.
Tensors LpNorm(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  int64_t p = c.Int("p");
  TERN_CHECK(p == 1 || p == 2) << "p is 1 or 2, not " << p;
  Exprs rows = WithIndex(x.shape(), axis, 1);
  Tensor sums = Compute(c.name("sums"), rows, [&](const Vars& axes) {
    ReduceAxis k("k", x.shape()[axis]);
    Expr value = Converted(SumType(x.dtype()), x.At(WithIndex(Indices(axes), axis, k)));
    return tir::Sum(p == 1 ? tir::Call("abs", {value}) : value * value, {k});
  });
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Expr sum = sums.At(WithIndex(Indices(axes), axis, 0)), zero = Number(sum, 0);
    Expr norm = p == 1 ? sum : tir::Call("sqrt", {sum});
    Expr value = Converted(norm.dtype(), x.At(Indices(axes)));
    return Converted(x.dtype(), Select(norm == zero, zero, value / norm));
  })};
}

// Over some axes: mean 0 and deviation 1.
Tensors MeanVarianceNorm(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  std::vector<int64_t> axes{0, 2, 3};
  if (c.HasAttr("axes")) axes = c.Ints("axes");
  std::vector<bool> along(x.rank(), false);
  for (int64_t axis : axes) along[static_cast<size_t>(c.AxisOf(axis, c.rank(0)))] = true;
  Exprs rows = x.shape();
  Expr number = 1;
  for (size_t i = 0; i < x.rank(); ++i)
    if (along[i]) {
      number = number * rows[i];
      rows[i] = 1;
    }
  DataType type = SumType(x.dtype());
  Expr count = Simplified(tir::Cast(type, Simplified(number)));
  auto row_of = [&](const Vars& at) {
    Exprs row = Indices(at);
    for (size_t i = 0; i < row.size(); ++i)
      if (along[i]) row[i] = 0;
    return row;
  };
  auto statistic = [&](const char* name, const std::function<Expr(const Expr&, const Exprs&)>& f) {
    return Compute(c.name(name), rows, [&](const Vars& row) {
      std::vector<ReduceAxis> over;
      Exprs at = Indices(row);
      for (size_t i = 0; i < at.size(); ++i)
        if (along[i]) {
          over.emplace_back("k" + std::to_string(i), x.shape()[i]);
          at[i] = over.back();
        }
      if (over.empty()) over.emplace_back("k", 1);
      return tir::Sum(f(Converted(type, x.At(at)), row_of(row)), over);
    });
  };
  Tensor sum = statistic("sum", [](const Expr& value, const Exprs&) { return value; });
  Tensor squares = statistic("squares", [&](const Expr& value, const Exprs& row) {
    Expr d = value - sum.At(row) / count;
    return d * d;
  });
  return {Compute(c.name(), x.shape(), [&](const Vars& at) {
    Exprs row = row_of(at);
    Expr deviation = tir::Call("sqrt", {squares.At(row) / count});
    Expr centered = Converted(type, x.At(Indices(at))) - sum.At(row) / count;
    return Converted(x.dtype(), centered / (deviation + Number(deviation, 1e-9)));
  })};
}

// 1 where the first of the largest along the axis is, 0 elsewhere.
Tensors Hardmax(Call& c) {
  const Tensor& x = c.tensor(0);
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  Exprs rows = WithIndex(x.shape(), axis, 1);
  Tensors found = tir::ComputeAll({c.name("index"), c.name("value")}, rows, [&](const Vars& axes) {
    ReduceAxis k("k", x.shape()[axis]);
    return tir::ArgMax(x.At(WithIndex(Indices(axes), axis, k)), k);
  });
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Expr index = found[0].At(WithIndex(Indices(axes), axis, 0));
    return Select(index == axes[axis], tir::Const(x.dtype(), 1), tir::Const(x.dtype(), 0));
  })};
}

// ---- Losses

// -x[n, target, ...], weighted; of targets that are ignored 0. Weights of the classes are 1 where
// none are given.
Tensors NllLoss(Call& c) {
  const Tensor &x = c.tensor(0), &target = c.tensor(1);
  CheckFloat(c, 0);
  TERN_CHECK(x.rank() >= 2 && target.rank() + 1 == x.rank() && target.dtype().is_integer())
      << "the input is [batch, classes, ...] and the target [batch, ...] of integers";
  c.RequireEqual(x.shape()[0], target.shape()[0], "the batch of input and target");
  for (size_t i = 1; i < target.rank(); ++i)
    c.RequireEqual(x.shape()[i + 1], target.shape()[i], "an extent of input and target");
  if (c.has(2)) {
    CheckRank(c, 2, 1);
    c.RequireEqual(c.shape(2)[0], x.shape()[1], "the number of weights and classes");
    TERN_CHECK(c.dtype(2) == x.dtype()) << "weights are of the input's type";
  }
  std::string how = c.String("reduction");
  TERN_CHECK(how == "none" || how == "sum" || how == "mean")
      << "reduction is none, sum or mean, not " << how;
  bool ignores = c.HasAttr("ignore_index");
  auto weight_at = [&](const Exprs& at) {
    Expr label = AsIndex(target.At(at)), one = tir::Const(x.dtype(), 1);
    Expr weight = c.has(2) ? c.tensor(2)(GuardedIndex(label, x.shape()[1])) : one;
    if (!ignores) return weight;
    return Select(label == Expr(c.Int("ignore_index")), Number(one, 0), weight);
  };
  auto loss_at = [&](const Exprs& at) {
    Exprs in = at;
    in.insert(in.begin() + 1, GuardedIndex(AsIndex(target.At(at)), x.shape()[1]));
    Expr weight = weight_at(at), zero = Number(weight, 0);
    // What is ignored may be infinite.
    return Select(weight == zero, zero, (zero - x.At(std::move(in))) * weight);
  };
  auto each = [&](const std::string& name, auto f) {
    return Compute(name, target.shape(), [&](const Vars& axes) { return f(Indices(axes)); });
  };
  if (how == "none") return {each(c.name(), loss_at)};
  // What is read at labels is written out first: sums run along memory.
  auto total = [&](const std::string& name, const Tensor& terms) {
    return Compute(name, {}, [&](const Vars&) {
      std::vector<ReduceAxis> over = ReduceAxes(target.shape());
      return tir::Sum(terms.At({over.begin(), over.end()}), over);
    });
  };
  Tensor losses = total(how == "sum" ? c.name() : c.name("sum"), each(c.name("losses"), loss_at));
  if (how == "sum") return {losses};
  Tensor weights;
  if (c.has(2) || ignores) weights = total(c.name("weight"), each(c.name("weights"), weight_at));
  return {Compute(c.name(), {}, [&](const Vars&) {
    Expr count =
        weights ? weights.At({}) : tir::Cast(x.dtype(), graph::NumElements(target.shape()));
    return losses.At({}) / count;
  })};
}

}  // namespace

void RegisterNormalizationOps() {
  graph::AttrSpec last{"axis", AttrKind::kInt, ffi::Any(-1)},
      epsilon{"epsilon", AttrKind::kFloat, ffi::Any(1e-5)};
  RegisterOp({.name = "rms_normalization",
              .summary = "rows divided by the root of their mean square, scaled",
              .inputs = {"x", "scale"},
              .attrs = {last, epsilon},
              .compute = RmsNorm});
  RegisterOp({.name = "layer_normalization_statistics",
              .summary = "mean and reciprocal deviation of rows",
              .inputs = {"x"},
              .attrs = {last, epsilon},
              .compute = LayerNormStatistics});
  RegisterOp({.name = "group_normalization",
              .summary = "groups of channels of mean 0 and variance 1, scaled and shifted",
              .inputs = {"x", "scale", "bias"},
              .attrs = {{"num_groups", AttrKind::kInt, {}, true}, epsilon},
              .compute = [](Call& c) {
                TERN_CHECK(c.Int("num_groups") > 0) << "num_groups is positive";
                return GroupNorm(c, c.Int("num_groups"));
              }});
  RegisterOp({.name = "instance_normalization",
              .summary = "channels of mean 0 and variance 1, scaled and shifted",
              .inputs = {"x", "scale", "bias"},
              .attrs = {epsilon},
              .compute = [](Call& c) {
                TERN_CHECK(c.rank(0) >= 2) << "the input is [batch, channels, ...]";
                return GroupNorm(c, c.shape(0)[1]);
              }});
  RegisterOp({.name = "lp_normalization",
              .summary = "rows along an axis divided by their norm",
              .inputs = {"x"},
              .attrs = {last, {"p", AttrKind::kInt, ffi::Any(2)}},
              .compute = LpNorm});
  RegisterOp({.name = "mean_variance_normalization",
              .summary = "mean 0 and deviation 1 over axes",
              .inputs = {"x"},
              .attrs = {{"axes", AttrKind::kInts}},
              .compute = MeanVarianceNorm});
  RegisterOp({.name = "hardmax",
              .summary = "1 where the first of the largest along an axis is, 0 elsewhere",
              .inputs = {"x"},
              .attrs = {last},
              .compute = Hardmax});
  RegisterOp({.name = "negative_log_likelihood_loss",
              .summary = "-x at the target class, weighted; none, sum or mean of all",
              .inputs = {"x", "target", "weight?"},
              .attrs = {{"ignore_index", AttrKind::kInt},
                        {"reduction", AttrKind::kString, ffi::Any(std::string("mean"))}},
              .compute = NllLoss});
}

}  // namespace tern::op
