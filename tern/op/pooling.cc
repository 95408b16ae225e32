// SPDX-License-Identifier: Apache-2.0
//
// Pooling of [batch, channels, spatial...].
#include <algorithm>
#include <limits>

#include "tern/op/register.h"
#include "tern/op/windows.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

Windows PoolWindows(const Call& c) {
  const Tensor& x = c.tensor(0);
  TERN_CHECK(x.rank() >= 3) << kWindowShape;
  return WindowsOf(c, IntsOr(c, "kernel_shape", x.rank() - 2, 1),
                   c.Flag("ceil_mode") ? WindowRounding::kUp : WindowRounding::kTowardZero);
}

// What is smaller than all others.
Expr LeastOf(DataType dtype) {
  if (dtype.is_float()) return tir::Const(dtype, -std::numeric_limits<double>::infinity());
  return tir::MaxOf(tir::Const(dtype, 0), {ReduceAxis("k", 1)}).identities[0];
}

Tensors MaxPool(Call& c) {
  const Tensor& x = c.tensor(0);
  Windows w = PoolWindows(c);
  return {Compute(c.name(), WindowedShape(x.shape()[0], x.shape()[1], w), [&](const Vars& axes) {
    std::vector<ReduceAxis> along = KernelAxes(w);
    Exprs places = Places(w, axes, {along.begin(), along.end()});
    return tir::MaxOf(LoadInside(ElementOf(x), {axes[0], axes[1]}, w, places, LeastOf(x.dtype())),
                      along);
  })};
}

// The largest of each window, and which element of the input it is. Elements are counted in row
// major order over all axes, or with storage_order = 1 over the spatial ones in column major order.
Tensors MaxPoolIndices(Call& c) {
  const Tensor& x = c.tensor(0);
  Windows w = PoolWindows(c);
  Exprs shape = WindowedShape(x.shape()[0], x.shape()[1], w), kernel;
  for (int64_t extent : w.kernel) kernel.emplace_back(extent);
  bool column_major = c.Flag("storage_order");
  Tensors found = tir::ComputeAll({c.name("tap"), c.name("largest")}, shape, [&](const Vars& axes) {
    ReduceAxis tap("k", graph::NumElements(kernel));
    Exprs places = Places(w, axes, UnflatIndex(tap, kernel));
    return tir::ArgMax(LoadInside(ElementOf(x), {axes[0], axes[1]}, w, places, LeastOf(x.dtype())),
                       tap);
  });
  Tensor values =
      Compute(c.name(), shape, [&](const Vars& axes) { return found[1].At(Indices(axes)); });
  Tensor indices = Compute(c.name("index"), shape, [&](const Vars& axes) {
    Exprs at = Places(w, axes, UnflatIndex(Max(found[0].At(Indices(axes)), 0), kernel));
    Exprs extents = w.in;
    if (column_major) {
      std::reverse(at.begin(), at.end());
      std::reverse(extents.begin(), extents.end());
    }
    at.insert(at.begin(), {axes[0], axes[1]});
    extents.insert(extents.begin(), {x.shape()[0], x.shape()[1]});
    return FlatIndex(at, extents);
  });
  return {values, indices};
}

Tensors AveragePool(Call& c) {
  const Tensor& x = c.tensor(0);
  Windows w = PoolWindows(c);
  std::vector<int64_t> pads = IntsOr(c, "pads", 2 * w.size(), 0);
  bool count_padding = c.Flag("count_include_pad");
  Exprs shape = WindowedShape(x.shape()[0], x.shape()[1], w);
  DataType wide = SumType(x.dtype());
  Tensor sums = Compute(c.name("sums"), shape, [&](const Vars& axes) {
    std::vector<ReduceAxis> along = KernelAxes(w);
    Expr zero = tir::Const(x.dtype(), 0);
    Expr value = LoadInside(ElementOf(x), {axes[0], axes[1]}, w,
                            Places(w, axes, {along.begin(), along.end()}), zero);
    return tir::Sum(Converted(wide, value), along);
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
    Expr divisor = graph::Simplified(tir::Cast(wide, graph::Simplified(count)));
    return Converted(x.dtype(), sums.At(Indices(axes)) / divisor);
  })};
}

// The p-norm of each window.
Tensors LpPool(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  Windows w = PoolWindows(c);
  Exprs shape = WindowedShape(x.shape()[0], x.shape()[1], w);
  double p = static_cast<double>(c.Int("p"));
  TERN_CHECK(p > 0) << "p is positive, not " << p;
  DataType wide = SumType(x.dtype());
  Tensor sums = Compute(c.name("sums"), shape, [&](const Vars& axes) {
    std::vector<ReduceAxis> along = KernelAxes(w);
    Exprs places = Places(w, axes, {along.begin(), along.end()});
    return tir::Sum(LoadInside(
                        [&](const Exprs& at) {
                          Expr size = tir::Call("abs", {Converted(wide, x.At(at))});
                          return tir::Call("pow", {size, Number(size, p)});
                        },
                        {axes[0], axes[1]}, w, places, tir::Const(wide, 0)),
                    along);
  });
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Expr sum = sums.At(Indices(axes));
    return Converted(x.dtype(), tir::Call("pow", {sum, Number(sum, 1 / p)}));
  })};
}

// Each element at the place of the window that `indices` says, in the output without padding; 0
// elsewhere.
Tensors MaxUnpool(Call& c) {
  const Tensor &x = c.tensor(0), &at = c.tensor(1);
  TERN_CHECK(x.rank() >= 3) << kWindowShape;
  TERN_CHECK(at.rank() == x.rank() && c.dtype(1) == DataType::Int(64))
      << "indices are int64 and of the input's shape";
  size_t dims = x.rank() - 2;
  std::vector<int64_t> kernel = IntsOr(c, "kernel_shape", dims, 1),
                       strides = IntsOr(c, "strides", dims, 1),
                       pads = IntsOr(c, "pads", 2 * dims, 0);
  Exprs inferred{x.shape()[0], x.shape()[1]}, pooled(x.shape().begin() + 2, x.shape().end());
  for (size_t i = 0; i < x.rank(); ++i)
    c.RequireEqual(x.shape()[i], at.shape()[i], "an extent of input and indices");
  for (size_t i = 0; i < dims; ++i)
    inferred.push_back(Simplified((x.shape()[i + 2] - 1) * Expr(strides[i]) +
                                  Expr(kernel[i] - pads[i] - pads[i + dims])));
  Exprs shape = inferred;
  if (c.has(2)) {
    shape.clear();
    for (const Expr& extent : c.content(2)) shape.push_back(AsIndex(extent));
    TERN_CHECK(shape.size() == x.rank()) << "output_shape has " << x.rank() << " extents";
    for (size_t i = 0; i < 2; ++i)
      c.RequireEqual(shape[i], inferred[i], "batch and channels of input and output");
  }
  // Which pooled element is there: the last of those that say so.
  Tensor from = Compute(c.name("from"), shape, [&](const Vars& axes) {
    ReduceAxis k("k", graph::NumElements(pooled));
    Exprs in{axes[0], axes[1]};
    for (const Expr& index : UnflatIndex(k, pooled)) in.push_back(index);
    Expr inside;
    for (size_t i = 2; i < axes.size(); ++i) {
      Expr here = axes[i] < inferred[i];
      inside = inside ? inside && here : here;
    }
    Expr here = inside && at.At(in) == FlatIndex(Indices(axes), inferred);
    return tir::MaxOf(Select(here, k, Expr(-1)), {k});
  });
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Expr place = from.At(Indices(axes));
    Exprs in{axes[0], axes[1]};
    for (const Expr& index : UnflatIndex(Max(place, 0), pooled)) in.push_back(index);
    return Select(place >= Expr(0), x.At(std::move(in)), tir::Const(x.dtype(), 0));
  })};
}

Tensors GlobalPool(const Call& c, bool average) {
  const Tensor& x = c.tensor(0);
  TERN_CHECK(x.rank() >= 3) << kWindowShape;
  Exprs shape{x.shape()[0], x.shape()[1]};
  shape.resize(x.rank(), Expr(1));
  DataType wide = SumType(x.dtype());
  Tensor pooled = Compute(average ? c.name("sums") : c.name(), shape, [&](const Vars& axes) {
    Exprs at{axes[0], axes[1]};
    std::vector<ReduceAxis> over;
    for (size_t i = 2; i < x.rank(); ++i) {
      over.emplace_back("k" + std::to_string(i), x.shape()[i]);
      at.push_back(over.back());
    }
    Expr value = x.At(std::move(at));
    return average ? tir::Sum(Converted(wide, value), over) : tir::MaxOf(value, over);
  });
  if (!average) return {pooled};
  Expr count = Simplified(tir::Cast(wide, graph::NumElements(x.shape(), 2)));
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    return Converted(x.dtype(), pooled.At(Indices(axes)) / count);
  })};
}

Tensors GlobalLpPool(Call& c) {
  const Tensor& x = c.tensor(0);
  TERN_CHECK(x.rank() >= 3) << kWindowShape;
  CheckFloat(c, 0);
  double p = static_cast<double>(c.Int("p"));
  TERN_CHECK(p > 0) << "p is positive, not " << p;
  Exprs shape{x.shape()[0], x.shape()[1]};
  shape.resize(x.rank(), Expr(1));
  Tensor sums = Compute(c.name("sums"), shape, [&](const Vars& axes) {
    std::vector<ReduceAxis> over = ReduceAxes({x.shape().begin() + 2, x.shape().end()});
    Exprs at{axes[0], axes[1]};
    at.insert(at.end(), over.begin(), over.end());
    Expr size = tir::Call("abs", {Converted(SumType(x.dtype()), x.At(std::move(at)))});
    return tir::Sum(tir::Call("pow", {size, Number(size, p)}), over);
  });
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Expr sum = sums.At(Indices(axes));
    return Converted(x.dtype(), tir::Call("pow", {sum, Number(sum, 1 / p)}));
  })};
}

}  // namespace

void RegisterPoolingOps() {
  graph::AttrSpec ceil_mode{"ceil_mode", AttrKind::kInt, ffi::Any(0)};
  RegisterOp({.name = "max_pool",
              .summary = "the largest of each window",
              .inputs = {"x"},
              .attrs = WindowAttrs({ceil_mode}),
              .compute = MaxPool});
  RegisterOp({.name = "max_pool_indices",
              .summary = "the largest of each window, and the number of that element",
              .inputs = {"x"},
              .attrs = WindowAttrs({ceil_mode, {"storage_order", AttrKind::kInt, ffi::Any(0)}}),
              .compute = MaxPoolIndices});
  RegisterOp({.name = "average_pool",
              .summary = "the mean of each window",
              .inputs = {"x"},
              .attrs = WindowAttrs({ceil_mode, {"count_include_pad", AttrKind::kInt, ffi::Any(0)}}),
              .compute = AveragePool});
  RegisterOp({.name = "lp_pool",
              .summary = "the p-norm of each window",
              .inputs = {"x"},
              .attrs = WindowAttrs({ceil_mode, {"p", AttrKind::kInt, ffi::Any(2)}}),
              .compute = LpPool});
  RegisterOp({.name = "max_unpool",
              .summary = "elements at the places where max_pool_indices found them, 0 elsewhere",
              .inputs = {"x", "indices", "output_shape?"},
              .attrs = {{"kernel_shape", AttrKind::kInts},
                        {"pads", AttrKind::kInts},
                        {"strides", AttrKind::kInts}},
              .compute = MaxUnpool});
  RegisterOp({.name = "global_average_pool",
              .summary = "the mean over all spatial axes",
              .inputs = {"x"},
              .compute = [](Call& c) { return GlobalPool(c, true); }});
  RegisterOp({.name = "global_max_pool",
              .summary = "the largest over all spatial axes",
              .inputs = {"x"},
              .compute = [](Call& c) { return GlobalPool(c, false); }});
  RegisterOp({.name = "global_lp_pool",
              .summary = "the p-norm over all spatial axes",
              .inputs = {"x"},
              .attrs = {{"p", AttrKind::kInt, ffi::Any(2)}},
              .compute = GlobalLpPool});
}

}  // namespace tern::op
