// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/random_kernel.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <regex>

#include "tern/ffi/text.h"
#include "test/fuzz/random.h"

namespace tern::fuzz {
namespace {

// Instances of blocks that the interpreter runs in some milliseconds.
constexpr int64_t kMostInstances = 20000;
constexpr int64_t kMostExtent = 40;
// Beyond this, sums of products could overflow an int32.
constexpr double kMostInteger = 1 << 29;

using Texts = std::vector<std::string>;

// A number, or an expression of dynamic extents and its value at the call.
struct Extent {
  std::string text;
  int64_t value = 0;
  bool is_static() const { return text == std::to_string(value); }
};
Extent Static(int64_t value) { return {std::to_string(value), value}; }

struct Array {
  std::string name, dtype;
  std::vector<Extent> shape;
  double magnitude = 1;  // of floats about; of integers at most
  size_t rank() const { return shape.size(); }
  bool is_float() const { return dtype.find("float") != std::string::npos; }
  int64_t size() const {
    int64_t size = 1;
    for (const Extent& extent : shape) size *= extent.value;
    return size;
  }
};

struct Axis {
  std::string var;  // of the block; its loop is "i_" + var
  Extent extent;
  bool reduces = false, scans = false;
};

// How one spatial dimension is seen through the windows of a convolution or pooling.
struct Window {
  Extent size;
  int64_t stride = 1, dilation = 1, padding = 0;
  Extent out;
};

bool IsFloat(const std::string& dtype) { return dtype.find("float") != std::string::npos; }

std::string At(const Array& array, const Texts& indices) {
  return array.name + "[" + ffi::Join(indices) + "]";
}

Texts VarsOf(const std::vector<Axis>& axes) {
  Texts vars;
  for (const Axis& axis : axes) vars.push_back(axis.var);
  return vars;
}

// The least value of a type, from which maxima start; with `most`, the largest.
std::string EndOf(const std::string& dtype, bool most) {
  if (IsFloat(dtype)) return most ? "inf" : "-inf";
  if (dtype == "int8") return most ? "127" : "-128";
  return most ? "2147483647" : "-2147483648";
}

class KernelWriter {
 public:
  explicit KernelWriter(uint64_t seed) : random_(seed) {
    kernel_.arguments.seed = seed;
    kernel_.reassociates = random_.OneIn(2);
    dynamic_ = random_.OneIn(3);
    constants_ = random_.OneIn(3);
    budget_ = random_.OneIn(10) ? 4 * kMostInstances : kMostInstances;
  }

  RandomKernel Make() {
    MakeFirst();
    for (int64_t more = random_.Below(4); more > 0; --more) MakeNext();
    if (body_.empty()) Elementwise();
    Finish();
    return std::move(kernel_);
  }

 private:
  // ---- Extents and arrays

  int64_t DrawExtent(int64_t most = kMostExtent) {
    int64_t extent = random_.Below(most + 1);
    if (random_.OneIn(16)) extent = 0;
    if (random_.OneIn(8)) extent = 1;
    if (random_.OneIn(4))
      extent = random_.Pick(std::vector<int64_t>{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37});
    if (random_.OneIn(4)) extent = random_.Pick(std::vector<int64_t>{4, 8, 12, 16, 24, 32, 40});
    return std::min(extent, most);
  }

  // An extent of a new tensor, which names it where it is dynamic.
  Extent Fresh(int64_t value) {
    if (!dynamic_ || random_.OneIn(2)) return Static(value);
    std::string name = "n" + std::to_string(kernel_.arguments.dims.size());
    kernel_.arguments.dims[name] = value;
    return {name, value};
  }

  std::string DrawType() {
    return random_.Pick(
        Texts{"float32", "float32", "float32", "float64", "float16", "bfloat16", "int8", "int32"});
  }
  // Of weights: at times of 4 bits.
  std::string WeightType() {
    if (!random_.OneIn(6)) return current_.dtype;
    Texts types = {"int4", "uint4"};
    if (current_.is_float()) types.push_back("float4_e2m1fn");
    return random_.Pick(types);
  }
  // The type that products or elements are summed in.
  std::string SumType(const std::string& dtype) {
    if (dtype == "float16" || dtype == "bfloat16") return random_.OneIn(3) ? dtype : "float32";
    if (dtype == "int8") return random_.OneIn(4) ? dtype : "int32";
    if (dtype == "float32") return random_.OneIn(12) ? "float64" : dtype;
    return dtype;
  }

  Array Input(const std::string& dtype, const std::vector<Extent>& shape, bool weight = false) {
    Note(dtype);
    Array array{"p" + std::to_string(count_++), dtype, shape,
                IsFloat(dtype)     ? 1.0
                : dtype == "uint4" ? 15.0
                                   : 8.0};
    params_.push_back(Declare(array));
    if (weight && constants_) constant_names_.push_back("\"" + array.name + "\"");
    return array;
  }
  Array Result(const std::string& dtype, const std::vector<Extent>& shape) {
    Note(dtype);
    Array array{"t" + std::to_string(count_++), dtype, shape};
    // Some of what is computed on the way goes out too.
    results_.push_back({array, random_.OneIn(10)});
    return array;
  }
  static std::string Declare(const Array& array) {
    Texts shape;
    for (const Extent& extent : array.shape) shape.push_back(extent.text);
    return array.name + ": " + array.dtype + "[" + ffi::Join(shape) + "]";
  }
  // Every rounding of the coarsest type may show.
  void Note(const std::string& dtype) {
    double rounding = dtype == "bfloat16"  ? 2e-2
                      : dtype == "float16" ? 2e-3
                      : dtype == "float32" ? 1e-5
                      : dtype == "float64" ? 1e-12
                                           : 0;
    rounding_ = std::max(rounding_, rounding);
  }

  // ---- Blocks

  std::vector<Axis> AxesOf(const std::vector<Extent>& shape) {
    std::vector<Axis> axes;
    for (size_t d = 0; d < shape.size(); ++d) axes.push_back({"v" + std::to_string(d), shape[d]});
    return axes;
  }

  static int64_t InstancesOf(const std::vector<Axis>& axes) {
    int64_t instances = 1;
    for (const Axis& axis : axes) instances *= axis.extent.value;
    return instances;
  }

  void Block(const std::string& name, std::vector<Axis> axes, const std::string& init,
             const std::string& statement) {
    budget_ -= InstancesOf(axes);
    Texts declared;
    for (const Axis& axis : axes)
      declared.push_back(axis.var + ": " +
                         (axis.reduces ? "reduce("
                          : axis.scans ? "scan("
                                       : "spatial(") +
                         axis.extent.text + ") = i_" + axis.var);
    // Loops may be in another order than axes.
    if (random_.OneIn(12))
      for (size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[random_.Below(i)]);
    Texts loops;
    for (const Axis& axis : axes) loops.push_back("i_" + axis.var + " in 0.." + axis.extent.text);
    body_ += "  for " + ffi::Join(loops) + " {\n    block " + name + std::to_string(count_++) +
             "(" + ffi::Join(declared) + ") {\n";
    if (!init.empty()) body_ += "      init {\n        " + init + "\n      }\n";
    body_ += "      " + statement + "\n    }\n  }\n";
  }

  // The sum of `value` along the axes that reduce; with op "max" or "min", that of them.
  void Reduce(const std::string& name, const Array& result, const Texts& at,
              const std::vector<Axis>& axes, const std::string& op, const std::string& value) {
    int64_t steps = 1;
    for (const Axis& axis : axes)
      if (axis.reduces) steps *= axis.extent.value;
    most_steps_ = std::max(most_steps_, steps);
    std::string element = At(result, at);
    bool sum = op == "+";
    std::string start = sum ? "0" : EndOf(result.dtype, op == "min");
    Block(name, axes, element + " = " + start,
          element + " = " +
              (sum ? element + " + " + value : op + "(" + element + ", " + value + ")"));
  }

  std::string Convert(const std::string& value, const std::string& from, const std::string& to) {
    return from == to ? value : to + "(" + value + ")";
  }

  // ---- Stages: each makes another tensor of the current one

  void MakeFirst() {
    if (random_.OneIn(6)) {
      switch (random_.Below(5)) {
        case 0:
          return MakeAny(), Scan();
        case 1:
          return MakeAny(), Gather();
        case 2:
          return MakeAny(), ScatterAdd();
        case 3:
          return MakeMatrix(), Gram();
        default:
          return MakeAny(), ArgMax();
      }
    }
    switch (random_.Below(8)) {
      case 0:
      case 1:
        return MakeImage(), Convolution();
      case 2:
        return MakeImage(), Pooling();
      case 3:
      case 4:
        return MakeMatrix(), Matmul();
      case 5:
        return MakeAny(), Reduction();
      case 6:
        return MakeMatrix(), Softmax();
      default:
        return MakeMatrix(), Normalization();
    }
  }

  void MakeNext() {
    Tame();
    switch (random_.Below(20)) {
      case 19:
        return Scan();
      case 18:
        return Gather();
      case 17:
        return ScatterAdd();
      case 16:
        return Gram();
      case 0:
        return Convolution();
      case 1:
        return Pooling();
      case 2:
        return Matmul();
      case 3:
      case 4:
        return Reduction();
      case 5:
        return Softmax();
      case 6:
        return Normalization();
      case 7:
        return Move();
      default:
        return Elementwise();
    }
  }

  // Values stay small, so that nothing overflows and errors are relative to about one.
  void Tame() {
    if (!current_.is_float() && current_.dtype != "int8" && current_.magnitude > 256)
      Map("clamp", "max(min(x, 7), -8)", 8);
    if (current_.is_float() && current_.magnitude > 16) {
      double scale = std::exp2(-std::round(std::log2(current_.magnitude)));
      char text[32];
      std::snprintf(text, sizeof text, "%.10f", scale);
      Map("scale", std::string("x * ") + text, 1);
    }
  }

  void MakeImage() {
    channels_last_ = random_.OneIn(3);
    auto spatial = static_cast<size_t>(random_.Between(1, 4));
    std::vector<int64_t> sizes = {random_.OneIn(2) ? 1 : DrawExtent(3), DrawExtent()};
    for (size_t d = 0; d < spatial; ++d) sizes.push_back(DrawExtent());
    Shrink(&sizes, 4000);
    std::vector<Extent> shape;
    for (int64_t size : sizes) shape.push_back(Fresh(size));
    if (channels_last_) std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
    MakeInput(shape);
  }
  void MakeMatrix() {
    std::vector<int64_t> sizes = {DrawExtent(), DrawExtent(random_.OneIn(4) ? 300 : 40)};
    if (random_.OneIn(3)) sizes.insert(sizes.begin(), DrawExtent(5));
    if (random_.OneIn(6)) sizes.insert(sizes.begin(), DrawExtent(5));
    Shrink(&sizes, 4000);
    std::vector<Extent> shape;
    for (int64_t size : sizes) shape.push_back(Fresh(size));
    MakeInput(shape);
  }
  void MakeAny() {
    std::vector<int64_t> sizes;
    for (int64_t d = random_.Between(1, 4); d > 0; --d) sizes.push_back(DrawExtent());
    if (sizes.size() == 1 && random_.OneIn(2)) sizes[0] = random_.Between(1, 10000);
    Shrink(&sizes, 10000);
    std::vector<Extent> shape;
    for (int64_t size : sizes) shape.push_back(Fresh(size));
    MakeInput(shape);
  }
  void MakeInput(const std::vector<Extent>& shape) {
    current_ = Input(DrawType(), shape);
    for (int64_t i = random_.OneIn(3) ? random_.Between(1, 2) : 0; i > 0; --i) Elementwise();
  }
  // The largest are halved until there are no more elements than so many.
  static void Shrink(std::vector<int64_t>* sizes, int64_t most) {
    auto product = [&] {
      int64_t product = 1;
      for (int64_t size : *sizes) product *= std::max<int64_t>(size, 1);
      return product;
    };
    while (product() > most) {
      int64_t& largest = *std::max_element(sizes->begin(), sizes->end());
      largest = (largest + 1) / 2;
    }
  }

  // A block of the current tensor alone, of any expression of `x`, its element.
  void Map(const std::string& name, const std::string& value, double magnitude,
           std::string dtype = "") {
    if (dtype.empty()) dtype = current_.dtype;
    std::vector<Axis> axes = AxesOf(current_.shape);
    Array result = current_;
    bool in_place = dtype == current_.dtype && current_.name[0] == 't' && random_.OneIn(8);
    if (!in_place) result = Result(dtype, current_.shape);
    Block(name, axes, "",
          "let x = " + At(current_, VarsOf(axes)) + "\n      " + At(result, VarsOf(axes)) + " = " +
              value);
    result.magnitude = magnitude;
    current_ = result;
  }

  void Elementwise() {
    if (current_.size() > budget_) return;
    double m = current_.magnitude;
    if (random_.OneIn(3)) return AddTensor();
    if (random_.OneIn(5)) return ConvertType();
    if (!current_.is_float()) {
      if (current_.dtype != "int8" && m > kMostInteger / 8) return Map("clamp", "min(x, 7)", m);
      return random_.OneIn(2) ? Map("relu", "max(x, 0)", m) : Map("twice", "x + x + 1", 2 * m + 1);
    }
    switch (random_.Below(8)) {
      case 0:
        return Map("relu", "max(x, 0)", m);
      case 1:
        return Map("half", "x * 0.5 + 1", m / 2 + 1);
      case 2:
        return Map("third", "x / 3", m / 3);
      case 3:
        return Map("leaky", "select(x > 0, x, x * 0.125)", m);
      case 4:
        return Map("clip", "max(min(x, 1), -1)", 1);
      case 5:
        kernel_.calls_math = true;
        return Map("sigmoid", "sigmoid(x)", 1);
      case 6:
        kernel_.calls_math = true;
        return Map("gelu", "x * 0.5 * (1 + erf(x * 0.70710678))", m);
      default:
        kernel_.calls_math = true;
        return Map("tanh", "tanh(x)", 1);
    }
  }

  // A bias along some axes, or a tensor of the same shape.
  void AddTensor() {
    std::vector<Axis> axes = AxesOf(current_.shape), some;
    for (const Axis& axis : axes)
      if (random_.OneIn(2)) some.push_back(axis);
    if (random_.OneIn(3)) some = axes;
    if (some.empty()) some = {axes[random_.Below(static_cast<int64_t>(axes.size()))]};
    std::vector<Extent> shape;
    for (const Axis& axis : some) shape.push_back(axis.extent);
    if (!Known(shape)) return Map("shift", "x + 1", current_.magnitude + 1);
    Array other = Input(current_.dtype, shape, true);
    bool times = current_.is_float() && random_.OneIn(3);
    Map("add", "x " + std::string(times ? "* " : "+ ") + At(other, VarsOf(some)),
        times ? current_.magnitude : current_.magnitude + other.magnitude);
  }

  void ConvertType() {
    std::string to = DrawType();
    // What is computed in another order may round to another integer.
    if (current_.is_float() && !IsFloat(to)) to = "float32";
    if (to == "int8" && current_.dtype != "int8")
      return Map("convert", "int8(max(min(x, 100), -100))", 100, to);
    Map("convert", Convert("x", current_.dtype, to), current_.magnitude, to);
  }

  // A permutation of the dimensions, or a part, or with a border.
  void Move() {
    if (current_.size() > budget_) return;
    std::vector<Extent> shape = current_.shape;
    std::vector<size_t> order(shape.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
    std::vector<Extent> permuted;
    for (size_t d : order) permuted.push_back(shape[d]);
    std::vector<Axis> axes = AxesOf(permuted);
    Texts from(shape.size());
    for (size_t d = 0; d < order.size(); ++d) from[order[d]] = axes[d].var;
    Array result = Result(current_.dtype, permuted);
    result.magnitude = current_.magnitude;
    Block("transpose", axes, "", At(result, VarsOf(axes)) + " = " + At(current_, from));
    current_ = result;
  }

  // ---- Windows

  Window DrawWindow(const Extent& in) {
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

  // Which dimensions windows slide along; none where the current tensor has none.
  std::vector<size_t> SpatialDims() const {
    std::vector<size_t> dims;
    if (current_.rank() < 3) return dims;
    for (size_t d = 1; d < current_.rank(); ++d)
      if (d != ChannelDim()) dims.push_back(d);
    return dims;
  }
  size_t ChannelDim() const { return channels_last_ ? current_.rank() - 1 : 1; }

  // Axes of output pixels and of windows, and how they index the input.
  struct Windows {
    std::vector<Axis> pixels, steps;
    Texts indices;       // of the input's spatial dimensions
    std::string inside;  // "" without a border
  };
  Windows DrawWindows(const std::vector<size_t>& dims) {
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

  // The current tensor's element at batch, channel and window; `border` outside of it.
  std::string Element(const Windows& windows, const std::vector<size_t>& dims,
                      const std::string& channel, const std::string& border) const {
    Texts indices(current_.rank());
    indices[0] = "b";
    indices[ChannelDim()] = channel;
    for (size_t i = 0; i < dims.size(); ++i) indices[dims[i]] = windows.indices[i];
    std::string element = At(current_, indices);
    return windows.inside.empty()
               ? element
               : "select(" + windows.inside + ", " + element + ", " + border + ")";
  }

  // Batch, channels and pixels in the order of the layout.
  std::vector<Axis> InLayout(const Axis& batch, const Axis& channel,
                             const std::vector<Axis>& pixels) const {
    std::vector<Axis> axes = {batch};
    if (!channels_last_) axes.push_back(channel);
    axes.insert(axes.end(), pixels.begin(), pixels.end());
    if (channels_last_) axes.push_back(channel);
    return axes;
  }
  static std::vector<Extent> ShapeOf(const std::vector<Axis>& axes) {
    std::vector<Extent> shape;
    for (const Axis& axis : axes) shape.push_back(axis.extent);
    return shape;
  }

  // Those of a transposed convolution: outputs that are as many apart as the stride have an input.
  Windows DrawTransposedWindows(const std::vector<size_t>& dims) {
    Windows windows;
    for (size_t i = 0; i < dims.size(); ++i) {
      int64_t in = current_.shape[dims[i]].value, size = random_.Between(1, 4),
              stride = random_.Between(1, 3), padding = random_.Between(0, 2);
      int64_t out = std::max<int64_t>((in - 1) * stride - 2 * padding + size, 0);
      std::string y = "y" + std::to_string(i), k = "k" + std::to_string(i),
                  step = std::to_string(stride);
      std::string at = y + " + " + std::to_string(padding) + " - " + k;
      windows.inside += (windows.inside.empty() ? "(" : " && (") + at + ") % " + step +
                        " == 0 && " + at + " >= 0 && " + at + " < " + std::to_string(in * stride);
      windows.indices.push_back("(" + at + ") // " + step);
      windows.pixels.push_back({y, Static(out)});
      windows.steps.push_back({k, Static(size), true});
    }
    return windows;
  }

  void Convolution() {
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

  // Dynamic extents that no tensor before names alone cannot be those of a new parameter.
  bool Known(const std::vector<Extent>& shape) const {
    return std::all_of(shape.begin(), shape.end(), [&](const Extent& extent) {
      return extent.is_static() || kernel_.arguments.dims.count(extent.text);
    });
  }
  void SetMagnitude(Array* result, int64_t steps, double each) {
    auto count = static_cast<double>(std::max<int64_t>(steps, 1));
    result->magnitude = result->is_float() ? each * std::max(1.0, std::sqrt(count)) : each * count;
    if (result->dtype == "int8") result->magnitude = 128;
  }

  void Pooling() {
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

  // ---- Matmuls and reductions

  // The last two dimensions, in either order, are rows and steps; those before are a batch, or rows
  // too where the other operand has none of them.
  void Matmul() {
    size_t rank = current_.rank();
    if (rank < 2) return Reduction();
    bool transposed = random_.OneIn(4);
    size_t step_dim = transposed ? rank - 2 : rank - 1;
    Extent steps = current_.shape[step_dim];
    std::vector<Axis> axes = AxesOf(current_.shape), left = axes, right, out;
    left[step_dim].reduces = true;
    Axis step = left[step_dim];
    int64_t columns = random_.OneIn(6) ? 1 : DrawExtent();
    int64_t instances = InstancesOf(axes);
    if (instances > budget_) return Elementwise();
    while (columns > 1 && columns * instances > budget_) columns /= 2;
    Axis column{"j", Fresh(columns)};
    bool batched = rank > 2 && !random_.OneIn(3);
    if (batched) right.assign(left.begin(), left.end() - 2);
    bool vector = random_.OneIn(10);  // no columns: a matrix by a vector
    right.push_back(step);
    if (!vector) right.insert(random_.OneIn(3) ? right.end() - 1 : right.end(), column);
    for (const Axis& axis : left)
      if (!axis.reduces) out.push_back(axis);
    if (!vector) out.insert(random_.OneIn(8) ? out.end() - 1 : out.end(), column);
    if (!Known(ShapeOf(right))) return Reduction();
    Array b = Input(WeightType(), ShapeOf(right), true);
    std::string sum = SumType(current_.dtype);
    Array result = Result(sum, ShapeOf(out));
    SetMagnitude(&result, steps.value, current_.magnitude * b.magnitude);
    std::vector<Axis> all = out;
    all.push_back(step);
    Reduce("matmul", result, VarsOf(out), all, "+",
           Convert(At(current_, VarsOf(left)), current_.dtype, sum) + " * " +
               Convert(At(b, VarsOf(right)), b.dtype, sum));
    current_ = result;
  }

  // Of any axes, several or all; where all, into a tensor of one element.
  void Reduction() {
    if (current_.size() > budget_) return;
    std::vector<Axis> axes = AxesOf(current_.shape), out;
    bool all = random_.OneIn(4);
    size_t some = random_.Below(static_cast<int64_t>(axes.size()));
    for (size_t d = 0; d < axes.size(); ++d) {
      axes[d].reduces = all || (random_.OneIn(2) ? d + 1 == axes.size() : d == some);
    }
    for (const Axis& axis : axes)
      if (!axis.reduces) out.push_back(axis);
    if (out.size() == axes.size()) return;
    std::string op = random_.Pick(Texts{"+", "+", "max", "min"});
    std::string dtype = op == "+" ? SumType(current_.dtype) : current_.dtype;
    std::vector<Extent> shape = out.empty() ? std::vector<Extent>{Static(1)} : ShapeOf(out);
    Array result = Result(dtype, shape);
    Texts at = out.empty() ? Texts{"0"} : VarsOf(out);
    std::string value = Convert(At(current_, VarsOf(axes)), current_.dtype, dtype);
    int64_t steps = 1;
    std::vector<Axis> ordered = out;
    for (const Axis& axis : axes)
      if (axis.reduces) ordered.push_back(axis), steps *= axis.extent.value;
    SetMagnitude(&result, op == "+" ? steps : 1, current_.magnitude);
    // As written the loops of a reduction of an outer axis are inside or outside.
    Reduce("reduce", result, at, random_.OneIn(2) ? ordered : axes, op, value);
    current_ = result;
  }

  // Of a matrix with itself: an operand that is read twice.
  void Gram() {
    if (current_.rank() != 2) return Elementwise();
    std::vector<Axis> axes = AxesOf({current_.shape[0], current_.shape[0], current_.shape[1]});
    if (InstancesOf(axes) > budget_) return Elementwise();
    axes[2].reduces = true;
    std::string dtype = SumType(current_.dtype);
    Array result = Result(dtype, {current_.shape[0], current_.shape[0]});
    SetMagnitude(&result, axes[2].extent.value, current_.magnitude * current_.magnitude);
    auto element = [&](const std::string& row) {
      return Convert(At(current_, {row, "v2"}), current_.dtype, dtype);
    };
    Reduce("gram", result, {"v0", "v1"}, axes, "+", element("v0") + " * " + element("v1"));
    current_ = result;
  }

  // ---- Scans, and indices that are data

  size_t DrawDim() { return random_.Below(static_cast<int64_t>(current_.rank())); }

  void Scan() {
    if (current_.size() > budget_) return;
    std::vector<Axis> axes = AxesOf(current_.shape);
    size_t along = random_.OneIn(2) ? axes.size() - 1 : DrawDim();
    axes[along].scans = true;
    bool sum = random_.OneIn(2);
    std::string dtype = sum ? SumType(current_.dtype) : current_.dtype;
    Array result = Result(dtype, current_.shape);
    int64_t steps = axes[along].extent.value;
    if (sum) most_steps_ = std::max(most_steps_, steps);
    SetMagnitude(&result, sum ? steps : 1, current_.magnitude);
    Texts at = VarsOf(axes), before = at;
    before[along] += " - 1";
    std::string x = Convert(At(current_, at), current_.dtype, dtype), y = At(result, at),
                last = At(result, before);
    Block("scan", axes, "",
          "if " + at[along] + " == 0 { " + y + " = " + x + " } else { " + y + " = " +
              (sum ? last + " + " + x : "max(" + last + ", " + x + ")") + " }");
    current_ = result;
  }

  // An element of the index tensor, made an index of the extent.
  static std::string IndexIn(const Array& index, const std::string& at, const Extent& extent) {
    return "int64(" + At(index, {at}) + ") % (" + extent.text + ")";
  }

  // Slices of one dimension, as an index tensor says.
  void Gather() {
    size_t along = DrawDim();
    std::vector<Extent> shape = current_.shape;
    const Extent from = shape[along];
    shape[along] = Fresh(DrawExtent());
    std::vector<Axis> axes = AxesOf(shape);
    if (from.value == 0 || InstancesOf(axes) > budget_) return Elementwise();
    Array index = Input("int32", {shape[along]}), result = Result(current_.dtype, shape);
    result.magnitude = current_.magnitude;
    Texts at = VarsOf(axes), source = at;
    source[along] = IndexIn(index, at[along], from);
    Block("gather", axes, "", At(result, at) + " = " + At(current_, source));
    current_ = result;
  }

  // Adds slices of the first dimension to those of the result that an index tensor says, by loops
  // without a block.
  void ScatterAdd() {
    bool has_atomics = current_.dtype == "int32" || current_.dtype == "float32";
    if (!has_atomics || current_.size() > budget_ || !Known({current_.shape[0]}))
      return Elementwise();
    std::vector<Extent> shape = current_.shape;
    shape[0] = Static(random_.Between(1, 20));
    std::vector<Axis> axes = AxesOf(shape), from = AxesOf(current_.shape);
    Array index = Input("int32", {current_.shape[0]}), result = Result(current_.dtype, shape);
    Block("clear", axes, "", At(result, VarsOf(axes)) + " = 0");
    budget_ -= InstancesOf(from);
    int64_t steps = from[0].extent.value;
    most_steps_ = std::max(most_steps_, steps);
    SetMagnitude(&result, steps, current_.magnitude);
    Texts loops, at = VarsOf(from), to = at;
    for (const Axis& axis : from) loops.push_back(axis.var + " in 0.." + axis.extent.text);
    to[0] = IndexIn(index, at[0], shape[0]);
    body_ += "  for " + ffi::Join(loops) + " {\n    " + At(result, to) + " += " + At(current_, at) +
             "\n  }\n";
    current_ = result;
  }

  // The largest elements and where they are: two results of one reduction. Of what is exact alone:
  // another rounding would make another one the largest.
  void ArgMax() {
    if (current_.size() > budget_) return;
    std::vector<Axis> axes = AxesOf(current_.shape), out;
    axes.back().reduces = true;
    out.assign(axes.begin(), axes.end() - 1);
    std::vector<Extent> shape = out.empty() ? std::vector<Extent>{Static(1)} : ShapeOf(out);
    Texts at = out.empty() ? Texts{"0"} : VarsOf(out);
    Array largest = Result(current_.dtype, shape), place = Result("int32", shape);
    results_.back().second = true;
    std::string x = At(current_, VarsOf(axes)), y = At(largest, at), p = At(place, at);
    std::string start = EndOf(current_.dtype, false);
    Block("argmax", axes, y + " = " + start + "\n        " + p + " = -1",
          "if " + x + " > " + y + " {\n        " + y + " = " + x + "\n        " + p + " = int32(" +
              axes.back().var + ")\n      }");
    largest.magnitude = current_.magnitude;
    current_ = largest;
  }

  // ---- Row chains

  // A row of the current tensor: along its last axis, seldom along another.
  struct Rows {
    std::vector<Axis> axes, rows, reduced;  // reduced: `axes`, of which the row's reduces
  };
  std::optional<Rows> DrawRows() {
    if (current_.rank() < 2 || !current_.is_float() || 4 * current_.size() > budget_) return {};
    Rows rows;
    rows.axes = rows.reduced = AxesOf(current_.shape);
    size_t along = current_.rank() - 1;
    if (random_.OneIn(8)) along = random_.Below(static_cast<int64_t>(current_.rank()));
    for (size_t d = 0; d < rows.axes.size(); ++d)
      if (d != along) rows.rows.push_back(rows.axes[d]);
    rows.reduced[along].reduces = true;
    if (random_.OneIn(2) || along + 1 == current_.rank()) return rows;
    rows.reduced.push_back(rows.reduced[along]);
    rows.reduced.erase(rows.reduced.begin() + static_cast<std::ptrdiff_t>(along));
    return rows;
  }

  void Softmax() {
    std::optional<Rows> rows = DrawRows();
    if (!rows) return Elementwise();
    kernel_.calls_math = true;
    const std::string& dtype = current_.dtype;
    Texts at = VarsOf(rows->axes), row = VarsOf(rows->rows);
    Array largest = Result(dtype, ShapeOf(rows->rows)), powers = Result(dtype, current_.shape),
          total = Result(dtype, ShapeOf(rows->rows));
    Reduce("largest", largest, row, rows->reduced, "max", At(current_, at));
    std::string power = "exp(" + At(current_, at) + " - " + At(largest, row) + ")";
    Block("power", rows->axes, "", At(powers, at) + " = " + power);
    bool again = random_.OneIn(4);  // powers are computed twice
    Reduce("total", total, row, rows->reduced, "+", again ? power : At(powers, at));
    Array result = powers;
    if (random_.OneIn(2)) result = Result(dtype, current_.shape);
    Block("divide", rows->axes, "",
          At(result, at) + " = " + At(powers, at) + " / " + At(total, row));
    result.magnitude = 1;
    current_ = result;
  }

  void Normalization() {
    std::optional<Rows> rows = DrawRows();
    if (!rows) return Elementwise();
    kernel_.calls_math = true;
    std::string dtype = current_.dtype, count;
    for (const Axis& axis : rows->reduced)
      if (axis.reduces)
        count = axis.extent.is_static() ? axis.extent.text + ".0"
                                        : dtype + "(" + axis.extent.text + ")";
    Texts at = VarsOf(rows->axes), row = VarsOf(rows->rows);
    std::string x = At(current_, at), centred = x;
    if (!random_.OneIn(3)) {
      Array mean = Result(dtype, ShapeOf(rows->rows));
      Reduce("mean", mean, row, rows->reduced, "+", x + " / " + count);
      centred = "(" + x + " - " + At(mean, row) + ")";
    }
    Array variance = Result(dtype, ShapeOf(rows->rows)), result = Result(dtype, current_.shape);
    Reduce("variance", variance, row, rows->reduced, "+",
           centred + " * " + centred + " / " + count);
    Block("normalize", rows->axes, "",
          At(result, at) + " = " + centred + " * rsqrt(" + At(variance, row) + " + 0.125)");
    result.magnitude = 2;
    current_ = result;
  }

  // ---- The function

  void Finish() {
    std::string allocations;
    for (const auto& [array, out] : results_) {
      if (out || array.name == current_.name)
        params_.push_back(Declare(array));
      else
        allocations += "  alloc " + Declare(array) + "\n";
    }
    Texts attrs;
    if (kernel_.reassociates) attrs.push_back("reassociate = true");
    if (!constant_names_.empty())
      attrs.push_back("constants = [" + ffi::Join(constant_names_) + "]");
    kernel_.text = "func f(" + ffi::Join(params_) + ")" +
                   (attrs.empty() ? "" : " attrs {" + ffi::Join(attrs) + "}") + " {\n" +
                   allocations + body_ + "}\n";
    std::erase_if(kernel_.arguments.dims, [&](const auto& dim) {
      return !std::regex_search(kernel_.text, std::regex("\\b" + dim.first + "\\b"));
    });
    // As many roundings as there are steps, of numbers of about one.
    double steps = std::max(1.0, static_cast<double>(most_steps_) / 32);
    kernel_.tolerance = rounding_ * (kernel_.reassociates ? 10 : 1) * steps;
  }

  Random random_;
  RandomKernel kernel_;
  bool dynamic_ = false, constants_ = false, channels_last_ = false;
  int64_t budget_ = 0;  // of instances that are left
  int64_t most_steps_ = 1;
  double rounding_ = 0;
  int count_ = 0;  // of names
  Array current_;
  Texts params_, constant_names_;
  std::vector<std::pair<Array, bool>> results_;  // and whether it goes out in any case
  std::string body_;
};

}  // namespace

RandomKernel MakeRandomKernel(uint64_t seed) { return KernelWriter(seed).Make(); }

}  // namespace tern::fuzz
