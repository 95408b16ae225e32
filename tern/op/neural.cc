// SPDX-License-Identifier: Apache-2.0
//
// Operators of neural networks: matmuls, convolutions, pooling, normalization.
#include <algorithm>
#include <limits>

#include "tern/graph/op.h"
#include "tern/op/register.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

using graph::AttrKind;
using graph::Call;
using graph::RegisterOp;
using graph::Simplified;
using ir::Expr;
using ir::Var;
using tir::Compute;
using tir::Max;
using tir::Min;
using tir::ReduceAxis;
using tir::Select;
using tir::Tensor;
using Exprs = std::vector<Expr>;
using Vars = std::vector<Var>;
using Tensors = std::vector<Tensor>;

Exprs Indices(const Vars& axes) { return {axes.begin(), axes.end()}; }

// ---- Matmul

constexpr const char* kDepth = "K of both operands";

// Matrices are the last two axes; the axes before are broadcast. A vector is one row of A, or one
// column of B, and is no axis of the result.
Tensors MatMul(Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
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
  return {Compute(c.name(), shape, [&](const Vars& axes) {
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
    return tir::Sum(a.At(std::move(in_a)) * b.At(std::move(in_b)), {k});
  })};
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
  Tensor product = Compute(plain ? c.name() : c.name("product"), shape, [&](Var m, Var n) {
    ReduceAxis k("k", depth);
    Expr x = ta ? a(k, m) : a(m, k), y = tb ? b(n, k) : b(k, n);
    return tir::Sum(x * y, {k});
  });
  if (plain) return {product};
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Exprs at = Indices(axes);
    Expr y = product.At(at);
    if (alpha != 1) y = y * tir::Const(y.dtype(), alpha);
    if (!c.has(2) || beta == 0) return y;
    Expr z = graph::BroadcastLoad(c.tensor(2), at, shape);
    return y + (beta == 1 ? z : z * tir::Const(z.dtype(), beta));
  })};
}

// ---- Windows

// The windows of a convolution or a pooling along the spatial axes.
struct Windows {
  std::vector<int64_t> kernel, strides, dilations;
  Exprs before, in, out;  // padding ahead, and extents of the input and the result

  size_t size() const { return kernel.size(); }
  // Where element `k` of the window that belongs to output `o` is, along axis `i`.
  Expr At(size_t i, const Expr& o, const Expr& k) const {
    Expr at = strides[i] == 1 ? o : o * Expr(strides[i]);
    if (kernel[i] > 1) at = at + (dilations[i] == 1 ? k : k * Expr(dilations[i]));
    return ir::IsConst(before[i], 0) ? at : at - before[i];
  }
  // Whether windows of axis `i` may reach beyond the input.
  bool Reaches(size_t i) const {
    if (!ir::IsConst(before[i], 0)) return true;
    Expr last = (out[i] - 1) * Expr(strides[i]) + Expr((kernel[i] - 1) * dilations[i]);
    std::optional<int64_t> beyond = ir::AsConstInt(Simplified(last - in[i]));
    return !beyond || *beyond >= 0;
  }
};

std::vector<int64_t> IntsOr(const Call& c, const char* name, size_t count, int64_t value) {
  if (!c.HasAttr(name)) return std::vector<int64_t>(count, value);
  std::vector<int64_t> ints = c.Ints(name);
  TERN_CHECK(ints.size() == count)
      << name << " has " << ints.size() << " numbers; " << count << " are expected";
  return ints;
}

constexpr const char* kWindowShape = "the input is [batch, channels, spatial...]";

Windows WindowsOf(const Call& c, const std::vector<int64_t>& kernel, bool ceil_mode) {
  size_t dims = kernel.size();
  Windows w{kernel, IntsOr(c, "strides", dims, 1), IntsOr(c, "dilations", dims, 1), {}, {}, {}};
  std::vector<int64_t> pads = IntsOr(c, "pads", 2 * dims, 0);
  std::string automatic = c.String("auto_pad");
  for (size_t i = 0; i < dims; ++i) {
    TERN_CHECK(kernel[i] > 0 && w.strides[i] > 0 && w.dilations[i] > 0)
        << "extents, strides and dilations of windows are positive";
    Expr in = c.shape(0)[i + 2], before = pads[i], out;
    int64_t reach = (kernel[i] - 1) * w.dilations[i] + 1;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      out = ir::CeilDiv(in, w.strides[i]);
      Expr pad = Max((out - 1) * Expr(w.strides[i]) + Expr(reach) - in, 0);
      before = Simplified(ir::FloorDiv(automatic == "SAME_LOWER" ? pad + 1 : pad, 2));
    } else {
      bool valid = automatic == "VALID";
      if (valid) before = 0;
      Expr padded = in + Expr(valid ? 0 : pads[i] + pads[i + dims]) - Expr(reach);
      out =
          (ceil_mode ? ir::CeilDiv(padded, w.strides[i]) : ir::FloorDiv(padded, w.strides[i])) + 1;
      // No window starts behind the input and its padding ahead.
      if (ceil_mode) out = Min(out, ir::FloorDiv(in + before - 1, w.strides[i]) + 1);
    }
    out = Simplified(out);
    if (std::optional<int64_t> extent = ir::AsConstInt(out); extent && *extent < 0)
      TERN_THROW(ValueError) << "windows of " << reach << " do not fit into an extent of "
                             << tir::Print(in) << " along axis " << i + 2;
    w.in.push_back(in);
    w.before.push_back(before);
    w.out.push_back(out);
  }
  return w;
}

// The element of the input there; `border` outside of it.
Expr LoadInside(const Tensor& x, const Exprs& ahead, const Windows& w, const Exprs& places,
                const Expr& border) {
  Exprs at = ahead;
  at.insert(at.end(), places.begin(), places.end());
  Expr inside;
  for (size_t i = 0; i < w.size(); ++i) {
    if (!w.Reaches(i)) continue;
    Expr here = places[i] >= Expr(0) && places[i] < w.in[i];
    inside = inside ? inside && here : here;
  }
  Expr element = x.At(std::move(at));
  return inside ? Select(inside, element, border) : element;
}

std::vector<ReduceAxis> KernelAxes(const Windows& w) {
  std::vector<ReduceAxis> axes;
  for (size_t i = 0; i < w.size(); ++i) axes.emplace_back("k" + std::to_string(i), w.kernel[i]);
  return axes;
}

Exprs Places(const Windows& w, const Vars& axes, const std::vector<ReduceAxis>& kernel) {
  Exprs places;
  for (size_t i = 0; i < w.size(); ++i) places.push_back(w.At(i, axes[i + 2], kernel[i]));
  return places;
}

int64_t StaticExtent(const Expr& extent, const char* what) {
  std::optional<int64_t> constant = ir::AsConstInt(extent);
  TERN_CHECK(constant) << what << " has to be known when compiling; it is " << tir::Print(extent);
  return *constant;
}

Tensors Conv(Call& c) {
  const Tensor &x = c.tensor(0), &weights = c.tensor(1);
  TERN_CHECK(x.rank() >= 3 && weights.rank() == x.rank())
      << "the input is [batch, channels, spatial...] and the weights [outputs, channels / group, "
         "kernel...]; they are "
      << graph::ShapeText(x.shape()) << " and " << graph::ShapeText(weights.shape());
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < weights.rank(); ++i)
    kernel.push_back(StaticExtent(weights.shape()[i], "the kernel's extent"));
  Windows w = WindowsOf(c, kernel, /*ceil_mode=*/false);
  int64_t group = c.Int("group"), channels = StaticExtent(weights.shape()[1], "the channels");
  int64_t outputs = StaticExtent(weights.shape()[0], "the number of output channels");
  TERN_CHECK(group > 0 && outputs % group == 0)
      << outputs << " output channels are not " << group << " equal groups";
  c.Require(x.shape()[1] == Expr(channels * group),
            "the input has " + tir::Print(x.shape()[1]) + " channels, the weights " +
                std::to_string(channels) + " for each of " + std::to_string(group) +
                " groups, and " + std::to_string(outputs) + " outputs");
  if (c.has(2))
    c.RequireEqual(graph::NumElements(c.shape(2)), outputs, "the number of biases and outputs");
  Exprs shape{x.shape()[0], outputs};
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  Tensor sums = Compute(c.has(2) ? c.name("sums") : c.name(), shape, [&](const Vars& axes) {
    std::vector<ReduceAxis> over;
    // One channel for each output is no sum over channels.
    if (channels > 1) over.emplace_back("c", channels);
    Expr channel = channels > 1 ? Expr(over[0]) : Expr(0), from = channel;
    if (group > 1) {
      Expr number = outputs == group ? Expr(axes[1]) : ir::FloorDiv(axes[1], outputs / group);
      from = channels > 1 ? number * Expr(channels) + channel : number;
    }
    std::vector<ReduceAxis> along = KernelAxes(w);
    Exprs at{axes[1], channel};
    for (size_t i = 0; i < along.size(); ++i) {
      at.push_back(kernel[i] > 1 ? Expr(along[i]) : Expr(0));
      if (kernel[i] > 1) over.push_back(along[i]);
    }
    if (over.empty()) over.emplace_back("c", 1);
    Expr zero = tir::Const(x.dtype(), 0);
    Expr value = LoadInside(x, {axes[0], from}, w, Places(w, axes, along), zero);
    return tir::Sum(value * weights.At(std::move(at)), over);
  });
  if (!c.has(2)) return {sums};
  return {Compute(c.name(), shape,
                  [&](const Vars& axes) { return sums.At(Indices(axes)) + c.tensor(2)(axes[1]); })};
}

Tensors MaxPool(Call& c) {
  const Tensor& x = c.tensor(0);
  TERN_CHECK(x.rank() >= 3) << kWindowShape;
  Windows w = WindowsOf(c, IntsOr(c, "kernel_shape", x.rank() - 2, 1), c.Flag("ceil_mode"));
  Exprs shape{x.shape()[0], x.shape()[1]};
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    std::vector<ReduceAxis> along = KernelAxes(w);
    Expr least = x.dtype().is_float()
                     ? tir::Const(x.dtype(), -std::numeric_limits<double>::infinity())
                     : tir::MaxOf(x.At(Exprs(x.rank(), Expr(0))), along).identities[0];
    return tir::MaxOf(LoadInside(x, {axes[0], axes[1]}, w, Places(w, axes, along), least), along);
  })};
}

Tensors AveragePool(Call& c) {
  const Tensor& x = c.tensor(0);
  TERN_CHECK(x.rank() >= 3) << kWindowShape;
  Windows w = WindowsOf(c, IntsOr(c, "kernel_shape", x.rank() - 2, 1), c.Flag("ceil_mode"));
  std::vector<int64_t> pads = IntsOr(c, "pads", 2 * w.size(), 0);
  bool count_padding = c.Flag("count_include_pad");
  Exprs shape{x.shape()[0], x.shape()[1]};
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  Tensor sums = Compute(c.name("sums"), shape, [&](const Vars& axes) {
    std::vector<ReduceAxis> along = KernelAxes(w);
    Expr zero = tir::Const(x.dtype(), 0);
    return tir::Sum(LoadInside(x, {axes[0], axes[1]}, w, Places(w, axes, along), zero), along);
  });
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    // How many elements of a window are inside, or with the padding.
    Expr count = 1;
    for (size_t i = 0; i < w.size(); ++i) {
      if (!w.Reaches(i)) {
        count = count * Expr(w.kernel[i]);
        continue;
      }
      Expr start = axes[i + 2] * Expr(w.strides[i]) - w.before[i];
      Expr low = count_padding ? Expr(0) - w.before[i] : Expr(0);
      Expr high = count_padding ? w.in[i] + Expr(pads[i + w.size()]) : w.in[i];
      Expr step = w.dilations[i];
      // Elements start, start + step, ...: those from `low` to before `high`.
      Expr first = Max(ir::CeilDiv(low - start, step), 0);
      Expr end = Min(ir::CeilDiv(high - start, step), w.kernel[i]);
      count = count * (end - first);
    }
    return sums.At(Indices(axes)) /
           graph::Simplified(tir::Cast(x.dtype(), graph::Simplified(count)));
  })};
}

Tensors GlobalPool(const Call& c, bool average) {
  const Tensor& x = c.tensor(0);
  TERN_CHECK(x.rank() >= 3) << kWindowShape;
  Exprs shape{x.shape()[0], x.shape()[1]};
  shape.resize(x.rank(), Expr(1));
  Tensor pooled = Compute(average ? c.name("sums") : c.name(), shape, [&](const Vars& axes) {
    Exprs at{axes[0], axes[1]};
    std::vector<ReduceAxis> over;
    for (size_t i = 2; i < x.rank(); ++i) {
      over.emplace_back("k" + std::to_string(i), x.shape()[i]);
      at.push_back(over.back());
    }
    return average ? tir::Sum(x.At(std::move(at)), over) : tir::MaxOf(x.At(std::move(at)), over);
  });
  if (!average) return {pooled};
  Expr count = Simplified(tir::Cast(x.dtype(), graph::NumElements(x.shape(), 2)));
  return {
      Compute(c.name(), shape, [&](const Vars& axes) { return pooled.At(Indices(axes)) / count; })};
}

const std::vector<graph::AttrSpec> kWindowAttrs = {
    {"auto_pad", AttrKind::kString, ffi::Any(std::string("NOTSET"))},
    {"dilations", AttrKind::kInts},
    {"kernel_shape", AttrKind::kInts},
    {"pads", AttrKind::kInts},
    {"strides", AttrKind::kInts}};

std::vector<graph::AttrSpec> WindowAttrs(std::vector<graph::AttrSpec> more) {
  more.insert(more.end(), kWindowAttrs.begin(), kWindowAttrs.end());
  return more;
}

// ---- Rows

// Along one axis: what a row's elements have in common, then each element.
Tensors Softmax(const Call& c, bool logarithm) {
  const Tensor& x = c.tensor(0);
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
    return tir::Call("exp", {difference});
  });
  Tensor total = Compute(c.name("total"), rows, [&](const Vars& row) {
    ReduceAxis k("k", x.shape()[axis]);
    return tir::Sum(exponential.At(with(row, k)), {k});
  });
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Exprs at = Indices(axes), row = row_of(axes);
    if (logarithm) return x.At(at) - largest.At(row) - tir::Call("log", {total.At(row)});
    return exponential.At(at) / total.At(row);
  })};
}

// An input can be broadcast to a shape as it is.
void RequireBroadcast(const Call& c, size_t input, const Exprs& shape) {
  Exprs both = c.BroadcastShapes({c.shape(input), shape});
  TERN_CHECK(both.size() == shape.size()) << "a shape of " << graph::ShapeText(c.shape(input))
                                          << " cannot be broadcast to " << graph::ShapeText(shape);
  for (size_t i = 0; i < shape.size(); ++i)
    c.RequireEqual(both[i], shape[i], "axis " + std::to_string(i) + " of the input and of both");
}

// Rows are the axes before `axis`.
Tensors LayerNorm(Call& c) {
  const Tensor& x = c.tensor(0);
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  Exprs rows(x.shape().begin(), x.shape().begin() + static_cast<int64_t>(axis));
  Expr count = Simplified(tir::Cast(x.dtype(), graph::NumElements(x.shape(), axis)));
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
  Tensor sum = reduce(c.name("sum"), [&](const Exprs& at, const Exprs&) { return x.At(at); });
  Tensor squares = reduce(c.name("squares"), [&](const Exprs& at, const Exprs& row) {
    Expr d = x.At(at) - sum.At(row) / count;
    return d * d;
  });
  double epsilon = c.Float("epsilon");
  for (size_t i = 1; i < 3; ++i)
    if (c.has(i)) RequireBroadcast(c, i, x.shape());
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Exprs at = Indices(axes), row(at.begin(), at.begin() + static_cast<int64_t>(axis));
    Expr variance = squares.At(row) / count + tir::Const(x.dtype(), epsilon);
    Expr y = (x.At(at) - sum.At(row) / count) * tir::Call("rsqrt", {variance});
    y = y * graph::BroadcastLoad(c.tensor(1), at, x.shape());
    return c.has(2) ? y + graph::BroadcastLoad(c.tensor(2), at, x.shape()) : y;
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

void RegisterWindowOps() {
  RegisterOp({.name = "conv",
              .summary = "convolution of [batch, channels, spatial...]",
              .inputs = {"x", "weights", "bias?"},
              .attrs = WindowAttrs({{"group", AttrKind::kInt, ffi::Any(1)}}),
              .compute = Conv});
  RegisterOp({.name = "max_pool",
              .summary = "the largest of each window",
              .inputs = {"x"},
              .attrs = WindowAttrs({{"ceil_mode", AttrKind::kInt, ffi::Any(0)}}),
              .compute = MaxPool});
  RegisterOp({.name = "average_pool",
              .summary = "the mean of each window",
              .inputs = {"x"},
              .attrs = WindowAttrs({{"ceil_mode", AttrKind::kInt, ffi::Any(0)},
                                    {"count_include_pad", AttrKind::kInt, ffi::Any(0)}}),
              .compute = AveragePool});
  RegisterOp({.name = "global_average_pool",
              .summary = "the mean over all spatial axes",
              .inputs = {"x"},
              .compute = [](Call& c) { return GlobalPool(c, true); }});
  RegisterOp({.name = "global_max_pool",
              .summary = "the largest over all spatial axes",
              .inputs = {"x"},
              .compute = [](Call& c) { return GlobalPool(c, false); }});
}

}  // namespace

void RegisterNeuralOps() {
  RegisterOp({.name = "matmul",
              .summary = "product of matrices, the last two axes; others are broadcast",
              .inputs = {"a", "b"},
              .compute = MatMul});
  RegisterOp({.name = "gemm",
              .summary = "alpha * A * B + beta * C, A and B transposed where it says so",
              .inputs = {"a", "b", "c?"},
              .attrs = {{"alpha", AttrKind::kFloat, ffi::Any(1.0)},
                        {"beta", AttrKind::kFloat, ffi::Any(1.0)},
                        {"transA", AttrKind::kInt, ffi::Any(0)},
                        {"transB", AttrKind::kInt, ffi::Any(0)}},
              .compute = Gemm});
  RegisterWindowOps();
  RegisterOp({.name = "softmax",
              .summary = "exponentials along an axis, divided by their sum",
              .inputs = {"x"},
              .attrs = {{"axis", AttrKind::kInt, ffi::Any(-1)}},
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
