// SPDX-License-Identifier: Apache-2.0
//
// Makes graphs, node by node: what importers, the parser, composite operators and passes use. Every
// node is checked, and its types and known contents are inferred, when it is added.
#ifndef TERN_GRAPH_BUILDER_H_
#define TERN_GRAPH_BUILDER_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tern/graph/function.h"
#include "tern/graph/op.h"

namespace tern::graph {

class Builder {
 public:
  explicit Builder(std::string function_name) : name_(std::move(function_name)) {}

  // A name for a value that is close to `wish`, an identifier and not taken yet.
  std::string FreshName(const std::string& wish);
  // The same, for a constant that is about to be added.
  std::string UnusedName(const std::string& wish);

  Value Param(const std::string& wish, TensorType type, Span span = {});
  // A constant of the module; its name stays, so it must be free.
  Value Constant(const ir::Constant& constant);
  // Small constants that have no name in the model.
  Value Ints(const std::vector<int64_t>& elements, const std::string& wish = "ints");
  Value Scalar(DataType dtype, double value, const std::string& wish = "scalar");

  struct Options {
    std::string label;               // of the node
    std::vector<std::string> names;  // wishes for those of the outputs
    Span span;
  };
  // Throws where inputs or attributes do not fit the operator, with the node's label.
  std::vector<Value> Add(const Op& op, std::vector<Value> inputs, ir::Attrs attrs = {},
                         const Options& options = {});
  Value Add(const char* op, std::vector<Value> inputs, ir::Attrs attrs = {},
            const Options& options = {});
  // A node of another graph, with other inputs. Its outputs keep their names where these are free.
  std::vector<Value> Copy(const Node& node, std::vector<Value> inputs);

  Function Finish(std::vector<Value> results, ir::Attrs attrs = {}, Span span = {});

  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::string name_;
  std::vector<Value> params_;
  std::vector<Node> nodes_;
  std::set<std::string, std::less<>> names_;
};

// The node's results as tensors: `compute` of its operator, of these.
std::vector<tir::Tensor> ComputeNode(const Node& node, const std::string& name,
                                     std::vector<tir::Tensor> inputs);

// A tensor for each input of a node, of a name of its own: x0, x1, ...; null where it is absent.
std::vector<tir::Tensor> InputTensors(const Node& node);

// What must hold of dynamic extents for the node, with the node's name in the text.
std::vector<Requirement> RequirementsOf(const Node& node);

// Copies a graph, node by node. `rewrite` gives the results of a node in the new graph, for inputs
// of the new graph; the default copies it.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  Function Run(const Function& function);

 protected:
  virtual std::vector<Value> Rewrite(Builder& builder, const Node& node,
                                     const std::vector<Value>& inputs) {
    return builder.Copy(node, inputs);
  }
  // A value of the old graph in the new one.
  Value Map(const Value& value);

 private:
  std::map<const ValueNode*, Value> map_;
  Builder* builder_ = nullptr;
};

}  // namespace tern::graph

#endif  // TERN_GRAPH_BUILDER_H_
