// SPDX-License-Identifier: Apache-2.0
//
// The graph IR: a model as a list of operators on tensors, in SSA form. A graph::Function stands in
// an IRModule beside the loop functions that it is lowered to; weights are constants of the module.
// docs/graph.md has the text form.
//
//   graph main(x: float32[n, 3, 224, 224]) {
//     c: float32[n, 64, 112, 112] = conv(x, W, b) {strides = [2, 2], pads = [3, 3, 3, 3]}
//     y: float32[n, 64, 112, 112] = relu(c)
//     return y
//   }
//
// Control flow is nodes with regions (control.h).
#ifndef TERN_GRAPH_FUNCTION_H_
#define TERN_GRAPH_FUNCTION_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tern/ir/constant.h"
#include "tern/ir/expr.h"
#include "tern/ir/module.h"

namespace tern::graph {

using ir::Expr;
using ir::Span;
using ir::Var;

struct Op;

// Extents are int64 expressions over the variables of the function: those that stand alone as an
// extent of a parameter, and those that nodes define (NodeNode::dims). None is negative.
struct TensorType {
  DataType dtype;
  std::vector<Expr> shape;

  size_t rank() const { return shape.size(); }
  // "float32[n, 3, 224, 224]"
  std::string str() const;
};

// The elements of a small tensor, as far as they are known when compiling: shapes, axes, scalars.
using Content = std::vector<Expr>;
inline constexpr int64_t kMaxContent = 256;

struct ValueNode : ffi::Object {
  std::string name;  // an identifier, unique in its function
  TensorType type;
  ir::Constant constant;           // of the module; null for what is computed or given
  std::optional<Content> content;  // in row-major order, of the type's dtype
  Span span;

  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("graph.Value");
    return index;
  }
};
using Value = ffi::Ref<const ValueNode>;

struct NodeNode : ffi::Object {
  const Op* op = nullptr;
  std::string label;          // what the model calls it, for messages
  std::vector<Value> inputs;  // null where an optional one is absent
  ir::Attrs attrs;            // those that were given
  std::vector<Value> outputs;
  // Of control flow: graphs that read nothing of this one but their parameters, which are the
  // node's inputs (control.h), and the module's constants. Extents may be those of this graph.
  std::vector<ir::BaseFunc> regions;
  // Extents that are known when the node has run: what follows may have them in types and contents.
  // Of control flow they depend on data; of others they are names for long expressions.
  std::vector<Var> dims;
  Span span;

  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("graph.Node");
    return index;
  }
  // "conv 'layer1/conv'", for messages
  std::string str() const;
};
using Node = ffi::Ref<const NodeNode>;

// Attributes of graph functions.
namespace attr {
// Arrays of strings: what the model calls its inputs and outputs, where that is no identifier.
inline constexpr const char* kInputNames = "input_names";
inline constexpr const char* kOutputNames = "output_names";
}  // namespace attr

struct FunctionNode : ir::BaseFuncNode {
  std::vector<Value> params;
  std::vector<Node> nodes;  // each after those whose outputs it reads
  std::vector<Value> results;

  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("graph.Function");
    return index;
  }
};

class Function : public ffi::Ref<const FunctionNode> {
 public:
  Function() = default;
  Function(const ffi::Ref<const FunctionNode>& node) : Ref(node) {}
  static Function Make(std::string name, std::vector<Value> params, std::vector<Node> nodes,
                       std::vector<Value> results, ir::Attrs attrs = {}, Span span = {});
  // What the model calls an input or output.
  std::string InputName(size_t i) const;
  std::string OutputName(size_t i) const;
};

// Null where the function is of another kind.
Function AsGraph(const ir::BaseFunc& function);

// Calls `f` for each node, and before it for those of its regions.
void ForEachNode(const Function& function, const std::function<void(const Node&)>& f);

// A module pass of a function from graph to graph. Constants that it adds come with the values.
ir::IRModule MapGraphs(const ir::IRModule& module,
                       const std::function<Function(const Function&)>& f);
// The module with this function in place of the one of its name, and with the constants that its
// graphs read; those of this function are renamed where another one has the name.
ir::IRModule WithGraph(const ir::IRModule& module, const Function& function);

// Makes graphs known to modules: text form, verifier, equality (tern/tir/function_kind.h).
void RegisterGraphFunctions();

}  // namespace tern::graph

#endif  // TERN_GRAPH_FUNCTION_H_
