// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of [batch, channels, spatial...].
#include "tern/op/linear.h"
#include "tern/op/register.h"
#include "tern/op/windows.h"
#include "tern/tir/text.h"

namespace tern::op {

Tensor ConvOf(const Call& c, const std::string& name, const Operand& input, const Operand& filter,
              const Expr& border) {
  const Tensor &x = input.tensor, &weights = filter.tensor;
  TERN_CHECK(x.rank() >= 3 && weights.rank() == x.rank())
      << "the input is [batch, channels, spatial...] and the weights [outputs, channels / group, "
         "kernel...]; they are "
      << graph::ShapeText(x.shape()) << " and " << graph::ShapeText(weights.shape());
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < weights.rank(); ++i)
    kernel.push_back(StaticExtent(weights.shape()[i], "the kernel's extent"));
  Windows w = WindowsOf(c, kernel, WindowRounding::kDown);
  int64_t group = c.Int("group"), channels = StaticExtent(weights.shape()[1], "the channels");
  int64_t outputs = StaticExtent(weights.shape()[0], "the number of output channels");
  TERN_CHECK(group > 0 && outputs % group == 0)
      << outputs << " output channels are not " << group << " equal groups";
  c.Require(x.shape()[1] == Expr(channels * group),
            "the input has " + tir::Print(x.shape()[1]) + " channels, the weights " +
                std::to_string(channels) + " for each of " + std::to_string(group) +
                " groups, and " + std::to_string(outputs) + " outputs");
  return Compute(name, WindowedShape(x.shape()[0], outputs, w), [&](const Vars& axes) {
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
    Expr weight = filter.load(at), outside = border ? border : Number(weight, 0);
    Exprs places = Places(w, axes, {along.begin(), along.end()});
    Expr element = LoadInside(input.load, {axes[0], from}, w, places, outside);
    return tir::Sum(Converted(weight.dtype(), element) * weight, over);
  });
}

namespace {

void RequireBiases(const Call& c, size_t input, const Expr& outputs) {
  c.RequireEqual(graph::NumElements(c.shape(input)), outputs, "the number of biases and outputs");
}

// Sums of narrow floats are wider than the bias.
Tensor PlusBias(const Call& c, const Tensor& sums, const Tensor& bias, DataType type) {
  return Compute(c.name(), sums.shape(), [&](const Vars& axes) {
    Expr sum = sums.At(Indices(axes)) + Converted(sums.dtype(), bias(axes[1]));
    return Converted(type, sum);
  });
}

Tensors Conv(Call& c) {
  CheckOneType(c);
  DataType type = ResultType(c);
  Tensor sums = ConvOf(c, c.has(2) ? c.name("sums") : SumName(c, type), Widened(c.tensor(0)),
                       Widened(c.tensor(1)));
  if (!c.has(2)) return {Narrowed(c, sums, type)};
  RequireBiases(c, 2, sums.shape()[1]);
  return {PlusBias(c, sums, c.tensor(2), type)};
}

// ---- Transposed

// One spatial axis of a transposed convolution: input i and kernel k add to output
// i * stride + k * dilation - before.
struct Spread {
  int64_t kernel, stride, dilation;
  Expr before, in, out;
};

std::vector<Spread> SpreadsOf(const Call& c) {
  size_t dims = c.tensor(0).rank() - 2;
  std::vector<int64_t> strides = IntsOr(c, "strides", dims, 1),
                       dilations = IntsOr(c, "dilations", dims, 1),
                       pads = IntsOr(c, "pads", 2 * dims, 0),
                       more = IntsOr(c, "output_padding", dims, 0), shape;
  if (c.HasAttr("output_shape")) {
    shape = c.Ints("output_shape");
    if (shape.size() > dims) shape.erase(shape.begin(), shape.end() - static_cast<int64_t>(dims));
    TERN_CHECK(shape.size() == dims) << "output_shape has an extent for each spatial axis";
  }
  std::string automatic = AutoPad(c);
  bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  std::vector<Spread> spreads;
  for (size_t i = 0; i < dims; ++i) {
    Expr in = c.shape(0)[i + 2], before = pads[i], out;
    int64_t kernel = StaticExtent(c.shape(1)[i + 2], "the kernel's extent");
    TERN_CHECK(kernel > 0 && strides[i] > 0 && dilations[i] > 0 && more[i] >= 0)
        << "extents, strides, dilations and output_padding of windows are positive";
    Expr whole = (in - 1) * Expr(strides[i]) + Expr((kernel - 1) * dilations[i] + 1 + more[i]);
    if (same || !shape.empty()) {
      out = shape.empty() ? in * Expr(strides[i]) : Expr(shape[i]);
      Expr cut = Max(whole - out, 0);
      before = Simplified(ir::FloorDiv(automatic == "SAME_UPPER" ? cut : cut + 1, 2));
    } else if (automatic == "VALID") {
      out = whole;
      before = 0;
    } else {
      out = whole - Expr(pads[i] + pads[i + dims]);
    }
    out = Simplified(out);
    if (std::optional<int64_t> extent = ir::AsConstInt(out); extent && *extent < 0)
      TERN_THROW(ValueError) << "padding takes more than there is along axis " << i + 2;
    spreads.push_back({kernel, strides[i], dilations[i], before, in, out});
  }
  return spreads;
}

Tensors ConvTranspose(Call& c) {
  const Tensor &x = c.tensor(0), &weights = c.tensor(1);
  TERN_CHECK(x.rank() >= 3 && weights.rank() == x.rank())
      << "the input is [batch, channels, spatial...] and the weights [channels, outputs / group, "
         "kernel...]; they are "
      << graph::ShapeText(x.shape()) << " and " << graph::ShapeText(weights.shape());
  CheckOneType(c);
  int64_t group = c.Int("group"), channels = StaticExtent(weights.shape()[0], "the channels"),
          each = StaticExtent(weights.shape()[1], "the number of output channels");
  TERN_CHECK(group > 0 && channels % group == 0)
      << channels << " channels are not " << group << " equal groups";
  c.RequireEqual(x.shape()[1], channels, "the number of channels of input and weights");
  std::vector<Spread> spreads = SpreadsOf(c);
  Exprs shape{x.shape()[0], each * group};
  for (const Spread& spread : spreads) shape.push_back(spread.out);
  DataType type = ResultType(c), wide = SumType(x.dtype());
  Tensor sums = Compute(c.has(2) ? c.name("sums") : SumName(c, type), shape, [&](const Vars& axes) {
    std::vector<ReduceAxis> over;
    over.emplace_back("c", channels / group);
    Expr channel = over[0], output = axes[1];
    if (group > 1) {
      channel = ir::FloorDiv(axes[1], each) * Expr(channels / group) + channel;
      output = ir::FloorMod(axes[1], each);
    }
    Exprs at{axes[0], channel}, in_weights{channel, output};
    Expr inside;
    for (size_t i = 0; i < spreads.size(); ++i) {
      const Spread& s = spreads[i];
      over.emplace_back("k" + std::to_string(i), s.kernel);
      in_weights.push_back(over.back());
      Expr from = axes[i + 2] + s.before - Expr(over.back()) * Expr(s.dilation);
      Expr place = s.stride == 1 ? from : ir::FloorDiv(from, s.stride);
      Expr here = place >= Expr(0) && place < s.in;
      if (s.stride > 1) here = here && ir::FloorMod(from, s.stride) == Expr(0);
      inside = inside ? inside && here : here;
      at.push_back(place);
    }
    Expr element = Select(inside, x.At(std::move(at)), tir::Const(x.dtype(), 0));
    Expr weight = weights.At(std::move(in_weights));
    return tir::Sum(Converted(wide, element) * Converted(wide, weight), over);
  });
  if (!c.has(2)) return {Narrowed(c, sums, type)};
  RequireBiases(c, 2, each * group);
  return {PlusBias(c, sums, c.tensor(2), type)};
}

// ---- Deformable

// The value between four neighbours; 0 outside.
Expr Bilinear(const Tensor& x, const Expr& batch, const Expr& channel, const Expr& y,
              const Expr& z) {
  Expr sum;
  Expr top = tir::Call("floor", {y}), left = tir::Call("floor", {z});
  for (int64_t dy = 0; dy < 2; ++dy)
    for (int64_t dz = 0; dz < 2; ++dz) {
      Expr row = AsIndex(top) + Expr(dy), column = AsIndex(left) + Expr(dz);
      Expr inside =
          row >= Expr(0) && row < x.shape()[2] && column >= Expr(0) && column < x.shape()[3];
      Expr wy = dy ? y - top : Number(y, 1) - (y - top),
           wz = dz ? z - left : Number(z, 1) - (z - left);
      Expr element = x(batch, channel, Clamped(row, 0, x.shape()[2] - 1),
                       Clamped(column, 0, x.shape()[3] - 1));
      Expr part = Select(inside, element * wy * wz, Number(element, 0));
      sum = sum ? sum + part : part;
    }
  return sum;
}

// Elements of windows are read at places that are moved by `offset`, and multiplied with `mask`.
Tensors DeformConv(Call& c) {
  const Tensor &x = c.tensor(0), &weights = c.tensor(1), &offset = c.tensor(2);
  TERN_CHECK(x.rank() == 4 && weights.rank() == 4 && offset.rank() == 4)
      << "input, weights and offset are of rank 4: two spatial axes are supported";
  CheckOneType(c);
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < 4; ++i)
    kernel.push_back(StaticExtent(weights.shape()[i], "the kernel's extent"));
  Windows w = WindowsOf(c, kernel, WindowRounding::kDown);
  int64_t group = c.Int("group"), groups = c.Int("offset_group"), taps = kernel[0] * kernel[1];
  int64_t each = StaticExtent(weights.shape()[1], "the channels"),
          outputs = StaticExtent(weights.shape()[0], "the number of output channels"),
          channels = StaticExtent(x.shape()[1], "the number of channels");
  TERN_CHECK(group > 0 && groups > 0 && outputs % group == 0 && channels == each * group &&
             channels % groups == 0)
      << channels << " channels and " << outputs << " outputs are not " << group << " groups and "
      << groups << " groups of offsets";
  c.RequireEqual(offset.shape()[1], 2 * groups * taps, "the number of offsets");
  for (size_t i = 0; i < 2; ++i)
    c.RequireEqual(offset.shape()[i + 2], w.out[i], "an extent of offsets and results");
  c.RequireEqual(offset.shape()[0], x.shape()[0], "the batch of offsets and input");
  if (c.has(4)) {
    CheckRank(c, 4, 4);
    c.RequireEqual(c.shape(4)[1], groups * taps, "the number of masks");
    for (size_t i : {0, 2, 3})
      c.RequireEqual(c.shape(4)[i], offset.shape()[i], "an extent of mask and offsets");
  }
  Tensor sums =
      Compute(c.has(3) ? c.name("sums") : c.name(), WindowedShape(x.shape()[0], outputs, w),
              [&](const Vars& axes) {
                ReduceAxis k("c", each), i("k0", kernel[0]), j("k1", kernel[1]);
                Expr number = group == 1 ? Expr(0) : ir::FloorDiv(axes[1], outputs / group);
                Expr channel = number * Expr(each) + k;
                Expr part = ir::FloorDiv(channel, channels / groups);
                Expr tap = i * Expr(kernel[1]) + j, first = (part * Expr(taps) + tap) * Expr(2);
                Exprs places = Places(w, axes, {i, j});
                Expr y = tir::Cast(x.dtype(), places[0]) + offset(axes[0], first, axes[2], axes[3]);
                Expr z = tir::Cast(x.dtype(), places[1]) +
                         offset(axes[0], first + Expr(1), axes[2], axes[3]);
                Expr value = Bilinear(x, axes[0], channel, y, z);
                if (c.has(4))
                  value = value * c.tensor(4)(axes[0], part * Expr(taps) + tap, axes[2], axes[3]);
                return tir::Sum(value * weights(axes[1], k, i, j), {k, i, j});
              });
  if (!c.has(3)) return {sums};
  RequireBiases(c, 3, outputs);
  return {PlusBias(c, sums, c.tensor(3), c.dtype(0))};
}

}  // namespace

void RegisterConvolutionOps() {
  RegisterOp({.name = "conv",
              .summary = "convolution of [batch, channels, spatial...]",
              .inputs = {"x", "weights", "bias?"},
              .attrs = WindowAttrs({{"group", AttrKind::kInt, ffi::Any(1)}, kResultTypeAttr}),
              .compute = Conv});
  RegisterOp({.name = "conv_transpose",
              .summary = "transposed convolution of [batch, channels, spatial...]",
              .inputs = {"x", "weights", "bias?"},
              .attrs = WindowAttrs({{"group", AttrKind::kInt, ffi::Any(1)},
                                    {"output_padding", AttrKind::kInts},
                                    {"output_shape", AttrKind::kInts},
                                    kResultTypeAttr}),
              .compute = ConvTranspose});
  RegisterOp({.name = "deform_conv",
              .summary = "convolution that reads at places moved by offset, times mask",
              .inputs = {"x", "weights", "offset", "bias?", "mask?"},
              .attrs = WindowAttrs({{"group", AttrKind::kInt, ffi::Any(1)},
                                    {"offset_group", AttrKind::kInt, ffi::Any(1)}}),
              .compute = DeformConv});
}

}  // namespace tern::op
