// SPDX-License-Identifier: Apache-2.0
//
// How nodes of ONNX become nodes of graphs. An operator whose name, inputs and attributes are ours
// is a row of a table; one that is written in another way, or was in an older opset, has a
// function.
#ifndef TERN_FRONTEND_ONNX_CONVERTERS_H_
#define TERN_FRONTEND_ONNX_CONVERTERS_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tern/frontend/onnx/model.h"
#include "tern/graph/builder.h"
#include "tern/graph/control.h"

namespace tern::frontend::onnx {

// A value of a model: a tensor of numbers, a sequence or an optional of values, or strings. How
// many elements a sequence has, whether an optional has one, and what strings are, is known when
// compiling: graphs have tensors alone.
struct Item {
  enum class Kind { kTensor, kSequence, kOptional, kStrings };
  Item() = default;  // an input that is not given
  Item(graph::Value value) : tensor(std::move(value)) {}
  Item(Kind kind, std::vector<Item> elements) : kind(kind), elements(std::move(elements)) {}
  explicit Item(const Tensor* strings) : kind(Kind::kStrings), strings(strings) {}

  Kind kind = Kind::kTensor;
  graph::Value tensor;
  std::vector<Item> elements;       // of an optional: one or none
  const Tensor* strings = nullptr;  // of the model
  // Of a constant of the model: its type there, of which the graph's may be a wider one.
  ElemType elem = ElemType::kUndefined;

  bool is_tensor() const { return kind == Kind::kTensor; }
};
using Items = std::vector<Item>;
Items ItemsOf(const std::vector<graph::Value>& values);
// All tensors of these, in order.
std::vector<graph::Value> Flattened(const Items& items);
// Of the structure of `like`, with these tensors.
Items Structured(const Items& like, const std::vector<graph::Value>& tensors);
bool SameStructure(const Items& a, const Items& b);
// "a sequence of 3", for messages
std::string ItemText(const Item& item);

// What a sequence has depends on something that is not known when compiling. In a loop it may be
// the number of the trip.
class UnknownStructure : public Error {
 public:
  explicit UnknownStructure(std::string message) : Error("ValueError", std::move(message)) {}
};

// The outputs of a graph inside of a node, for these inputs: as a region, or in place of the node
// where that is null.
using ImportInner =
    std::function<Items(const Graph& graph, graph::RegionBuilder* region, const Items& inputs)>;

// One node while it is converted.
class NodeContext {
 public:
  NodeContext(graph::Builder* builder, const Node& node, int64_t opset, Items items,
              const std::set<std::string_view>& reads, const std::string& file_name,
              ImportInner import_inner)
      : builder_(*builder),
        node_(node),
        opset_(opset),
        items_(std::move(items)),
        reads_(reads),
        file_name_(file_name),
        import_inner_(std::move(import_inner)) {
    for (const Item& item : items_) inputs_.push_back(item.tensor);
  }

  graph::Builder& builder() { return builder_; }
  const Node& node() const { return node_; }
  int64_t opset() const { return opset_; }
  const std::string& file_name() const { return file_name_; }  // of the model, for the text form

  // Null where it is absent.
  graph::Value input(size_t i) const { return i < inputs_.size() ? inputs_[i] : graph::Value(); }
  const std::vector<graph::Value>& inputs() const { return inputs_; }
  // Inputs that may be no tensors.
  const Items& items() const { return items_; }
  Item item(size_t i) const { return i < items_.size() ? items_[i] : Item(); }
  // The graph of an attribute that has to be there.
  const Graph& InnerGraph(std::string_view attribute) const;
  const ImportInner& import_inner() const { return import_inner_; }
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
  Items items_;
  std::vector<graph::Value> inputs_;  // null for what is no tensor
  const std::set<std::string_view>& reads_;
  const std::string& file_name_;
  ImportInner import_inner_;
};

// A tensor of the model, which outlives the import, as a constant or as strings.
Item ItemOf(graph::Builder* builder, const Tensor& tensor, std::string_view wish,
            const std::string& file_name);
// A tensor of the model as a constant, under a name that is free. It stays in the mapped file.
graph::Value ConstantOf(graph::Builder* builder, const Tensor& tensor, std::string_view wish,
                        const std::string& file_name);

// Null where the operator is not supported.
using Converter = std::vector<graph::Value> (*)(NodeContext&);
using ItemConverter = Items (*)(NodeContext&);
struct ConverterEntry {
  // One of both: an operator of ours with the same inputs and attributes, or a function.
  const char* same = nullptr;
  Converter convert = nullptr;
  // Where inputs or outputs are no tensors; with one of the above: where an input is none.
  ItemConverter convert_items = nullptr;
  explicit operator bool() const { return same || convert || convert_items; }
};
ConverterEntry FindConverter(std::string_view domain, std::string_view op_type);
// The domains that there are converters for; "" is ONNX's own.
std::vector<std::string_view> SupportedDomains();
// The operators of a domain that there are converters for.
std::vector<std::string_view> SupportedOperators(std::string_view domain = "");

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_CONVERTERS_H_
