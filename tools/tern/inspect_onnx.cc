// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "tern/ffi/error.h"
#include "tern/ffi/escape_text.h"
#include "tern/frontend/onnx/reader.h"
#include "tools/tern/inspect.h"

namespace tern::tools {
namespace {

namespace onnx = frontend::onnx;

std::string Text(std::string_view text) { return ffi::Escaped(text); }

// "Conv", "com.microsoft.Gelu"
std::string OperatorOf(const onnx::Node& node) {
  return (node.domain.empty() ? "" : std::string(node.domain) + ".") + std::string(node.op_type);
}

// What there is in a graph and in the graphs inside of it.
struct Totals {
  std::map<std::string, int64_t> operators;
  int64_t nodes = 0, tensors = 0, bytes = 0, external_bytes = 0;

  void Add(const onnx::Tensor& tensor) {
    ++tensors;
    bytes += tensor.NumBytes();
    if (tensor.is_external) external_bytes += tensor.NumBytes();
  }
  void Add(const std::vector<onnx::Node>& more) {
    for (const onnx::Node& node : more) {
      ++nodes;
      ++operators[OperatorOf(node)];
      for (const onnx::Attribute& attribute : node.attributes) {
        for (const onnx::Tensor& tensor : attribute.tensors) Add(tensor);
        for (const onnx::Graph& graph : attribute.graphs) Add(graph);
      }
    }
  }
  void Add(const onnx::Graph& graph) {
    for (const onnx::Tensor& tensor : graph.initializers) Add(tensor);
    Add(graph.nodes);
  }
};

std::string ValueText(const onnx::ValueInfo& value) {
  return std::string(value.name) + ": " + onnx::TypeText(value.type);
}

void PrintInputs(const onnx::Model& model) {
  std::set<std::string_view> given;
  for (const onnx::Tensor& tensor : model.graph.initializers) given.insert(tensor.name);
  for (const onnx::ValueInfo& input : model.graph.inputs) {
    bool has_default = given.contains(input.name);
    // Before IR version 4 all weights are inputs, and constant.
    if (has_default && model.ir_version < 4) continue;
    PrintLine("input", ValueText(input) + (has_default ? " (has a default)" : ""));
  }
}

void PrintSummary(const onnx::Model& model) {
  std::printf("%s: ONNX model of IR version %lld", model.path.c_str(),
              static_cast<long long>(model.ir_version));
  if (!model.producer_name.empty()) std::printf(", made by %s", Text(model.producer_name).c_str());
  if (!model.producer_version.empty()) std::printf(" %s", Text(model.producer_version).c_str());
  std::printf("\n");
  for (const onnx::OpsetId& opset : model.opsets)
    PrintLine("opset", std::string(opset.domain.empty() ? "ai.onnx" : opset.domain) + " " +
                           std::to_string(opset.version));
  for (const onnx::Metadata& entry : model.metadata)
    PrintLine("metadata", std::string(entry.key) + ": " + std::string(entry.value));
  PrintLine("graph", std::string(model.graph.name));
  PrintInputs(model);
  for (const onnx::ValueInfo& output : model.graph.outputs) PrintLine("output", ValueText(output));

  Totals totals;
  totals.Add(model.graph);
  for (const onnx::Function& function : model.functions) {
    PrintLine("function", (function.domain.empty() ? "" : std::string(function.domain) + ".") +
                              std::string(function.name) + ": " +
                              std::to_string(function.nodes.size()) + " nodes");
    totals.Add(function.nodes);
  }
  PrintLine("weights",
            std::to_string(totals.tensors) + " tensors, " + std::to_string(totals.bytes) +
                " bytes" +
                (totals.external_bytes > 0
                     ? ", of which " + std::to_string(totals.external_bytes) + " in other files"
                     : ""));
  PrintLine("nodes", std::to_string(totals.nodes));
  std::vector<std::pair<std::string, int64_t>> by_count(totals.operators.begin(),
                                                        totals.operators.end());
  std::stable_sort(by_count.begin(), by_count.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, count] : by_count)
    std::printf("%10lld %s\n", static_cast<long long>(count), Text(name).c_str());
}

std::string Joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::string_view name : names)
    text += (text.empty() ? "" : ", ") + (name.empty() ? "_" : Text(name));
  return text;
}

template <class T, class F>
std::string List(const std::vector<T>& values, F&& text_of) {
  constexpr size_t kMost = 16;
  std::string text;
  for (size_t i = 0; i < values.size() && i < kMost; ++i)
    text += (i == 0 ? "" : ", ") + text_of(values[i]);
  return "[" + text + (values.size() > kMost ? ", ... of " + std::to_string(values.size()) : "") +
         "]";
}

std::string FloatText(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string StringText(std::string_view text) {
  constexpr size_t kMost = 64;
  return "\"" + Text(text.substr(0, kMost)) + (text.size() > kMost ? "...\"" : "\"");
}

// "float[2, 3]"
std::string TensorText(const onnx::Tensor& tensor) {
  std::string dims;
  for (int64_t dim : tensor.dims) dims += (dims.empty() ? "" : ", ") + std::to_string(dim);
  return NameOf(tensor.type) + "[" + dims + "]";
}

std::string AttributeText(const onnx::Attribute& attribute) {
  if (!attribute.ref_attr_name.empty()) return "@" + Text(attribute.ref_attr_name);
  using Kind = onnx::Attribute::Kind;
  switch (attribute.kind) {
    case Kind::kFloat:
      return FloatText(attribute.f);
    case Kind::kInt:
      return std::to_string(attribute.i);
    case Kind::kString:
      return StringText(attribute.s);
    case Kind::kFloats:
      return List(attribute.floats, FloatText);
    case Kind::kInts:
      return List(attribute.ints, [](int64_t value) { return std::to_string(value); });
    case Kind::kStrings:
      return List(attribute.strings, StringText);
    case Kind::kTensor:
      return TensorText(attribute.tensors[0]);
    case Kind::kTensors:
      return List(attribute.tensors, TensorText);
    case Kind::kType:
      return onnx::TypeText(attribute.types[0]);
    case Kind::kTypes:
      return List(attribute.types, onnx::TypeText);
    default:
      return onnx::NameOf(attribute.kind);  // graphs are printed below the node
  }
}

// y = Conv(x, w) {pads = [1, 1, 1, 1]}  # name
void PrintNodes(const std::vector<onnx::Node>& nodes, int indent) {
  for (const onnx::Node& node : nodes) {
    std::string attributes;
    for (const onnx::Attribute& attribute : node.attributes)
      attributes += (attributes.empty() ? "" : ", ") + Text(attribute.name) + " = " +
                    AttributeText(attribute);
    std::printf("%*s%s = %s(%s)", indent, "", Joined(node.outputs).c_str(),
                Text(OperatorOf(node)).c_str(), Joined(node.inputs).c_str());
    if (!attributes.empty()) std::printf(" {%s}", attributes.c_str());
    std::printf(node.name.empty() ? "\n" : "  # %s\n", Text(node.name).c_str());
    for (const onnx::Attribute& attribute : node.attributes)
      for (const onnx::Graph& graph : attribute.graphs) {
        std::printf("%*s%s:\n", indent + 2, "", Text(attribute.name).c_str());
        PrintNodes(graph.nodes, indent + 4);
      }
  }
}

}  // namespace

void InspectOnnx(const InspectOptions& options) {
  TERN_CHECK(options.format.empty() || options.format == "nodes")
      << options.input << " is an ONNX model; of it there is no format '" << options.format
      << "'; expected nodes";
  onnx::Model model = onnx::ReadModel(options.input);
  if (options.format.empty()) {
    PrintSummary(model);
    return;
  }
  PrintNodes(model.graph.nodes, 0);
  for (const onnx::Function& function : model.functions) {
    std::printf("function %s(%s) -> %s:\n", Text(function.name).c_str(),
                Joined(function.inputs).c_str(), Joined(function.outputs).c_str());
    PrintNodes(function.nodes, 2);
  }
}

}  // namespace tern::tools
