// SPDX-License-Identifier: Apache-2.0
//
// Makes graphs, node by node: what importers, the parser, composite operators and passes use. Every
// node is checked, and its types and known contents are inferred, when it is added.
#ifndef TERN_GRAPH_BUILDER_H_
#define TERN_GRAPH_BUILDER_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tern/graph/function.h"
#include "tern/graph/op.h"

namespace tern::graph {

class RegionBuilder;
struct LoopParts;

class Builder {
 public:
  explicit Builder(std::string function_name)
      : name_(std::move(function_name)), names_(std::make_shared<Names>()) {}
  // A region of a graph that `outer` makes. No name is in both.
  Builder(std::string function_name, const Builder& outer)
      : name_(std::move(function_name)), names_(outer.names_) {}

  // A name for a value that is close to `wish`, an identifier and not taken yet.
  std::string FreshName(const std::string& wish);
  // The same, for a constant that is about to be added.
  std::string UnusedName(const std::string& wish);

  Value Param(const std::string& wish, TensorType type, Span span = {},
              std::optional<Content> content = {});
  // An extent that a node defines, of a name that is free.
  Var Dim(const std::string& wish) { return Var(FreshName(wish)); }
  // A constant of the module; its name stays, so it must be free.
  Value Constant(const ir::Constant& constant);
  // Small constants that have no name in the model.
  Value Ints(const std::vector<int64_t>& elements, const std::string& wish = "ints");
  Value Scalar(DataType dtype, double value, const std::string& wish = "scalar");

  struct Options {
    std::string label;               // of the node
    std::vector<std::string> names;  // wishes for those of the outputs
    Span span;
    // Of control flow, see NodeNode. Extents that the node defines beyond `dims` are new.
    std::vector<ir::BaseFunc> regions;
    std::vector<Var> dims;
  };
  // Throws where inputs or attributes do not fit the operator, with the node's label.
  std::vector<Value> Add(const Op& op, std::vector<Value> inputs, ir::Attrs attrs = {},
                         const Options& options = {});
  Value Add(const char* op, std::vector<Value> inputs, ir::Attrs attrs = {},
            const Options& options = {});
  // A node of another graph, with other inputs. Its outputs keep their names where these are free.
  std::vector<Value> Copy(const Node& node, std::vector<Value> inputs);

  Function Finish(std::vector<Value> results, ir::Attrs attrs = {}, Span span = {});
  // The same, with other parameters.
  Function FinishRegion(std::vector<Value> params, std::vector<Value> results);

  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  // A variable in place of an extent that is a long expression: these would grow from layer to
  // layer. Equal ones have one name.
  Expr Named(const Expr& extent, const std::string& wish, std::vector<Var>* given, NodeNode* node);
  std::vector<Value> AddOnce(const Op& op, const std::vector<Value>& inputs, const ir::Attrs& attrs,
                             const Options& options);

  std::string name_;
  std::vector<Value> params_;
  std::vector<Node> nodes_;
  std::vector<std::pair<Expr, Var>> named_;
  // With the number that was tried last for each wish: all below are taken.
  struct Names {
    std::set<std::string, std::less<>> taken;
    std::unordered_map<std::string, int> numbers;
  };
  std::shared_ptr<Names> names_;
};

// The node's results as tensors: `compute` of its operator, of these.
std::vector<tir::Tensor> ComputeNode(const Node& node, const std::string& name,
                                     std::vector<tir::Tensor> inputs);

// A tensor for each input of a node, of a name of its own: x0, x1, ...; null where it is absent.
std::vector<tir::Tensor> InputTensors(const Node& node);

// What must hold of dynamic extents for the node, with the node's name in the text.
std::vector<Requirement> RequirementsOf(const Node& node);

// Copies a graph, node by node, with its regions. `rewrite` gives the results of a node in the new
// graph, for inputs of the new graph; the default copies it. On the way a condition that is known
// now chooses its branch, short loops are unrolled, and what is computed from constants alone
// leaves the regions.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  Function Run(const Function& function);

 protected:
  // Not called for nodes of control flow.
  virtual std::vector<Value> Rewrite(Builder& builder, const Node& node,
                                     const std::vector<Value>& inputs) {
    return builder.Copy(node, inputs);
  }
  // A value of the old graph in the new one.
  Value Map(const Value& value);

 private:
  // Of the graph or region that is made now.
  Builder& Current();
  // In the new graph, or in one around the region that is made now.
  Value Lookup(const Value& value);
  // Inside of the region that is made now.
  Value Here(Value value);
  void Define(const Value& old, const Value& value);
  // Notes how many regions the value is inside of, unless that is known.
  void Put(const Value& value, size_t level);

  void RunNodes(const std::vector<Node>& nodes);
  std::vector<Value> RunIf(const Node& node);
  std::vector<Value> RunLoop(const Node& node);
  std::vector<Value> Unroll(const LoopParts& parts, int64_t trips, std::vector<Value> carried,
                            const std::vector<Value>& captures, const Builder::Options& options);
  std::vector<Value> RunRegion(RegionBuilder& builder, const Function& region,
                               const std::vector<Value>& args);
  // A region in place of its node: from these values for its parameters to its results.
  std::vector<Value> Inline(const Function& region, const std::vector<Value>& args);

  Builder* outermost_ = nullptr;
  std::vector<RegionBuilder*> regions_;  // that are made now, from the outermost in
  std::map<const ValueNode*, Value> map_;
  // Of how many regions a value is inside. It keeps the value: a region that is made again, for
  // more general extents, drops its values, and others would lie at their addresses.
  struct Place {
    Value value;
    size_t level;
  };
  std::map<const ValueNode*, Place> places_;
  std::set<const ValueNode*> hoisted_;  // computed from constants, outside of all regions
};

}  // namespace tern::graph

#endif  // TERN_GRAPH_BUILDER_H_
