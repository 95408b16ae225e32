// SPDX-License-Identifier: Apache-2.0
//
// How nodes of ONNX become nodes of graphs. An operator whose name, inputs and attributes are ours
// is a row of a table; one that is written in another way, or was in an older opset, has a
// function.
#ifndef TERN_FRONTEND_ONNX_CONVERTERS_H_
#define TERN_FRONTEND_ONNX_CONVERTERS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tern/frontend/onnx/model.h"
#include "tern/graph/builder.h"

namespace tern::frontend::onnx {

// One node while it is converted.
class NodeContext {
 public:
  NodeContext(graph::Builder* builder, const Node& node, int64_t opset,
              std::vector<graph::Value> inputs, const std::set<std::string_view>& reads,
              const std::string& file_name)
      : builder_(*builder),
        node_(node),
        opset_(opset),
        inputs_(std::move(inputs)),
        reads_(reads),
        file_name_(file_name) {}

  graph::Builder& builder() { return builder_; }
  const Node& node() const { return node_; }
  int64_t opset() const { return opset_; }
  const std::string& file_name() const { return file_name_; }  // of the model, for the text form

  // Null where it is absent.
  graph::Value input(size_t i) const { return i < inputs_.size() ? inputs_[i] : graph::Value(); }
  const std::vector<graph::Value>& inputs() const { return inputs_; }
  // Of an input that has to be there; throws where it is absent.
  const graph::TensorType& InputType(size_t i) const;
  // Whether somebody reads the output.
  bool wants_output(size_t i) const {
    return i < node_.outputs.size() && reads_.contains(node_.outputs[i]);
  }

  // ---- Attributes
  bool Has(std::string_view name) const { return node_.Find(name) != nullptr; }
  int64_t Int(std::string_view name, int64_t otherwise) const;
  double Float(std::string_view name, double otherwise) const;
  std::string String(std::string_view name, std::string otherwise) const;
  std::optional<std::vector<int64_t>> Ints(std::string_view name) const;
  // Those that the operator of ours has; throws where there are others that matter.
  ir::Attrs AttrsFor(const graph::Op& op) const;

  // ---- Results
  // The node itself: its outputs get the names that the model gives.
  std::vector<graph::Value> Emit(const char* op, std::vector<graph::Value> inputs,
                                 ir::Attrs attrs = {});
  // The node as an operator of ours with the same inputs and attributes.
  std::vector<graph::Value> EmitSame(const char* op);
  // A vector of numbers.
  graph::Value Floats(const std::vector<float>& elements, const std::string& wish);
  // Something on the way.
  graph::Value Part(const char* op, std::vector<graph::Value> inputs, ir::Attrs attrs = {});
  // The label of the node, and the names of its outputs.
  graph::Builder::Options Options() const;
  // Before opset 7 axes of the second input stood for those from `axis` on, or the last ones.
  graph::Value AlignedBefore7(size_t i, int64_t axis) const;

 private:
  graph::Builder& builder_;
  const Node& node_;
  int64_t opset_;
  std::vector<graph::Value> inputs_;
  const std::set<std::string_view>& reads_;
  const std::string& file_name_;
};

// A tensor of the model as a constant, under a name that is free. It stays in the mapped file.
graph::Value ConstantOf(graph::Builder* builder, const Tensor& tensor, std::string_view wish,
                        const std::string& file_name);

// Null where the operator is not supported.
using Converter = std::vector<graph::Value> (*)(NodeContext&);
struct ConverterEntry {
  // One of both: an operator of ours with the same inputs and attributes, or a function.
  const char* same = nullptr;
  Converter convert = nullptr;
  explicit operator bool() const { return same || convert; }
};
ConverterEntry FindConverter(std::string_view domain, std::string_view op_type);
// The domains that there are converters for; "" is ONNX's own.
std::vector<std::string_view> SupportedDomains();
// The operators of a domain that there are converters for.
std::vector<std::string_view> SupportedOperators(std::string_view domain = "");

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_CONVERTERS_H_
