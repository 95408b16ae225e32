// SPDX-License-Identifier: Apache-2.0
#include "test/onnx/node_cases.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "tern/compile_model.h"
#include "tern/ffi/error.h"
#include "tern/ffi/text.h"
#include "tern/frontend/onnx/import.h"
#include "tern/frontend/onnx/reader.h"
#include "tern/graph/function.h"
#include "tools/tern/read_proto.h"

namespace tern::test {
namespace {

namespace fs = std::filesystem;
namespace onnx = frontend::onnx;
using runtime::Tensor;

bool IsRandom(const onnx::Node& node) {
  static const std::set<std::string_view> random = {"Bernoulli",     "Multinomial",
                                                    "RandomNormal",  "RandomNormalLike",
                                                    "RandomUniform", "RandomUniformLike"};
  if (random.contains(node.op_type)) return true;
  // In training mode.
  return node.op_type == "Dropout" && node.inputs.size() > 2;
}

// Which inputs are made constants, in the order in which it is tried.
enum class Bind { kNone, kIntegers, kOthers, kAll };

bool IsBound(Bind bind, size_t input, const onnx::Tensor& tensor) {
  if (!onnx::DataTypeOf(tensor.type)) return true;  // strings, and codes of few bits
  bool integer = tensor.type == onnx::ElemType::kInt64 || tensor.type == onnx::ElemType::kInt32;
  switch (bind) {
    case Bind::kNone:
      return false;
    case Bind::kIntegers:
      return input > 0 && integer && tensor.dims.size() < 2;
    case Bind::kOthers:
      return input > 0;
    case Bind::kAll:
      return true;
  }
  return false;
}

struct Recorded {
  std::vector<std::string> names;  // of tensors: x, or x[0], x[1], ... of a sequence
  std::vector<onnx::Tensor> tensors;
  std::vector<std::optional<std::vector<int64_t>>> shapes;  // where they are not the tensors'
  std::map<std::string, int64_t> lengths;  // of sequences; 0 of an optional without an element
};

bool IsSequence(const onnx::Type& type) {
  return type.kind == onnx::Type::Kind::kSequence ||
         (type.kind == onnx::Type::Kind::kOptional && type.element && IsSequence(*type.element));
}

// Old data have bfloat16 as uint16, and one element where only the type is read (CastLike).
std::optional<std::vector<onnx::Tensor>> ReadRecorded(const fs::path& file,
                                                      const onnx::ValueInfo& info) {
  std::optional<std::vector<onnx::Tensor>> tensors = onnx::ReadTensors(file.string(), info.type);
  if (!tensors) return {};
  for (onnx::Tensor& tensor : *tensors)
    if (info.type.elem == onnx::ElemType::kBfloat16 && tensor.type == onnx::ElemType::kUInt16)
      tensor.type = onnx::ElemType::kBfloat16;
  return tensors;
}

// The tensor of the declared shape, in each element of which the recorded one is.
std::optional<std::vector<int64_t>> DeclaredShape(const onnx::ValueInfo& info,
                                                  const onnx::Tensor& tensor) {
  if (!info.type.shape || info.type.shape->size() <= tensor.dims.size()) return {};
  std::vector<int64_t> shape;
  for (const onnx::Dim& dim : *info.type.shape) {
    if (!dim.is_known()) return {};
    shape.push_back(dim.value);
  }
  return tensor.NumElements() == 1 ? std::optional(shape) : std::nullopt;
}

// A row of bytes for each string, as long as the longest.
Tensor StringBytes(const onnx::Tensor& proto) {
  std::vector<std::string_view> strings = proto.Strings();
  size_t width = 1;
  for (std::string_view text : strings) width = std::max(width, text.size());
  std::vector<int64_t> shape = proto.dims;
  shape.push_back(static_cast<int64_t>(width));
  Tensor tensor = Tensor::Empty(shape, DataType::UInt(8));
  auto* bytes = static_cast<char*>(tensor->data());
  std::fill_n(bytes, strings.size() * width, '\0');
  for (size_t i = 0; i < strings.size(); ++i)
    std::copy(strings[i].begin(), strings[i].end(), bytes + i * width);
  return tensor;
}

Tensor ExpectedOf(const onnx::Tensor& proto, const std::string& name) {
  return proto.type == onnx::ElemType::kString ? StringBytes(proto) : tools::TensorOf(proto, name);
}

Tensor Filled(const Tensor& one, const std::vector<int64_t>& shape) {
  Tensor all = Tensor::Empty(shape, one->dtype());
  for (int64_t i = 0; i < all->num_elements(); ++i)
    runtime::SetElement(all, i, runtime::GetElement(one, 0));
  return all;
}

Recorded ReadInputs(const onnx::Model& model, const fs::path& folder) {
  Recorded inputs;
  std::set<std::string_view> initialized;
  for (const onnx::Tensor& tensor : model.graph.initializers) initialized.insert(tensor.name);
  size_t number = 0;
  for (const onnx::ValueInfo& input : model.graph.inputs) {
    if (initialized.contains(input.name)) continue;
    std::string name(input.name);
    fs::path file = folder / ("input_" + std::to_string(number++) + ".pb");
    std::optional<std::vector<onnx::Tensor>> tensors = ReadRecorded(file, input);
    if (!tensors) {
      inputs.lengths[name] = 0;
      continue;
    }
    bool is_sequence = IsSequence(input.type);
    if (is_sequence) inputs.lengths[name] = static_cast<int64_t>(tensors->size());
    for (size_t i = 0; i < tensors->size(); ++i) {
      inputs.names.push_back(is_sequence ? name + "[" + std::to_string(i) + "]" : name);
      inputs.tensors.push_back((*tensors)[i]);
      inputs.shapes.push_back(DeclaredShape(input, inputs.tensors.back()));
    }
  }
  return inputs;
}

graph::LoweredModel Lowered(const onnx::Model& model, const Recorded& inputs, Bind bind,
                            const target::Target& target, NodeCase* one) {
  onnx::ImportOptions options;
  options.dims = inputs.lengths;
  one->inputs.clear();
  one->bound = false;
  for (size_t i = 0; i < inputs.names.size(); ++i) {
    const onnx::Tensor& tensor = inputs.tensors[i];
    if (IsBound(bind, i, tensor)) {
      options.constants[inputs.names[i]] = tensor;
      one->bound = true;
    } else {
      Tensor given = tools::TensorOf(tensor, inputs.names[i]);
      if (inputs.shapes[i]) given = Filled(given, *inputs.shapes[i]);
      options.input_shapes[inputs.names[i]] = given->shape();
      one->inputs.push_back(given);
    }
  }
  ModelOptions compile;
  return LowerModel(onnx::Import(model, options), target, compile);
}

std::string Text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

// "" where they agree.
std::string Difference(const Tensor& actual, const Tensor& expected, const NodeCase& one) {
  if (actual->dtype() != expected->dtype())
    return "is " + actual->dtype().str() + ", not " + expected->dtype().str();
  if (actual->shape() != expected->shape())
    return "has the shape " + ffi::ShapeText(actual->shape()) + ", not " +
           ffi::ShapeText(expected->shape());
  if (one.is_random) return "";
  bool exact = !actual->dtype().is_float();
  int64_t wrong = 0;
  std::string first;
  for (int64_t i = 0; i < actual->num_elements(); ++i) {
    double a = GetElement(actual, i), e = GetElement(expected, i);
    bool same = a == e || (std::isnan(a) && std::isnan(e)) ||
                (!exact && std::abs(a - e) <= one.absolute + one.relative * std::abs(e));
    if (!same && wrong++ == 0)
      first = "element " + std::to_string(i) + " is " + Text(a) + ", not " + Text(e);
  }
  if (wrong == 0) return "";
  return std::to_string(wrong) + " of " + std::to_string(actual->num_elements()) +
         " elements differ: " + first;
}

}  // namespace

std::vector<NodeCase> FindNodeCases(const std::string& folder) {
  std::vector<NodeCase> cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (fs::exists(entry.path() / "model.onnx"))
      cases.push_back({.name = entry.path().filename().string()});
  std::sort(cases.begin(), cases.end(),
            [](const NodeCase& a, const NodeCase& b) { return a.name < b.name; });
  TERN_CHECK(!cases.empty()) << folder << " has no folders with a model.onnx";
  return cases;
}

void PrepareNodeCase(const std::string& folder, const target::Target& target, bool bind_some,
                     NodeCase* one) {
  fs::path path = fs::path(folder) / one->name;
  onnx::Model model = onnx::ReadModel((path / "model.onnx").string());
  if (model.graph.nodes.size() == 1) one->op = std::string(model.graph.nodes[0].op_type);
  one->is_random = std::any_of(model.graph.nodes.begin(), model.graph.nodes.end(), IsRandom);
  if (std::ifstream tolerance(path / "tolerance"); tolerance)
    tolerance >> one->relative >> one->absolute;
  path /= "test_data_set_0";
  bool has_data = fs::exists(path);
  Recorded inputs = has_data ? ReadInputs(model, path) : Recorded{};
  one->outputs.clear();
  for (size_t i = 0; has_data && i < model.graph.outputs.size(); ++i) {
    const onnx::ValueInfo& output = model.graph.outputs[i];
    fs::path file = path / ("output_" + std::to_string(i) + ".pb");
    std::optional<std::vector<onnx::Tensor>> tensors = ReadRecorded(file, output);
    if (!tensors) continue;
    for (const onnx::Tensor& tensor : *tensors)
      one->outputs.push_back(ExpectedOf(tensor, file.string()));
  }
  for (Bind bind : {Bind::kNone, Bind::kIntegers, Bind::kOthers, Bind::kAll}) {
    if (bind_some && bind == Bind::kNone) continue;
    try {
      one->lowered = Lowered(model, inputs, bind, target, one);
      return;
    } catch (const Error& error) {
      bool unknown = error.message().find("has to be known when compiling") != std::string::npos ||
                     error.message().find("has to be a constant") != std::string::npos;
      if (!unknown || bind == Bind::kAll) throw;
    }
  }
}

void CompareOutputs(const std::vector<Tensor>& actual, NodeCase* one) {
  one->status = NodeCase::Status::kWrong;
  if (actual.size() != one->outputs.size()) {
    one->reason = "it has " + std::to_string(actual.size()) + " outputs, not " +
                  std::to_string(one->outputs.size());
    return;
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    std::string difference = Difference(actual[i], one->outputs[i], *one);
    if (difference.empty()) continue;
    one->reason = "output " + std::to_string(i) + " " + difference;
    return;
  }
  one->status = NodeCase::Status::kPassed;
}

}  // namespace tern::test
