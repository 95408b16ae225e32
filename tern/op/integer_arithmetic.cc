// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of quantized tensors of 8 bits on integers, with channels last, so that dot products
// run along contiguous bytes. Scales are known numbers, and come in where results are rounded.
#include "tern/op/quantize.h"
#include "tern/op/register.h"
#include "tern/op/windows.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

const DataType kFloat = DataType::Float(32);
const DataType kInt = DataType::Int(32);

// The one element of an input. Loaded, not a known number, so that layers of one shape share a
// kernel.
Expr Only(const Call& c, size_t input) {
  const Tensor& tensor = c.tensor(input);
  return tensor.At(Exprs(tensor.rank(), Expr(0)));
}

// Inputs of quantized_conv.
enum Input : size_t { kX, kWeights, kScale, kOffset, kShift, kZeroPoint, kBorder };

void CheckBytes(const Call& c, std::initializer_list<size_t> inputs) {
  for (size_t i : inputs)
    if (c.dtype(i).bits() != 8 || !c.dtype(i).is_integer())
      TERN_THROW(TypeError) << c.op().inputs[i] << " is of int8 or uint8, not " << c.dtype(i).str();
}

// Sums of products, as int32. The input outside of its extents is `border`, its zero point.
Tensor SumsOf(const Call& c, const std::string& name) {
  const Tensor &x = c.tensor(kX), &weights = c.tensor(kWeights);
  TERN_CHECK(x.rank() >= 2 && weights.rank() == x.rank())
      << "the input is [batch, spatial..., channels] and the weights [kernel..., channels / group, "
         "outputs]; they are "
      << graph::ShapeText(x.shape()) << " and " << graph::ShapeText(weights.shape());
  size_t dims = x.rank() - 2;
  std::vector<int64_t> kernel;
  for (size_t i = 0; i < dims; ++i)
    kernel.push_back(StaticExtent(weights.shape()[i], "the kernel's extent"));
  Windows w = WindowsOf(c, kernel, WindowRounding::kDown, /*first=*/1);
  int64_t group = c.Int("group"), channels = StaticExtent(weights.shape()[dims], "the channels"),
          outputs = StaticExtent(weights.shape()[dims + 1], "the number of output channels");
  TERN_CHECK(group > 0 && outputs % group == 0)
      << outputs << " output channels are not " << group << " equal groups";
  c.RequireEqual(x.shape().back(), channels * group, "the number of channels of input and weights");
  Expr border = c.has(kBorder) ? c.Scalar(kBorder) : tir::Const(x.dtype(), 0);
  TERN_CHECK(border.dtype() == x.dtype())
      << "the border is of " << x.dtype().str() << " as x, not of " << border.dtype().str();
  Exprs shape{x.shape()[0]};
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  shape.emplace_back(outputs);
  return Compute(name, shape, [&](const Vars& axes) {
    std::vector<ReduceAxis> along = KernelAxes(w), over;
    Exprs in_weights;
    for (size_t i = 0; i < dims; ++i) {
      in_weights.push_back(kernel[i] > 1 ? Expr(along[i]) : Expr(0));
      if (kernel[i] > 1) over.push_back(along[i]);
    }
    // One channel for each output is no sum over channels.
    if (channels > 1 || over.empty()) over.emplace_back("c", channels);
    Expr channel = channels > 1 ? Expr(over.back()) : Expr(0), from = channel;
    if (group > 1) {
      Expr number =
          outputs == group ? Expr(axes.back()) : ir::FloorDiv(axes.back(), outputs / group);
      from = channels > 1 ? number * Expr(channels) + channel : number;
    }
    in_weights.push_back(channel);
    in_weights.emplace_back(axes.back());
    Load load = [&](Exprs at) {
      at.push_back(from);
      return x.At(std::move(at));
    };
    Exprs places = Places(w, axes, {along.begin(), along.end()}, /*first=*/1);
    Expr element = LoadInside(load, {axes[0]}, w, places, border);
    return tir::Sum(tir::Cast(kInt, element) * tir::Cast(kInt, weights.At(in_weights)), over);
  });
}

Tensors QuantizedConv(Call& c) {
  CheckBytes(c, {kX, kWeights, kZeroPoint});
  Tensor sums = SumsOf(c, c.name("sums"));
  // One for all, or one for each output.
  auto of_output = [&](size_t input, const Vars& axes) {
    const Tensor& tensor = c.tensor(input);
    DataType dtype = input == kOffset ? kInt : kFloat;
    if (tensor.dtype() != dtype)
      TERN_THROW(TypeError) << c.op().inputs[input] << " is of " << dtype.str() << ", not "
                            << tensor.dtype().str();
    if (ir::IsConst(graph::NumElements(tensor.shape()), 1)) return Only(c, input);
    TERN_CHECK(tensor.rank() == 1)
        << "there is one " << c.op().inputs[input] << " for all, or one for each output, not "
        << graph::ShapeText(tensor.shape());
    c.RequireEqual(tensor.shape()[0], sums.shape().back(),
                   "the number of scales, offsets or shifts and outputs");
    return tensor(axes.back());
  };
  return {Compute(c.name(), sums.shape(), [&](const Vars& axes) {
    Expr sum = sums.At(Indices(axes));
    if (c.has(kOffset)) sum = sum + of_output(kOffset, axes);
    Expr value = Converted(kFloat, sum) * of_output(kScale, axes);
    if (c.has(kShift)) value = value + of_output(kShift, axes);
    return Quantized(c.dtype(kZeroPoint), value, Only(c, kZeroPoint));
  })};
}

// Two tensors that are broadcast, each with its zero point and a factor: its scale over that of the
// result.
Tensors QuantizedAdd(Call& c) {
  CheckBytes(c, {0, 2, 3, 5, 6});
  Exprs shape = c.BroadcastShapes({c.shape(0), c.shape(3)});
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    auto part = [&](size_t i) {
      Expr element = graph::BroadcastLoad(c.tensor(i), Indices(axes), shape);
      Expr difference = tir::Cast(kInt, element) - tir::Cast(kInt, Only(c, i + 2));
      return Converted(kFloat, difference) * Only(c, i + 1);
    };
    return Quantized(c.dtype(6), part(0) + part(3), Only(c, 6));
  })};
}

// Sums of integers are exact: a mean that is half of a step is rounded as such.
Tensors QuantizedMean(Call& c) {
  CheckBytes(c, {0, 2, 3});
  const Tensor& x = c.tensor(0);
  TERN_CHECK(x.rank() >= 3) << "the input is [batch, spatial..., channels], not "
                            << graph::ShapeText(x.shape());
  Exprs spatial(x.shape().begin() + 1, x.shape().end() - 1), shape(x.rank(), Expr(1));
  shape.front() = x.shape().front();
  shape.back() = x.shape().back();
  Expr count = Simplified(graph::NumElements(spatial));
  Tensor sums = Compute(c.name("sums"), shape, [&](const Vars& axes) {
    std::vector<ReduceAxis> over = ReduceAxes(spatial);
    Exprs at{axes.front()};
    at.insert(at.end(), over.begin(), over.end());
    at.emplace_back(axes.back());
    return tir::Sum(tir::Cast(kInt, x.At(std::move(at))), over);
  });
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Expr less = tir::Cast(kInt, Only(c, 2)) * tir::Cast(kInt, count);
    Expr sum = sums.At(Indices(axes)) - less;
    Expr mean = Converted(kFloat, sum) * (Only(c, 1) / tir::Cast(kFloat, count));
    return Quantized(c.dtype(3), mean, Only(c, 3));
  })};
}

}  // namespace

void RegisterIntegerArithmetic() {
  RegisterOp({.name = "quantized_conv",
              .summary = "convolution of quantized [batch, spatial..., channels] by weights "
                         "[kernel..., channels / group, outputs]: (sums + offset) * scale + shift, "
                         "rounded, plus zero_point, within the range of its type",
              .inputs = {"x", "weights", "scale", "offset?", "shift?", "zero_point", "border?"},
              .attrs = WindowAttrs({{"group", AttrKind::kInt, ffi::Any(1)}}),
              .compute = QuantizedConv,
              .is_exact = true});
  RegisterOp(
      {.name = "quantized_add",
       .summary = "(a - a_zero_point) * a_factor + (b - b_zero_point) * b_factor, rounded, "
                  "plus zero_point, within the range of its type",
       .inputs = {"a", "a_factor", "a_zero_point", "b", "b_factor", "b_zero_point", "zero_point"},
       .compute = QuantizedAdd,
       .is_exact = true});
  RegisterOp({.name = "quantized_mean",
              .summary =
                  "the mean of quantized [batch, spatial..., channels] over the spatial axes, "
                  "quantized",
              .inputs = {"x", "factor", "x_zero_point", "zero_point"},
              .compute = QuantizedMean,
              .is_exact = true});
}

}  // namespace tern::op
