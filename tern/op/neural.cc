// SPDX-License-Identifier: Apache-2.0
//
// Operators of neural networks: matmuls, softmax, normalization.
#include <algorithm>
#include <limits>

#include "tern/op/linear.h"
#include "tern/op/register.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

// ---- Matmul

constexpr const char* kDepth = "K of both operands";

Tensors MatMul(Call& c) {
  CheckOneType(c);
  DataType type = ResultType(c);
  std::string sums = SumName(c, type);
  return {Narrowed(c, MatMulOf(c, sums, Widened(c.tensor(0)), Widened(c.tensor(1))), type)};
}

Tensors Gemm(Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  TERN_CHECK(a.rank() == 2 && b.rank() == 2) << "operands A and B are matrices";
  size_t ta = c.Flag("transA") ? 1 : 0, tb = c.Flag("transB") ? 1 : 0;
  Expr depth = a.shape()[1 - ta];
  c.RequireEqual(depth, b.shape()[tb], kDepth);
  Exprs shape{a.shape()[ta], b.shape()[1 - tb]};
  double alpha = c.Float("alpha"), beta = c.Float("beta");
  bool plain = alpha == 1 && (!c.has(2) || beta == 0);
  CheckOneType(c);
  DataType type = ResultType(c), wide = SumType(a.dtype());
  std::string name = plain ? SumName(c, type) : c.name("product");
  Tensor product = Compute(name, shape, [&](Var m, Var n) {
    ReduceAxis k("k", depth);
    Expr x = ta ? a(k, m) : a(m, k), y = tb ? b(n, k) : b(k, n);
    return tir::Sum(Converted(wide, x) * Converted(wide, y), {k});
  });
  if (plain) return {Narrowed(c, product, type)};
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Exprs at = Indices(axes);
    Expr y = product.At(at);
    if (alpha != 1) y = y * tir::Const(y.dtype(), alpha);
    if (!c.has(2) || beta == 0) return Converted(type, y);
    Expr z = Converted(wide, graph::BroadcastLoad(c.tensor(2), at, shape));
    return Converted(type, y + (beta == 1 ? z : z * tir::Const(z.dtype(), beta)));
  })};
}

// ---- Rows

// Along one axis: what a row's elements have in common, then each element.
Tensors Softmax(const Call& c, bool logarithm) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  bool masked = !logarithm && c.Flag("masked");
  Expr least = tir::Const(x.dtype(), -std::numeric_limits<double>::infinity());
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  Exprs rows = x.shape();
  rows.erase(rows.begin() + static_cast<int64_t>(axis));
  auto with = [&](const Vars& row, const Expr& place) {
    Exprs at = Indices(row);
    at.insert(at.begin() + static_cast<int64_t>(axis), place);
    return at;
  };
  auto row_of = [&](const Vars& axes) {
    Exprs at = Indices(axes);
    at.erase(at.begin() + static_cast<int64_t>(axis));
    return at;
  };
  Tensor largest = Compute(c.name("largest"), rows, [&](const Vars& row) {
    ReduceAxis k("k", x.shape()[axis]);
    return tir::MaxOf(x.At(with(row, k)), {k});
  });
  Tensor exponential = Compute(c.name("exponential"), x.shape(), [&](const Vars& axes) {
    Expr difference = x.At(Indices(axes)) - largest.At(row_of(axes));
    return tir::Call("exp", {Converted(SumType(x.dtype()), difference)});
  });
  Tensor total = Compute(c.name("total"), rows, [&](const Vars& row) {
    ReduceAxis k("k", x.shape()[axis]);
    return tir::Sum(exponential.At(with(row, k)), {k});
  });
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Exprs at = Indices(axes), row = row_of(axes);
    if (logarithm)
      return x.At(at) - largest.At(row) - Converted(x.dtype(), tir::Call("log", {total.At(row)}));
    Expr y = Converted(x.dtype(), exponential.At(at) / total.At(row));
    // Of a row that is masked as a whole nothing is left.
    if (masked) return Select(largest.At(row) == least, Number(y, 0), y);
    return y;
  })};
}

// Rows are the axes before `axis`.
Tensors LayerNorm(Call& c) {
  const Tensor& x = c.tensor(0);
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  CheckFloat(c, 0);
  DataType type = SumType(x.dtype());
  Exprs rows(x.shape().begin(), x.shape().begin() + static_cast<int64_t>(axis));
  Expr count = Simplified(tir::Cast(type, graph::NumElements(x.shape(), axis)));
  auto reduce = [&](const std::string& name,
                    const std::function<Expr(const Exprs& at, const Exprs& row)>& f) {
    return Compute(name, rows, [&](const Vars& row) {
      Exprs at = Indices(row);
      std::vector<ReduceAxis> over;
      for (size_t i = axis; i < x.rank(); ++i) {
        over.emplace_back("k" + std::to_string(i), x.shape()[i]);
        at.push_back(over.back());
      }
      return tir::Sum(f(at, Indices(row)), over);
    });
  };
  auto load = [&](const Exprs& at) { return Converted(type, x.At(at)); };
  Tensor sum = reduce(c.name("sum"), [&](const Exprs& at, const Exprs&) { return load(at); });
  Tensor squares = reduce(c.name("squares"), [&](const Exprs& at, const Exprs& row) {
    Expr d = load(at) - sum.At(row) / count;
    return d * d;
  });
  double epsilon = c.Float("epsilon");
  for (size_t i = 1; i < 3; ++i)
    if (c.has(i)) RequireBroadcast(c, i, x.shape());
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Exprs at = Indices(axes), row(at.begin(), at.begin() + static_cast<int64_t>(axis));
    Expr variance = squares.At(row) / count + tir::Const(type, epsilon);
    Expr y = (load(at) - sum.At(row) / count) * tir::Call("rsqrt", {variance});
    auto parameter = [&](size_t i) {
      return Converted(type, graph::BroadcastLoad(c.tensor(i), at, x.shape()));
    };
    y = y * parameter(1);
    return Converted(x.dtype(), c.has(2) ? y + parameter(2) : y);
  })};
}

// With the statistics of the training: one factor and one summand for each channel.
Tensors BatchNorm(Call& c) {
  const Tensor& x = c.tensor(0);
  double epsilon = c.Float("epsilon");
  TERN_CHECK(x.rank() > 0) << "the input is [batch, channels, ...]";
  Exprs channels{x.rank() > 1 ? x.shape()[1] : Expr(1)};
  for (size_t i = 1; i < 5; ++i) {
    TERN_CHECK(c.rank(i) == 1) << "scale, bias, mean and variance are one number for each channel";
    c.RequireEqual(c.shape(i)[0], channels[0], "the number of channels");
  }
  Tensor factor = Compute(c.name("factor"), channels, [&](Var i) {
    Expr variance = c.tensor(4)(i) + tir::Const(c.dtype(4), epsilon);
    return c.tensor(1)(i) / tir::Call("sqrt", {variance});
  });
  Tensor summand = Compute(c.name("summand"), channels,
                           [&](Var i) { return c.tensor(2)(i) - c.tensor(3)(i) * factor(i); });
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Expr channel = axes.size() > 1 ? Expr(axes[1]) : Expr(0);
    return x.At(Indices(axes)) * factor(channel) + summand(channel);
  })};
}

// Divided by a power of the sum of squares of neighbouring channels.
Tensors LocalResponseNorm(Call& c) {
  const Tensor& x = c.tensor(0);
  int64_t size = c.Int("size"), before = (size - 1) / 2;
  double alpha = c.Float("alpha"), beta = c.Float("beta"), bias = c.Float("bias");
  TERN_CHECK(x.rank() >= 2 && size > 0)
      << "the input is [batch, channels, ...], and size is positive; they are "
      << graph::ShapeText(x.shape()) << " and " << size;
  Tensor squares = Compute(c.name("squares"), x.shape(), [&](const Vars& axes) {
    ReduceAxis k("k", size);
    Exprs at = Indices(axes);
    at[1] = at[1] + k - Expr(before);
    Expr inside = at[1] >= Expr(0) && at[1] < x.shape()[1];
    Expr element = Select(inside, x.At(at), tir::Const(x.dtype(), 0));
    return tir::Sum(element * element, {k});
  });
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    auto number = [&](double value) { return tir::Const(x.dtype(), value); };
    Expr base =
        number(bias) + number(alpha / static_cast<double>(size)) * squares.At(Indices(axes));
    // The usual exponent, by instructions that are cheaper than a power.
    Expr root = tir::Call("sqrt", {base});
    Expr power =
        beta == 0.75 ? root * tir::Call("sqrt", {root}) : tir::Call("pow", {base, number(beta)});
    return x.At(Indices(axes)) / power;
  })};
}

}  // namespace

Operand Widened(const Tensor& tensor) {
  return {tensor,
          [tensor](const Exprs& at) { return Converted(SumType(tensor.dtype()), tensor.At(at)); }};
}

DataType ResultType(const Call& c) {
  DataType type = c.dtype(0), wide = SumType(type);
  if (!c.HasAttr("dtype")) return type;
  std::string name = c.String("dtype");
  TERN_CHECK(name == type.str() || name == wide.str())
      << "attribute dtype is that of the operands, " << type.str() << ", or of their sums, "
      << wide.str() << ", not " << name;
  return name == type.str() ? type : wide;
}

std::string SumName(const Call& c, DataType dtype) {
  return SumType(dtype) == dtype ? c.name() : c.name("sums");
}

Tensor Narrowed(const Call& c, const Tensor& sums, DataType dtype) {
  if (sums.dtype() == dtype) return sums;
  return Compute(c.name(), sums.shape(),
                 [&](const Vars& axes) { return Converted(dtype, sums.At(Indices(axes))); });
}

Tensor MatMulOf(const Call& c, const std::string& name, const Operand& left, const Operand& right) {
  const Tensor &a = left.tensor, &b = right.tensor;
  TERN_CHECK(a.rank() > 0 && b.rank() > 0) << "a scalar cannot be multiplied";
  bool row = a.rank() == 1, column = b.rank() == 1;
  Expr depth = a.shape().back();
  c.RequireEqual(depth, b.shape()[b.rank() - (column ? 1 : 2)], kDepth);
  auto batch_of = [](const Tensor& x) {
    return x.rank() < 2 ? Exprs() : Exprs(x.shape().begin(), x.shape().end() - 2);
  };
  Exprs batch = c.BroadcastShapes({batch_of(a), batch_of(b)}), shape = batch;
  if (!row) shape.push_back(a.shape()[a.rank() - 2]);
  if (!column) shape.push_back(b.shape().back());
  return Compute(name, shape, [&](const Vars& axes) {
    ReduceAxis k("k", depth);
    size_t at = batch.size();
    auto indices = [&](const Tensor& x) {
      Exprs result;
      size_t own = x.rank() < 2 ? 0 : x.rank() - 2, ahead = batch.size() - own;
      for (size_t i = 0; i < own; ++i) {
        const Expr& extent = x.shape()[i];
        bool one = ir::IsConst(extent, 1) && !ir::IsConst(batch[ahead + i], 1);
        result.push_back(one ? Expr(0)
                         : graph::SameExtent(extent, batch[ahead + i])
                             ? Expr(axes[ahead + i])
                             : Select(extent == Expr(1), Expr(0), axes[ahead + i]));
      }
      return result;
    };
    Exprs in_a = indices(a), in_b = indices(b);
    if (!row) in_a.push_back(axes[at++]);
    in_a.push_back(k);
    in_b.push_back(k);
    if (!column) in_b.push_back(axes[at]);
    return tir::Sum(left.load(in_a) * right.load(in_b), {k});
  });
}

void RegisterNeuralOps() {
  RegisterOp({.name = "matmul",
              .summary = "product of matrices, the last two axes; others are broadcast",
              .inputs = {"a", "b"},
              .attrs = {kResultTypeAttr},
              .compute = MatMul});
  RegisterOp({.name = "gemm",
              .summary = "alpha * A * B + beta * C, A and B transposed where it says so",
              .inputs = {"a", "b", "c?"},
              .attrs = {{"alpha", AttrKind::kFloat, ffi::Any(1.0)},
                        {"beta", AttrKind::kFloat, ffi::Any(1.0)},
                        {"transA", AttrKind::kInt, ffi::Any(0)},
                        {"transB", AttrKind::kInt, ffi::Any(0)},
                        kResultTypeAttr},
              .compute = Gemm});
  RegisterOp(
      {.name = "softmax",
       .summary =
           "exponentials along an axis, divided by their sum; with masked, 0 in rows of -infinity",
       .inputs = {"x"},
       .attrs = {{"axis", AttrKind::kInt, ffi::Any(-1)}, {"masked", AttrKind::kInt, ffi::Any(0)}},
       .compute = [](Call& c) { return Softmax(c, false); }});
  RegisterOp({.name = "log_softmax",
              .summary = "the logarithm of softmax",
              .inputs = {"x"},
              .attrs = {{"axis", AttrKind::kInt, ffi::Any(-1)}},
              .compute = [](Call& c) { return Softmax(c, true); }});
  RegisterOp({.name = "layer_normalization",
              .summary = "rows of mean 0 and variance 1, scaled and shifted",
              .inputs = {"x", "scale", "bias?"},
              .attrs = {{"axis", AttrKind::kInt, ffi::Any(-1)},
                        {"epsilon", AttrKind::kFloat, ffi::Any(1e-5)}},
              .compute = LayerNorm});
  RegisterOp({.name = "batch_normalization",
              .summary = "channels scaled and shifted by recorded statistics",
              .inputs = {"x", "scale", "bias", "mean", "variance"},
              .attrs = {{"epsilon", AttrKind::kFloat, ffi::Any(1e-5)}},
              .compute = BatchNorm});
  RegisterOp({.name = "lrn",
              .summary = "local response normalization across channels",
              .inputs = {"x"},
              .attrs = {{"size", AttrKind::kInt, {}, true},
                        {"alpha", AttrKind::kFloat, ffi::Any(1e-4)},
                        {"beta", AttrKind::kFloat, ffi::Any(0.75)},
                        {"bias", AttrKind::kFloat, ffi::Any(1.0)}},
              .compute = LocalResponseNorm});
}

}  // namespace tern::op
