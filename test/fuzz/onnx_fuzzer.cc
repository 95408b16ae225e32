// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are a model or an error, and so they are a tensor; all that was read can be looked at.
#include <cstdint>

#include "tern/ffi/error.h"
#include "tern/frontend/onnx/reader.h"

namespace {

using namespace tern::frontend::onnx;

template <class F>
void Try(F&& read) {
  try {
    read();
  } catch (const tern::Error& error) {
    if (error.kind() != "ValueError") __builtin_trap();
  }
}

void Look(const Tensor& tensor) {
  if (tensor.type == ElemType::kString) {
    if (static_cast<int64_t>(tensor.Strings().size()) != tensor.NumElements()) __builtin_trap();
  } else {
    TensorData data = tensor.Data();
    uint8_t sum = 0;  // of every byte, so that all of them are read
    for (char byte : data.bytes) sum ^= static_cast<uint8_t>(byte);
    bool is_whole = static_cast<int64_t>(data.bytes.size()) == tensor.NumBytes();
    if (!is_whole || (tensor.type == ElemType::kBool && sum > 1)) __builtin_trap();
  }
}

void Look(const Graph& graph);

void Look(const Attribute& attribute) {
  for (const Tensor& tensor : attribute.tensors) Look(tensor);
  for (const Graph& graph : attribute.graphs) Look(graph);
  for (const Type& type : attribute.types) TypeText(type);
}

void Look(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    node.Find("axis");
    for (const Attribute& attribute : node.attributes) Look(attribute);
  }
}

void Look(const Graph& graph) {
  Look(graph.nodes);
  for (const Tensor& tensor : graph.initializers) Look(tensor);
  for (const auto* values : {&graph.inputs, &graph.outputs, &graph.value_infos})
    for (const ValueInfo& value : *values) TypeText(value.type);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Try([&] {
    Model model = ParseModel(bytes);
    Look(model.graph);
    for (const Function& function : model.functions) {
      Look(function.nodes);
      for (const Attribute& attribute : function.default_attributes) Look(attribute);
    }
  });
  Try([&] { Look(ParseTensor(bytes)); });
  return 0;
}
