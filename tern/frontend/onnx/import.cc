// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/import.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <deque>
#include <filesystem>
#include <set>

#include "tern/ffi/text.h"
#include "tern/frontend/onnx/control_flow.h"
#include "tern/frontend/onnx/converter_table.h"
#include "tern/frontend/onnx/converters.h"
#include "tern/graph/builder.h"
#include "tern/graph/dim_ranges.h"
#include "tern/graph/versions.h"

namespace tern::frontend::onnx {
namespace {

using graph::Value;

constexpr int64_t kOldestOpset = 6, kNewestOpset = 28;

// Operators that mean in older opsets what they mean since.
bool IsUnchangedBefore6(std::string_view op_type) {
  static const std::set<std::string_view> unchanged = {"Abs",
                                                       "ArgMax",
                                                       "ArgMin",
                                                       "Ceil",
                                                       "Concat",
                                                       "Constant",
                                                       "Conv",
                                                       "DepthToSpace",
                                                       "Elu",
                                                       "Exp",
                                                       "Flatten",
                                                       "Floor",
                                                       "Gather",
                                                       "GlobalAveragePool",
                                                       "GlobalLpPool",
                                                       "GlobalMaxPool",
                                                       "HardSigmoid",
                                                       "Identity",
                                                       "InstanceNormalization",
                                                       "LRN",
                                                       "LeakyRelu",
                                                       "Log",
                                                       "LogSoftmax",
                                                       "LpNormalization",
                                                       "MatMul",
                                                       "Neg",
                                                       "Not",
                                                       "RandomNormal",
                                                       "RandomNormalLike",
                                                       "RandomUniform",
                                                       "RandomUniformLike",
                                                       "Reciprocal",
                                                       "ReduceL1",
                                                       "ReduceL2",
                                                       "ReduceLogSum",
                                                       "ReduceLogSumExp",
                                                       "ReduceMax",
                                                       "ReduceMean",
                                                       "ReduceMin",
                                                       "ReduceProd",
                                                       "ReduceSum",
                                                       "ReduceSumSquare",
                                                       "Relu",
                                                       "Selu",
                                                       "Shape",
                                                       "Sigmoid",
                                                       "Size",
                                                       "Slice",
                                                       "Softmax",
                                                       "Softplus",
                                                       "Softsign",
                                                       "SpaceToDepth",
                                                       "Sqrt",
                                                       "Squeeze",
                                                       "Tanh",
                                                       "Transpose",
                                                       "Unsqueeze"};
  return unchanged.contains(op_type);
}

// Names in a graph of the model. What a graph inside of another one does not have is the outer
// one's, and is captured where it becomes a region.
struct Scope {
  graph::Builder* builder = nullptr;
  Scope* outer = nullptr;
  graph::RegionBuilder* region = nullptr;  // null where the graph is no region of its own
  int64_t opset = 0;                       // of ONNX's own operators
  std::map<std::string_view, Item> values = {};
  std::map<std::string_view, const Tensor*> initializers = {};
};

bool IsControlFlow(const Node& node) {
  return node.domain.empty() &&
         (node.op_type == "If" || node.op_type == "Loop" || node.op_type == "Scan");
}

// Calls `f` for each graph inside of the node.
template <class F>
void ForEachGraph(const Node& node, const F& f) {
  for (const Attribute& attribute : node.attributes)
    for (const Graph& graph : attribute.graphs) f(graph);
}

// Names that the node reads, and graphs inside of it: those that a graph has itself hide the outer
// ones.
void CollectInputs(const Node& node, std::vector<std::string_view>* names) {
  names->insert(names->end(), node.inputs.begin(), node.inputs.end());
  ForEachGraph(node, [&](const Graph& graph) {
    std::vector<std::string_view> read;
    std::set<std::string_view> own;
    for (const ValueInfo& input : graph.inputs) own.insert(input.name);
    for (const Tensor& initializer : graph.initializers) own.insert(initializer.name);
    for (const Node& inner : graph.nodes) {
      own.insert(inner.outputs.begin(), inner.outputs.end());
      CollectInputs(inner, &read);
    }
    for (const ValueInfo& output : graph.outputs) read.push_back(output.name);
    for (std::string_view name : read)
      if (!own.contains(name)) names->push_back(name);
  });
}

// The nodes, each after those whose outputs it reads. Not every exporter writes them so; those that
// are in order stay in theirs. Of several constants of one name, which tools that shrink models
// leave, the last counts, as for ONNX Runtime.
std::vector<const Node*> OrderedNodes(const std::vector<Node>& nodes) {
  std::map<std::string_view, const Node*> makers;
  for (const Node& node : nodes)
    for (std::string_view output : node.outputs) {
      if (output.empty()) continue;
      const Node*& maker = makers[output];
      TERN_CHECK(!maker || (maker->op_type == "Constant" && node.op_type == "Constant"))
          << "two nodes have the output " << output;
      maker = &node;
    }
  auto is_hidden = [&](const Node& node) {
    return node.op_type == "Constant" && !node.outputs.empty() && !node.outputs[0].empty() &&
           makers.at(node.outputs[0]) != &node;
  };
  enum class State { kNew, kOpen, kDone };
  std::map<const Node*, State> states;
  std::vector<const Node*> ordered;
  struct Open {
    const Node* node;
    std::vector<std::string_view> inputs;
    size_t next = 0;
  };
  std::vector<Open> stack;  // a chain of thousands of nodes is no recursion
  auto open = [&](const Node* node) {
    State& state = states[node];
    TERN_CHECK(state != State::kOpen)
        << "node " << node->name << " (" << node->op_type << ") needs its own output";
    if (state == State::kDone) return;
    state = State::kOpen;
    stack.push_back({node, {}});
    CollectInputs(*node, &stack.back().inputs);
  };
  for (const Node& node : nodes) {
    if (is_hidden(node)) continue;
    open(&node);
    while (!stack.empty()) {
      Open& top = stack.back();
      if (top.next == top.inputs.size()) {
        states[top.node] = State::kDone;
        ordered.push_back(top.node);
        stack.pop_back();
        continue;
      }
      auto maker = makers.find(top.inputs[top.next++]);
      if (maker != makers.end()) open(maker->second);
    }
  }
  return ordered;
}

// ---- Functions of the model

// Attributes of a call, by the names that the function has for them.
using AttributeMap = std::map<std::string_view, const Attribute*>;

// The node with the call's attributes in place of references to them; those that the call does not
// have are left out.
Node WithAttributes(const Node& node, const AttributeMap& attributes) {
  Node result = node;
  result.attributes.clear();
  for (const Attribute& attribute : node.attributes) {
    Attribute copy = attribute;
    if (!attribute.ref_attr_name.empty()) {
      auto given = attributes.find(attribute.ref_attr_name);
      if (given == attributes.end()) continue;
      copy = *given->second;
      copy.name = attribute.name;
    }
    for (Graph& graph : copy.graphs)
      for (Node& inner : graph.nodes) inner = WithAttributes(inner, attributes);
    result.attributes.push_back(std::move(copy));
  }
  return result;
}

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options, const std::string& name)
      : builder_(name),
        model_(model),
        options_(options),
        file_name_(std::filesystem::path(model.path).filename().string()) {}

  graph::Function Run(ir::Attrs attrs = {}) {
    opset_ = main_.opset = model_.OpsetVersion("");
    CheckFunctions();
    FindReads();
    CheckOpset();
    CheckOperators();
    CheckOptions();
    FindFixedDims();
    AddInputs();
    bool has_body = attrs.find(graph::attr::kVersionsOnly) == attrs.end();
    if (has_body) AddNodes(model_.graph.nodes, main_);
    return Finish(std::move(attrs), has_body);
  }

 private:
  // ---- Functions

  // Null where the node calls none.
  const Function* FunctionOf(const Node& node) const {
    for (const Function& function : model_.functions)
      if (function.name == node.op_type && function.domain == node.domain &&
          function.overload == node.overload)
        return &function;
    return nullptr;
  }

  void CheckFunctions() const {
    std::map<const Function*, bool> done;  // false: it is being looked at
    for (const Function& function : model_.functions) CheckFunction(function, &done);
  }
  void CheckFunction(const Function& function, std::map<const Function*, bool>* done) const {
    auto [it, added] = done->try_emplace(&function, false);
    if (!added) {
      if (!it->second)
        TERN_THROW(ValueError) << model_.path << ": function " << function.name << " calls itself";
      return;
    }
    for (const Node& node : function.nodes) CheckCalls(node, done);
    done->at(&function) = true;
  }
  void CheckCalls(const Node& node, std::map<const Function*, bool>* done) const {
    if (const Function* callee = FunctionOf(node)) CheckFunction(*callee, done);
    ForEachGraph(node, [&](const Graph& graph) {
      for (const Node& inner : graph.nodes) CheckCalls(inner, done);
    });
  }

  // ---- What is needed: from the outputs back

  void FindReads() {
    for (const ValueInfo& output : model_.graph.outputs)
      if (CanReturn(output)) reads_.insert(output.name);
    FindReads(model_.graph.nodes);
    reads_.erase("");  // of inputs that are not given
    TERN_CHECK(!reads_.empty()) << model_.path << " has no output that is a tensor";
  }

  // Names of graphs inside of others are taken together: what is read too much goes later.
  void FindReads(const std::vector<Node>& all) {
    std::vector<const Node*> nodes =
        WithContext("reading " + model_.path, [&] { return OrderedNodes(all); });
    for (size_t i = nodes.size(); i-- > 0;) {
      const Node& node = *nodes[i];
      if (!IsRead(node)) continue;
      reads_.insert(node.inputs.begin(), node.inputs.end());
      ForEachGraph(node, [&](const Graph& inner) {
        for (const ValueInfo& output : inner.outputs) reads_.insert(output.name);
        FindReads(inner.nodes);
      });
      const Function* function = FunctionOf(node);
      if (!function || !called_.insert(function).second) continue;
      reads_.insert(function->outputs.begin(), function->outputs.end());
      FindReads(function->nodes);
    }
  }

  bool IsRead(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](std::string_view output) { return reads_.contains(output); });
  }

  // Maps are left out: what else there is can be computed without. Those of ZipMap are their
  // numbers.
  bool CanReturn(const ValueInfo& output) const {
    const std::vector<Node>& nodes = model_.graph.nodes;
    return IsOfNumbers(output.type) ||
           std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
             return node.op_type == "ZipMap" && node.outputs[0] == output.name;
           });
  }

  static bool IsOfNumbers(const Type& type) {
    if (type.kind == Type::Kind::kSequence || type.kind == Type::Kind::kOptional)
      return type.element && IsOfNumbers(*type.element);
    return type.kind == Type::Kind::kNone ||
           (type.kind == Type::Kind::kTensor &&
            (type.elem == ElemType::kUndefined || type.elem == ElemType::kString ||
             DataTypeOf(type.elem) || DecodedTypeOf(type.elem)));
  }

  // ---- What is not supported, all at once

  void CheckOpset() const {
    if (opset_ >= kOldestOpset && opset_ <= kNewestOpset) return;
    // Models of other domains alone do not say it.
    auto is_known = [&](const Node& node) {
      return !IsRead(node) || !node.domain.empty() ||
             (opset_ > 0 && opset_ < kOldestOpset && IsUnchangedBefore6(node.op_type));
    };
    const std::vector<Node>& nodes = model_.graph.nodes;
    auto wrong = std::find_if_not(nodes.begin(), nodes.end(), is_known);
    if (wrong == nodes.end()) return;
    TERN_THROW(ValueError) << model_.path << ": opset " << opset_ << " is not supported for "
                           << wrong->op_type << " '" << NodeName(*wrong) << "'; " << kOldestOpset
                           << " to " << kNewestOpset << " are";
  }

  void CheckOperators() const {
    std::map<std::string, std::vector<std::string>> missing;
    FindUnsupported(model_.graph.nodes, &missing);
    for (const Function* function : called_) FindUnsupported(function->nodes, &missing);
    if (missing.empty()) return;
    std::string text;
    for (const auto& [op, nodes] : missing) {
      std::vector<std::string> some(nodes.begin(),
                                    nodes.begin() + std::min<size_t>(nodes.size(), 3));
      text += "\n  " + op + " (" + std::to_string(nodes.size()) +
              (nodes.size() == 1 ? " node: " : " nodes: ") + ffi::Join(some) +
              (nodes.size() > 3 ? ", ..." : "") + ")";
    }
    TERN_THROW(ValueError) << model_.path << ": of opset " << opset_ << " these operators are not "
                           << "supported:" << text;
  }

  void FindUnsupported(const std::vector<Node>& nodes,
                       std::map<std::string, std::vector<std::string>>* missing) const {
    for (const Node& node : nodes) {
      if (!IsRead(node)) continue;
      ForEachGraph(node, [&](const Graph& inner) { FindUnsupported(inner.nodes, missing); });
      if (IsControlFlow(node) || FunctionOf(node) || FindConverter(node.domain, node.op_type))
        continue;
      std::string op(node.domain.empty() ? "" : std::string(node.domain) + ".");
      (*missing)[op + std::string(node.op_type)].push_back(NodeName(node));
    }
  }

  static std::string NodeName(const Node& node) {
    if (!node.name.empty()) return std::string(node.name);
    return node.outputs.empty() ? "?" : "-> " + std::string(node.outputs[0]);
  }

  // Names of extents that given shapes of inputs have: the others of that name are the same. Where
  // two shapes disagree, each is for its own input.
  void FindFixedDims() {
    std::set<std::string> disagreeing;
    for (const ValueInfo& input : model_.graph.inputs) {
      auto given = options_.input_shapes.find(std::string(input.name));
      if (given == options_.input_shapes.end() || !input.type.shape) continue;
      const std::vector<Dim>& dims = *input.type.shape;
      for (size_t i = 0; i < std::min(dims.size(), given->second.size()); ++i) {
        if (dims[i].is_known() || dims[i].is_anonymous() || given->second[i] < 0) continue;
        std::string name(dims[i].param);
        if (fixed_dims_.try_emplace(name, given->second[i]).first->second != given->second[i])
          disagreeing.insert(name);
      }
    }
    for (const std::string& name : disagreeing) fixed_dims_.erase(name);
  }

  void CheckOptions() const {
    std::vector<std::string> inputs, dims;
    for (const ValueInfo& input : model_.graph.inputs) {
      inputs.emplace_back(input.name);
      if (input.type.kind == Type::Kind::kSequence || input.type.kind == Type::Kind::kOptional)
        dims.emplace_back(input.name);
      for (const Dim& dim : input.type.shape.value_or(std::vector<Dim>()))
        if (!dim.is_known() && !dim.is_anonymous()) dims.emplace_back(dim.param);
      for (size_t i = 0; input.type.shape && i < input.type.shape->size(); ++i)
        if ((*input.type.shape)[i].is_anonymous()) dims.push_back(AnonymousName(input.name, i));
    }
    std::set<std::string> seen;
    std::erase_if(dims, [&](const std::string& dim) { return !seen.insert(dim).second; });
    auto has_input = [&](const std::string& name) {
      return std::find(inputs.begin(), inputs.end(), name) != inputs.end();
    };
    auto check_input = [&](const std::string& name) {
      // x[0] is an element of x.
      if (!has_input(name) && !has_input(name.substr(0, name.rfind('['))))
        TERN_THROW(ValueError) << model_.path << " has no input " << name
                               << ffi::DidYouMean(name, inputs)
                               << "; it has: " << ffi::Join(inputs);
    };
    for (const auto& [name, shape] : options_.input_shapes) check_input(name);
    for (const auto& [name, tensor] : options_.constants) check_input(name);
    for (const auto& [name, number] : options_.scalars) check_input(name);
    auto check_dim = [&](const std::string& name) {
      if (std::find(dims.begin(), dims.end(), name) == dims.end())
        TERN_THROW(ValueError) << model_.path << " has no dimension " << name
                               << ffi::DidYouMean(name, dims)
                               << "; it has: " << (dims.empty() ? "none" : ffi::Join(dims));
    };
    for (const auto& [name, extent] : options_.dims) check_dim(name);
    for (const auto& [name, range] : options_.ranges) check_dim(name);
  }

  static std::string AnonymousName(std::string_view input, size_t axis) {
    return std::string(input) + "_" + std::to_string(axis);
  }

  // ---- Values

  void AddInputs() {
    AddInitializers(model_.graph, main_);
    for (const ValueInfo& input : model_.graph.inputs) {
      auto initializer = main_.initializers.find(input.name);
      std::string name(input.name);
      if (options_.constants.contains(name) || options_.scalars.contains(name) ||
          initializer == main_.initializers.end()) {
        main_.values[input.name] = InputItem(name, input.type);
      } else if (IsOverridable(*initializer->second)) {
        main_.values[input.name] = AddDefault(name, *initializer->second);
        input_names_.push_back(name);
      }
    }
  }

  // An input of the model, or the elements of one as inputs.
  Item InputItem(const std::string& name, const Type& type) {
    if (type.kind == Type::Kind::kOptional && type.element) {
      auto given = options_.dims.find(name);
      if (given != options_.dims.end() && given->second == 0) return {Item::Kind::kOptional, {}};
      return {Item::Kind::kOptional, {InputItem(name, *type.element)}};
    }
    if (type.kind == Type::Kind::kSequence && type.element) {
      auto given = options_.dims.find(name);
      auto element = [&](int64_t i) { return name + "[" + std::to_string(i) + "]"; };
      int64_t length = given == options_.dims.end() ? 0 : given->second;
      if (given == options_.dims.end())
        while (options_.input_shapes.contains(element(length))) ++length;
      if (given == options_.dims.end() && length == 0)
        TERN_THROW(ValueError) << model_.path << ": input " << name << " is " << TypeText(type)
                               << "; how many elements it has has to be known when compiling, as "
                               << "with --dim " << name << "=3";
      Items elements;
      for (int64_t i = 0; i < length; ++i) elements.push_back(InputItem(element(i), *type.element));
      return {Item::Kind::kSequence, std::move(elements)};
    }
    if (auto it = options_.constants.find(name); it != options_.constants.end())
      return BoundInput(name, type, it->second);
    if (auto it = options_.scalars.find(name); it != options_.scalars.end())
      return BoundScalar(name, type, it->second);
    input_names_.push_back(name);
    Item item(Unpacked(&builder_, builder_.Param(name, TypeOf(name, type))));
    item.elem = type.elem;
    return item;
  }

  static void AddInitializers(const Graph& graph, Scope& scope) {
    for (const Tensor& tensor : graph.initializers) scope.initializers[tensor.name] = &tensor;
  }

  Item BoundInput(const std::string& name, const Type& type, const Tensor& tensor) {
    if (type.kind != Type::Kind::kTensor || type.elem != tensor.type)
      TERN_THROW(ValueError) << model_.path << ": input " << name << " is " << TypeText(type)
                             << "; the constant given has elements of type " << NameOf(tensor.type);
    return onnx::ItemOf(&builder_, tensor, name, file_name_);
  }

  // Extents that the model leaves open are 1.
  Item BoundScalar(const std::string& name, const Type& type, double number) {
    std::optional<DataType> dtype =
        type.kind == Type::Kind::kTensor ? DataTypeOf(type.elem) : std::nullopt;
    std::vector<int64_t> ones(type.shape ? type.shape->size() : 0, 1);
    bool is_one = dtype.has_value() && !dtype->is_packed();
    for (size_t i = 0; i < ones.size(); ++i)
      is_one = is_one && (!(*type.shape)[i].is_known() || (*type.shape)[i].value == 1);
    if (!is_one)
      TERN_THROW(ValueError) << model_.path << ": input " << name << " is " << TypeText(type)
                             << "; a number is for tensors of one element";
    double limit = dtype->is_bool() ? 2 : std::ldexp(1, dtype->bits() - (dtype->is_int() ? 1 : 0));
    double least = dtype->is_int() ? -limit : 0;
    if (!dtype->is_float() && (number != std::floor(number) || number < least || number >= limit))
      TERN_THROW(ValueError) << model_.path << ": input " << name << " is " << TypeText(type)
                             << ", which cannot be " << number;
    Value scalar = builder_.Scalar(*dtype, number, name);
    return ones.empty() ? Item(scalar)
                        : Item(builder_.Add("reshape", {scalar, builder_.Ints(ones, "shape")}));
  }

  bool IsOverridable(const Tensor& initializer) const {
    constexpr int64_t kFirstWithDefaults = 4;
    std::optional<DataType> dtype = DataTypeOf(initializer.type);
    std::string name(initializer.name);
    return model_.ir_version >= kFirstWithDefaults && reads_.contains(initializer.name) && dtype &&
           dtype->is_float() && !dtype->is_packed() &&
           (!options_.overridable || options_.overridable->contains(name));
  }

  Value AddDefault(const std::string& name, const Tensor& initializer) {
    graph::TensorType type{*DataTypeOf(initializer.type), {}};
    for (int64_t extent : initializer.dims) type.shape.emplace_back(extent);
    Value param = builder_.Param(name, type);
    Value value = ConstantOf(&builder_, initializer, name, file_name_);
    return builder_.Add("with_default", {param, value}, {}, {.names = {name}});
  }

  graph::TensorType TypeOf(const std::string& name, const Type& input) {
    if (input.kind != Type::Kind::kTensor)
      TERN_THROW(ValueError) << model_.path << ": input " << name << " is " << TypeText(input)
                             << "; tensors are supported";
    std::optional<DataType> dtype = DataTypeOf(input.elem);
    if (!dtype)
      TERN_THROW(ValueError) << model_.path << ": input " << name << " has elements of type "
                             << NameOf(input.elem) << ", which is not supported";
    auto given = options_.input_shapes.find(name);
    std::vector<Dim> dims;
    if (input.shape)
      dims = *input.shape;
    else if (given != options_.input_shapes.end())
      dims.resize(given->second.size());
    else
      TERN_THROW(ValueError) << model_.path << ": the rank of input " << name
                             << " is not known; give its shape, as in --input-shape " << name
                             << "=1,3,224,224";
    if (given != options_.input_shapes.end() && given->second.size() != dims.size())
      TERN_THROW(ValueError) << "input " << name << " has rank " << dims.size()
                             << "; the shape given has " << given->second.size() << " extents";
    graph::TensorType type{*dtype, {}};
    for (size_t i = 0; i < dims.size(); ++i) {
      int64_t wanted = given != options_.input_shapes.end() ? given->second[i] : -1;
      if (wanted >= 0 && dims[i].is_known() && dims[i].value != wanted)
        TERN_THROW(ValueError) << "extent " << i << " of input " << name << " is " << dims[i].value
                               << " in the model; " << wanted << " was given";
      type.shape.push_back(wanted >= 0 ? ir::Expr(wanted)
                                       : ExtentOf(dims[i], AnonymousName(name, i)));
    }
    return type;
  }

  ir::Expr ExtentOf(const Dim& dim, const std::string& anonymous) {
    if (dim.is_known()) return dim.value;
    std::string name = dim.is_anonymous() ? anonymous : std::string(dim.param);
    if (auto it = options_.dims.find(name); it != options_.dims.end()) return it->second;
    if (auto it = fixed_dims_.find(name); it != fixed_dims_.end()) return it->second;
    auto [it, added] = dims_.try_emplace(name);
    if (added) it->second = NewDim(name);
    return it->second;
  }

  // Its name is nobody else's, so that the text form can tell them apart.
  ir::Var NewDim(const std::string& wish) {
    ir::Var dim(builder_.FreshName(wish));
    if (auto it = options_.ranges.find(wish); it != options_.ranges.end()) {
      arith::ConstBounds range{it->second.first, it->second.second};
      scope_.Add(dim, range);
      ranges_[dim.name()] = range;
    }
    return dim;
  }

  // Null where there is no such value.
  const Item* FindItem(std::string_view name, Scope& scope) {
    auto it = scope.values.find(name);
    if (it != scope.values.end()) return &it->second;
    auto tensor = scope.initializers.find(name);
    if (tensor != scope.initializers.end())
      return &(scope.values[name] = onnx::ItemOf(scope.builder, *tensor->second, name, file_name_));
    const Item* outer = scope.outer ? FindItem(name, *scope.outer) : nullptr;
    if (!outer) return nullptr;
    Item inside = *outer;
    if (scope.region) {
      std::vector<Value> captured = Flattened({*outer});
      for (Value& value : captured) value = scope.region->Capture(value);
      inside = Structured({*outer}, captured)[0];
    }
    return &(scope.values[name] = std::move(inside));
  }

  Item ItemOf(std::string_view name, Scope& scope) {
    if (name.empty()) return {};
    const Item* item = FindItem(name, scope);
    if (!item)
      TERN_THROW(ValueError) << "it reads " << name << ", which nothing before it computes";
    return *item;
  }

  // ---- Nodes

  void AddNodes(const std::vector<Node>& nodes, Scope& scope) {
    for (const Node* node : OrderedNodes(nodes))
      if (IsRead(*node)) AddNode(*node, scope);
  }

  void AddNode(const Node& node, Scope& scope) {
    std::string context =
        model_.path + ": " + std::string(node.op_type) + " '" + NodeName(node) + "'";
    Items outputs = WithContext(context, [&] {
      Items inputs;
      for (std::string_view input : node.inputs) inputs.push_back(ItemOf(input, scope));
      if (const Function* function = FunctionOf(node))
        return Inlined(*function, node, inputs, scope);
      NodeContext context(
          scope.builder, node, scope.opset, inputs, reads_, file_name_,
          [&](const Graph& graph, graph::RegionBuilder* region, const Items& params) {
            return ImportGraph(graph, scope, region, params);
          });
      if (IsControlFlow(node)) return ImportControlFlow(context);
      ConverterEntry entry = FindConverter(node.domain, node.op_type);
      auto list = std::find_if(inputs.begin(), inputs.end(),
                               [](const Item& item) { return !item.is_tensor(); });
      if (entry.convert_items && (list != inputs.end() || (!entry.convert && !entry.same)))
        return entry.convert_items(context);
      TERN_CHECK(list == inputs.end()) << "input " << list - inputs.begin() << " is "
                                       << ItemText(*list) << "; a tensor is expected";
      return ItemsOf(entry.convert ? entry.convert(context) : context.EmitSame(entry.same));
    });
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!reads_.contains(node.outputs[i])) continue;
      TERN_CHECK(i < outputs.size()) << context << " has " << node.outputs.size() << " outputs; "
                                     << outputs.size() << " are known";
      scope.values[node.outputs[i]] = outputs[i];
    }
  }

  // The outputs of a graph inside of another one, for these inputs; null: not as a region, but in
  // place.
  Items ImportGraph(const Graph& graph, Scope& outer, graph::RegionBuilder* region,
                    const Items& params) {
    Scope scope{region ? &region->builder() : outer.builder, &outer, region, outer.opset};
    AddInitializers(graph, scope);
    TERN_CHECK(graph.inputs.size() == params.size())
        << "graph " << graph.name << " has " << graph.inputs.size() << " inputs; " << params.size()
        << " are given";
    for (size_t i = 0; i < params.size(); ++i) scope.values[graph.inputs[i].name] = params[i];
    AddNodes(graph.nodes, scope);
    Items results;
    for (const ValueInfo& output : graph.outputs) results.push_back(ItemOf(output.name, scope));
    return results;
  }

  // The outputs of a function of the model, in place of the node that calls it. It sees nothing but
  // its inputs, and has opsets of its own.
  Items Inlined(const Function& function, const Node& call, const Items& inputs,
                const Scope& outer) {
    TERN_CHECK(inputs.size() <= function.inputs.size())
        << "function " << function.name << " has " << function.inputs.size() << " inputs; "
        << inputs.size() << " are given";
    constexpr size_t kMostInlined = 1 << 20;
    num_inlined_ += function.nodes.size();
    TERN_CHECK(num_inlined_ <= kMostInlined)
        << "the functions of the model make more than " << kMostInlined << " nodes";
    Scope scope{outer.builder, nullptr, nullptr, outer.opset};
    for (const OpsetId& opset : function.opsets)
      if (opset.domain.empty()) scope.opset = opset.version;
    for (size_t i = 0; i < function.inputs.size(); ++i)
      scope.values[function.inputs[i]] = i < inputs.size() ? inputs[i] : Item();
    AttributeMap attributes;
    for (const Attribute& attribute : function.default_attributes)
      attributes[attribute.name] = &attribute;
    for (const Attribute& attribute : call.attributes) attributes[attribute.name] = &attribute;
    std::vector<Node>& nodes = bodies_.emplace_back();  // names in scopes are of these
    for (const Node& node : function.nodes) nodes.push_back(WithAttributes(node, attributes));
    AddNodes(nodes, scope);
    Items results;
    for (std::string_view output : function.outputs) results.push_back(ItemOf(output, scope));
    return results;
  }

  // Elements of 4 bits are computed as wider ones, and given as the model says.
  Value Packed(const Type& type, const Value& value) {
    std::optional<DataType> dtype = DataTypeOf(type.elem);
    if (!dtype || !dtype->is_packed() || value->type.dtype == *dtype) return value;
    return builder_.Add("cast", {value}, {{"to", ffi::Any(dtype->str())}});
  }

  void AddResult(const std::string& name, const Type& type, const Item& item,
                 std::vector<Value>* results, std::vector<ffi::Any>* names) {
    if (item.kind == Item::Kind::kStrings)
      return AddResult(name, type,
                       StringBytes(&builder_, item.strings->Strings(), item.strings->dims, name),
                       results, names);
    for (size_t i = 0; i < item.elements.size(); ++i) {
      bool is_sequence = item.kind == Item::Kind::kSequence;
      AddResult(is_sequence ? name + "[" + std::to_string(i) + "]" : name,
                type.element ? *type.element : type, item.elements[i], results, names);
    }
    if (!item.is_tensor()) return;
    results->push_back(Packed(type, item.tensor));
    names->emplace_back(name);
  }

  graph::Function Finish(ir::Attrs attrs, bool has_body) {
    std::vector<Value> results;
    std::vector<ffi::Any> names;
    for (const ValueInfo& output : model_.graph.outputs) {
      if (!has_body || !CanReturn(output)) continue;
      Item item = WithContext(model_.path + ": output " + std::string(output.name),
                              [&] { return ItemOf(output.name, main_); });
      AddResult(std::string(output.name), output.type, item, &results, &names);
    }
    std::vector<ffi::Any> inputs(input_names_.begin(), input_names_.end());
    attrs[graph::attr::kInputNames] = ffi::Any(ffi::MakeArray(std::move(inputs)));
    attrs[graph::attr::kOutputNames] = ffi::Any(ffi::MakeArray(std::move(names)));
    if (!ranges_.empty()) attrs[graph::attr::kDimRanges] = graph::DimRangesAttr(ranges_);
    return builder_.Finish(std::move(results), std::move(attrs));
  }

  graph::Builder builder_;
  graph::ScopedDimRanges scope_;
  graph::DimRanges ranges_;
  const Model& model_;
  const ImportOptions& options_;
  std::string file_name_;
  int64_t opset_ = 0;
  std::set<std::string_view> reads_;
  std::set<const Function*> called_;
  std::deque<std::vector<Node>> bodies_;  // of functions, with the attributes of their calls
  size_t num_inlined_ = 0;
  Scope main_{&builder_};
  std::map<std::string, ir::Var> dims_;
  std::map<std::string, int64_t> fixed_dims_;  // by the shapes of inputs
  std::vector<std::string> input_names_;
};

// Dims may be given as graphs name them: `p2o_DynamicDimension_0` is `p2o.DynamicDimension.0`.
ImportOptions WithNamesOfModel(const Model& model, ImportOptions options) {
  auto rename = [](auto* by_name, const std::string& from, const std::string& to) {
    if (auto found = by_name->extract(from); !found.empty()) {
      found.key() = to;
      by_name->insert(std::move(found));
    }
  };
  for (const ValueInfo& input : model.graph.inputs)
    for (const Dim& dim : input.type.shape.value_or(std::vector<Dim>())) {
      if (dim.is_known() || dim.is_anonymous()) continue;
      std::string name(dim.param), written = name;
      for (char& c : written)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      if (written == name) continue;
      rename(&options.dims, written, name);
      rename(&options.ranges, written, name);
      for (ImportOptions::Version& version : options.versions) rename(&version.dims, written, name);
    }
  return options;
}

}  // namespace

ir::IRModule Import(const Model& model, const ImportOptions& given) {
  ImportOptions options = WithNamesOfModel(model, given);
  constexpr const char* kName = "main";
  TERN_CHECK(options.versions.size() <= graph::kMaxVersions)
      << "shapes are given for " << options.versions.size() << " versions of the model; there are "
      << graph::kMaxVersions << " at most";
  ir::Attrs attrs;
  if (options.versions_only) attrs[graph::attr::kVersionsOnly] = ffi::Any(true);
  ir::IRModule module =
      graph::WithGraph(ir::IRModule::Make({}), Importer(model, options, kName).Run(attrs));
  for (size_t i = 0; i < options.versions.size(); ++i) {
    ImportOptions version = options;
    for (const auto& [name, extent] : options.versions[i].dims) {
      version.dims[name] = extent;
      version.ranges.erase(name);
    }
    for (const auto& [name, shape] : options.versions[i].input_shapes)
      version.input_shapes[name] = shape;
    std::string name = std::string(kName) + "_v" + std::to_string(i + 1);
    module = graph::WithGraph(
        module, Importer(model, version, name).Run({{graph::attr::kVersionOf, ffi::Any(kName)}}));
  }
  return module;
}

}  // namespace tern::frontend::onnx
