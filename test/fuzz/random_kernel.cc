// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/random_kernel.h"

#include <algorithm>
#include <cmath>
#include <regex>

#include "test/fuzz/kernel_writer.h"

namespace tern::fuzz {

RandomKernel KernelWriter::Make() {
  MakeFirst();
  for (int64_t more = random_.Below(4); more > 0; --more) MakeNext();
  if (body_.empty()) Elementwise();
  Finish();
  return std::move(kernel_);
}

// ---- Extents and arrays

int64_t KernelWriter::DrawExtent(int64_t most) {
  int64_t extent = random_.Below(most + 1);
  if (random_.OneIn(16)) extent = 0;
  if (random_.OneIn(8)) extent = 1;
  if (random_.OneIn(4))
    extent = random_.Pick(std::vector<int64_t>{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37});
  if (random_.OneIn(4)) extent = random_.Pick(std::vector<int64_t>{4, 8, 12, 16, 24, 32, 40});
  return std::min(extent, most);
}

Extent KernelWriter::Fresh(int64_t value) {
  if (!dynamic_ || random_.OneIn(2)) return Static(value);
  std::string name = "n" + std::to_string(kernel_.arguments.dims.size());
  kernel_.arguments.dims[name] = value;
  return {name, value};
}

std::string KernelWriter::DrawType() {
  return random_.Pick(
      Texts{"float32", "float32", "float32", "float64", "float16", "bfloat16", "int8", "int32"});
}

std::string KernelWriter::WeightType() {
  if (!random_.OneIn(6)) return current_.dtype;
  Texts types = {"int4", "uint4"};
  if (current_.is_float()) types.push_back("float4_e2m1fn");
  return random_.Pick(types);
}

std::string KernelWriter::SumType(const std::string& dtype) {
  if (dtype == "float16" || dtype == "bfloat16") return random_.OneIn(3) ? dtype : "float32";
  if (dtype == "int8") return random_.OneIn(4) ? dtype : "int32";
  if (dtype == "float32") return random_.OneIn(12) ? "float64" : dtype;
  return dtype;
}

Array KernelWriter::Input(const std::string& dtype, const std::vector<Extent>& shape, bool weight) {
  Note(dtype);
  Array array{"p" + std::to_string(count_++), dtype, shape,
              IsFloat(dtype)     ? 1.0
              : dtype == "uint4" ? 15.0
                                 : 8.0};
  params_.push_back(Declare(array));
  if (weight && constants_) constant_names_.push_back("\"" + array.name + "\"");
  return array;
}

Array KernelWriter::Result(const std::string& dtype, const std::vector<Extent>& shape) {
  Note(dtype);
  Array array{"t" + std::to_string(count_++), dtype, shape};
  // Some of what is computed on the way goes out too.
  results_.push_back({array, random_.OneIn(10)});
  return array;
}

std::string KernelWriter::Declare(const Array& array) {
  Texts shape;
  for (const Extent& extent : array.shape) shape.push_back(extent.text);
  return array.name + ": " + array.dtype + "[" + ffi::Join(shape) + "]";
}

void KernelWriter::Note(const std::string& dtype) {
  double rounding = dtype == "bfloat16"  ? 2e-2
                    : dtype == "float16" ? 2e-3
                    : dtype == "float32" ? 1e-5
                    : dtype == "float64" ? 1e-12
                                         : 0;
  rounding_ = std::max(rounding_, rounding);
}

// ---- Blocks

std::vector<Axis> KernelWriter::AxesOf(const std::vector<Extent>& shape) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < shape.size(); ++d) axes.push_back({"v" + std::to_string(d), shape[d]});
  return axes;
}

int64_t KernelWriter::InstancesOf(const std::vector<Axis>& axes) {
  int64_t instances = 1;
  for (const Axis& axis : axes) instances *= axis.extent.value;
  return instances;
}

void KernelWriter::Block(const std::string& name, std::vector<Axis> axes, const std::string& init,
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
  body_ += "  for " + ffi::Join(loops) + " {\n    block " + name + std::to_string(count_++) + "(" +
           ffi::Join(declared) + ") {\n";
  if (!init.empty()) body_ += "      init {\n        " + init + "\n      }\n";
  body_ += "      " + statement + "\n    }\n  }\n";
}

void KernelWriter::Reduce(const std::string& name, const Array& result, const Texts& at,
                          const std::vector<Axis>& axes, const std::string& op,
                          const std::string& value) {
  int64_t steps = 1;
  for (const Axis& axis : axes)
    if (axis.reduces) steps *= axis.extent.value;
  most_steps_ = std::max(most_steps_, steps);
  std::string element = At(result, at);
  bool sum = op == "+";
  std::string start = sum ? "0" : EndOf(result.dtype, op == "min");
  Block(
      name, axes, element + " = " + start,
      element + " = " + (sum ? element + " + " + value : op + "(" + element + ", " + value + ")"));
}

std::string KernelWriter::Convert(const std::string& value, const std::string& from,
                                  const std::string& to) {
  return from == to ? value : to + "(" + value + ")";
}

// ---- Stages

void KernelWriter::MakeFirst() {
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

void KernelWriter::MakeNext() {
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

void KernelWriter::Tame() {
  if (!current_.is_float() && current_.dtype != "int8" && current_.magnitude > 256)
    Map("clamp", "max(min(x, 7), -8)", 8);
  if (current_.is_float() && current_.magnitude > 16) {
    double scale = std::exp2(-std::round(std::log2(current_.magnitude)));
    char text[32];
    std::snprintf(text, sizeof text, "%.10f", scale);
    Map("scale", std::string("x * ") + text, 1);
  }
}

void KernelWriter::MakeImage() {
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

void KernelWriter::MakeMatrix() {
  std::vector<int64_t> sizes = {DrawExtent(), DrawExtent(random_.OneIn(4) ? 300 : 40)};
  if (random_.OneIn(3)) sizes.insert(sizes.begin(), DrawExtent(5));
  if (random_.OneIn(6)) sizes.insert(sizes.begin(), DrawExtent(5));
  Shrink(&sizes, 4000);
  std::vector<Extent> shape;
  for (int64_t size : sizes) shape.push_back(Fresh(size));
  MakeInput(shape);
}

void KernelWriter::MakeAny() {
  std::vector<int64_t> sizes;
  for (int64_t d = random_.Between(1, 4); d > 0; --d) sizes.push_back(DrawExtent());
  if (sizes.size() == 1 && random_.OneIn(2)) sizes[0] = random_.Between(1, 10000);
  Shrink(&sizes, 10000);
  std::vector<Extent> shape;
  for (int64_t size : sizes) shape.push_back(Fresh(size));
  MakeInput(shape);
}

void KernelWriter::MakeInput(const std::vector<Extent>& shape) {
  current_ = Input(DrawType(), shape);
  for (int64_t i = random_.OneIn(3) ? random_.Between(1, 2) : 0; i > 0; --i) Elementwise();
}

void KernelWriter::Shrink(std::vector<int64_t>* sizes, int64_t most) {
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

void KernelWriter::Map(const std::string& name, const std::string& value, double magnitude,
                       std::string dtype) {
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

void KernelWriter::Elementwise() {
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

void KernelWriter::AddTensor() {
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

void KernelWriter::ConvertType() {
  std::string to = DrawType();
  // What is computed in another order may round to another integer.
  if (current_.is_float() && !IsFloat(to)) to = "float32";
  if (to == "int8" && current_.dtype != "int8")
    return Map("convert", "int8(max(min(x, 100), -100))", 100, to);
  Map("convert", Convert("x", current_.dtype, to), current_.magnitude, to);
}

void KernelWriter::Move() {
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

// ---- The function

void KernelWriter::Finish() {
  std::string allocations;
  for (const auto& [array, out] : results_) {
    if (out || array.name == current_.name)
      params_.push_back(Declare(array));
    else
      allocations += "  alloc " + Declare(array) + "\n";
  }
  Texts attrs;
  if (kernel_.reassociates) attrs.push_back("reassociate = true");
  if (!constant_names_.empty()) attrs.push_back("constants = [" + ffi::Join(constant_names_) + "]");
  kernel_.text = "func f(" + ffi::Join(params_) + ")" +
                 (attrs.empty() ? "" : " attrs {" + ffi::Join(attrs) + "}") + " {\n" + allocations +
                 body_ + "}\n";
  std::erase_if(kernel_.arguments.dims, [&](const auto& dim) {
    return !std::regex_search(kernel_.text, std::regex("\\b" + dim.first + "\\b"));
  });
  // As many roundings as there are steps, of numbers of about one.
  double steps = std::max(1.0, static_cast<double>(most_steps_) / 32);
  kernel_.tolerance = rounding_ * (kernel_.reassociates ? 10 : 1) * steps;
}

RandomKernel MakeRandomKernel(uint64_t seed) { return KernelWriter(seed).Make(); }

}  // namespace tern::fuzz
