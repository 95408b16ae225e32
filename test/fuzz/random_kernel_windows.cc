// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and pooling.
#include <algorithm>
#include <cmath>

#include "test/fuzz/kernel_writer.h"

namespace tern::fuzz {

Window KernelWriter::DrawWindow(const Extent& in) {
  Window window;
  int64_t size = random_.Pick(std::vector<int64_t>{1, 2, 3, 3, 3, 4, 5, 7});
  if (random_.OneIn(4)) window.dilation = random_.Between(2, 3);
  if (random_.OneIn(3)) window.stride = random_.Between(2, 3);
  if (random_.OneIn(2)) window.padding = (size - 1) * window.dilation / 2;
  if (random_.OneIn(8)) window.padding = random_.Between(0, 3);
  if (in.value + 2 * window.padding < (size - 1) * window.dilation) size = 1;
  window.size = random_.OneIn(6) ? Fresh(size) : Static(size);
  int64_t last = in.value + 2 * window.padding - (size - 1) * window.dilation - 1;
  int64_t out = (last + window.stride) / window.stride;  // last is -1 or more
  if (in.is_static() && window.size.is_static()) {
    window.out = Static(out);
  } else {
    std::string text = in.text + " + " + std::to_string(2 * window.padding) + " - (" +
                       window.size.text + " - 1) * " + std::to_string(window.dilation) + " - 1";
    window.out = {"(" + text + ") // " + std::to_string(window.stride) + " + 1", out};
  }
  return window;
}

std::vector<size_t> KernelWriter::SpatialDims() const {
  std::vector<size_t> dims;
  if (current_.rank() < 3) return dims;
  for (size_t d = 1; d < current_.rank(); ++d)
    if (d != ChannelDim()) dims.push_back(d);
  return dims;
}

KernelWriter::Windows KernelWriter::DrawWindows(const std::vector<size_t>& dims) {
  Windows windows;
  Texts inside;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Extent& in = current_.shape[dims[i]];
    Window window = DrawWindow(in);
    std::string y = "y" + std::to_string(i), k = "k" + std::to_string(i);
    std::string at = y;
    if (window.stride > 1) at += " * " + std::to_string(window.stride);
    at += " + " + k;
    if (window.dilation > 1) at += " * " + std::to_string(window.dilation);
    if (window.padding > 0) {
      at += " - " + std::to_string(window.padding);
      inside.push_back(at + " >= 0 && " + at + " < " + in.text);
    }
    windows.indices.push_back(at);
    windows.pixels.push_back({y, window.out});
    windows.steps.push_back({k, window.size, true});
  }
  for (const std::string& part : inside)
    windows.inside += (windows.inside.empty() ? "" : " && ") + part;
  return windows;
}

std::string KernelWriter::Element(const Windows& windows, const std::vector<size_t>& dims,
                                  const std::string& channel, const std::string& border) const {
  Texts indices(current_.rank());
  indices[0] = "b";
  indices[ChannelDim()] = channel;
  for (size_t i = 0; i < dims.size(); ++i) indices[dims[i]] = windows.indices[i];
  std::string element = At(current_, indices);
  return windows.inside.empty() ? element
                                : "select(" + windows.inside + ", " + element + ", " + border + ")";
}

std::vector<Axis> KernelWriter::InLayout(const Axis& batch, const Axis& channel,
                                         const std::vector<Axis>& pixels) const {
  std::vector<Axis> axes = {batch};
  if (!channels_last_) axes.push_back(channel);
  axes.insert(axes.end(), pixels.begin(), pixels.end());
  if (channels_last_) axes.push_back(channel);
  return axes;
}

std::vector<Extent> KernelWriter::ShapeOf(const std::vector<Axis>& axes) {
  std::vector<Extent> shape;
  for (const Axis& axis : axes) shape.push_back(axis.extent);
  return shape;
}

KernelWriter::Windows KernelWriter::DrawTransposedWindows(const std::vector<size_t>& dims) {
  Windows windows;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t in = current_.shape[dims[i]].value, size = random_.Between(1, 4),
            stride = random_.Between(1, 3), padding = random_.Between(0, 2);
    int64_t out = std::max<int64_t>((in - 1) * stride - 2 * padding + size, 0);
    std::string y = "y" + std::to_string(i), k = "k" + std::to_string(i),
                step = std::to_string(stride);
    std::string at = y + " + " + std::to_string(padding) + " - " + k;
    windows.inside += (windows.inside.empty() ? "(" : " && (") + at + ") % " + step + " == 0 && " +
                      at + " >= 0 && " + at + " < " + std::to_string(in * stride);
    windows.indices.push_back("(" + at + ") // " + step);
    windows.pixels.push_back({y, Static(out)});
    windows.steps.push_back({k, Static(size), true});
  }
  return windows;
}

void KernelWriter::Convolution() {
  std::vector<size_t> dims = SpatialDims();
  if (dims.empty()) return Elementwise();
  Extent channels = current_.shape[ChannelDim()];
  bool transposed = random_.OneIn(4) && std::all_of(dims.begin(), dims.end(), [&](size_t dim) {
                      return current_.shape[dim].is_static();
                    });
  Windows windows = transposed ? DrawTransposedWindows(dims) : DrawWindows(dims);
  int64_t groups = 1;
  if (channels.is_static() && channels.value > 0 && random_.OneIn(4))
    for (int64_t wish : {random_.Between(2, 4), channels.value})
      if (channels.value % wish == 0) groups = wish;
  Extent inputs = groups == 1 ? channels : Static(channels.value / groups);
  int64_t instances = current_.shape[0].value * inputs.value;
  for (const auto* axes : {&windows.pixels, &windows.steps}) instances *= InstancesOf(*axes);
  if (instances > budget_) return Pooling();
  int64_t outputs = DrawExtent();
  while (outputs > 1 && outputs * groups * instances > budget_) outputs /= 2;
  if (outputs * groups * instances > budget_) return Pooling();
  Extent out = groups == 1 ? Fresh(outputs) : Static(outputs * groups);

  Axis batch{"b", current_.shape[0]}, output{"o", out}, input{"c", inputs, true};
  bool depthwise = groups > 1 && groups == channels.value && outputs == 1;
  std::vector<Axis> axes = InLayout(batch, output, windows.pixels), weights;
  std::vector<Axis> steps = windows.steps;
  if (!depthwise) steps.insert(random_.OneIn(4) ? steps.end() : steps.begin(), input);
  switch (random_.Below(3)) {
    case 0:
      weights = windows.steps;
      if (!depthwise) weights.push_back(input);
      weights.push_back(output);
      break;
    case 1:
      weights = windows.steps;
      weights.insert(weights.begin(), output);
      if (!depthwise) weights.push_back(input);
      break;
    default:
      weights = windows.steps;
      if (!depthwise) weights.insert(weights.begin(), input);
      weights.insert(weights.begin(), output);
  }
  if (!Known(ShapeOf(weights))) return Elementwise();
  Array w = Input(WeightType(), ShapeOf(weights), true);
  std::string channel = "c";
  if (groups > 1) channel = outputs == 1 ? "o" : "o // " + std::to_string(outputs);
  if (groups > 1 && !depthwise) channel += " * " + inputs.text + " + c";
  std::string sum = SumType(current_.dtype);
  Array result = Result(sum, ShapeOf(axes));
  std::string value = Convert(Element(windows, dims, channel, "0"), current_.dtype, sum) + " * " +
                      Convert(At(w, VarsOf(weights)), w.dtype, sum);
  Texts at = VarsOf(axes);
  SetMagnitude(&result, InstancesOf(steps), current_.magnitude * w.magnitude);
  axes.insert(axes.end(), steps.begin(), steps.end());
  Reduce("conv", result, at, axes, "+", value);
  current_ = result;
}

bool KernelWriter::Known(const std::vector<Extent>& shape) const {
  return std::all_of(shape.begin(), shape.end(), [&](const Extent& extent) {
    return extent.is_static() || kernel_.arguments.dims.count(extent.text);
  });
}

void KernelWriter::SetMagnitude(Array* result, int64_t steps, double each) {
  auto count = static_cast<double>(std::max<int64_t>(steps, 1));
  result->magnitude = result->is_float() ? each * std::max(1.0, std::sqrt(count)) : each * count;
  if (result->dtype == "int8") result->magnitude = 128;
}

void KernelWriter::Pooling() {
  std::vector<size_t> dims = SpatialDims();
  if (dims.empty()) return Elementwise();
  Windows windows = DrawWindows(dims);
  Axis batch{"b", current_.shape[0]}, channel{"c", current_.shape[ChannelDim()]};
  std::vector<Axis> axes = InLayout(batch, channel, windows.pixels);
  if (InstancesOf(axes) * InstancesOf(windows.steps) > budget_) return Elementwise();
  // A window's size that no tensor names would be nobody's.
  for (const Axis& step : windows.steps)
    if (!step.extent.is_static()) Input("int8", {step.extent});
  std::string op = random_.Pick(Texts{"+", "max", "max", "min"});
  std::string dtype = op == "+" ? SumType(current_.dtype) : current_.dtype;
  // No number of the border is infinite: later blocks compute with it.
  std::string border = op == "+" ? "0" : op == "max" ? "-100" : "100";
  Array result = Result(dtype, ShapeOf(axes));
  Texts at = VarsOf(axes);
  std::string value = Convert(Element(windows, dims, "c", border), current_.dtype, dtype);
  SetMagnitude(&result, op == "+" ? InstancesOf(windows.steps) : 1,
               std::max(current_.magnitude, border == "0" ? 0.0 : 100.0));
  axes.insert(axes.end(), windows.steps.begin(), windows.steps.end());
  Reduce("pool", result, at, axes, op, value);
  current_ = result;
}

}  // namespace tern::fuzz
