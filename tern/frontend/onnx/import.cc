// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/import.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "tern/ffi/text.h"
#include "tern/frontend/onnx/control_flow.h"
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
  std::map<std::string_view, Value> values = {};
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

// Names that the node reads, and nodes in graphs inside of it.
void CollectInputs(const Node& node, std::vector<std::string_view>* names) {
  names->insert(names->end(), node.inputs.begin(), node.inputs.end());
  ForEachGraph(node, [&](const Graph& graph) {
    for (const Node& inner : graph.nodes) CollectInputs(inner, names);
    for (const ValueInfo& output : graph.outputs) names->push_back(output.name);
  });
}

// The nodes, each after those whose outputs it reads. Not every exporter writes them so; those that
// are in order stay in theirs. Of several constants of one name, which tools that shrink models
// leave, the last counts, as for ONNX Runtime.
std::vector<const Node*> OrderedNodes(const Graph& graph) {
  std::map<std::string_view, const Node*> makers;
  for (const Node& node : graph.nodes)
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
  for (const Node& node : graph.nodes) {
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
      // A name inside may be one of this node's own, which hides that outside.
      if (maker != makers.end() && maker->second != top.node) open(maker->second);
    }
  }
  return ordered;
}

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options, const std::string& name)
      : builder_(name),
        model_(model),
        options_(options),
        file_name_(std::filesystem::path(model.path).filename().string()) {}

  graph::Function Run(ir::Attrs attrs = {}) {
    opset_ = model_.OpsetVersion("");
    FindReads();
    CheckOpset();
    CheckOperators();
    CheckOptions();
    AddInputs();
    bool has_body = attrs.find(graph::attr::kVersionsOnly) == attrs.end();
    if (has_body) AddNodes(model_.graph, main_);
    return Finish(std::move(attrs), has_body);
  }

 private:
  // ---- What is needed: from the outputs back

  void FindReads() {
    for (const ValueInfo& output : model_.graph.outputs)
      if (CanReturn(output)) reads_.insert(output.name);
    FindReads(model_.graph);
    TERN_CHECK(!reads_.empty()) << model_.path << " has no output that is a tensor of numbers";
  }

  // Names of graphs inside of others are taken together: what is read too much goes later.
  void FindReads(const Graph& graph) {
    std::vector<const Node*> nodes = OrderedNodes(graph);
    for (size_t i = nodes.size(); i-- > 0;) {
      const Node& node = *nodes[i];
      if (!IsRead(node)) continue;
      reads_.insert(node.inputs.begin(), node.inputs.end());
      ForEachGraph(node, [&](const Graph& inner) {
        for (const ValueInfo& output : inner.outputs) reads_.insert(output.name);
        FindReads(inner);
      });
    }
  }

  bool IsRead(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](std::string_view output) { return reads_.contains(output); });
  }

  // Strings and maps are left out: what else there is can be computed without. The maps of ZipMap
  // are their numbers.
  bool CanReturn(const ValueInfo& output) const {
    if (output.type.kind == Type::Kind::kSequence)
      return std::any_of(model_.graph.nodes.begin(), model_.graph.nodes.end(),
                         [&](const Node& node) {
                           return node.op_type == "ZipMap" && node.outputs[0] == output.name;
                         });
    return output.type.kind == Type::Kind::kNone ||
           (output.type.kind == Type::Kind::kTensor &&
            (output.type.elem == ElemType::kUndefined || DataTypeOf(output.type.elem)));
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
    FindUnsupported(model_.graph, &missing);
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

  void FindUnsupported(const Graph& graph,
                       std::map<std::string, std::vector<std::string>>* missing) const {
    for (const Node& node : graph.nodes) {
      if (!IsRead(node)) continue;
      ForEachGraph(node, [&](const Graph& inner) { FindUnsupported(inner, missing); });
      if (IsControlFlow(node) || FindConverter(node.domain, node.op_type)) continue;
      std::string op(node.domain.empty() ? "" : std::string(node.domain) + ".");
      (*missing)[op + std::string(node.op_type)].push_back(NodeName(node));
    }
  }

  static std::string NodeName(const Node& node) {
    if (!node.name.empty()) return std::string(node.name);
    return node.outputs.empty() ? "?" : "-> " + std::string(node.outputs[0]);
  }

  void CheckOptions() const {
    std::vector<std::string> inputs, dims;
    for (const ValueInfo& input : model_.graph.inputs) {
      inputs.emplace_back(input.name);
      for (const Dim& dim : input.type.shape.value_or(std::vector<Dim>()))
        if (!dim.is_known() && !dim.is_anonymous()) dims.emplace_back(dim.param);
      for (size_t i = 0; input.type.shape && i < input.type.shape->size(); ++i)
        if ((*input.type.shape)[i].is_anonymous()) dims.push_back(AnonymousName(input.name, i));
    }
    auto check_input = [&](const std::string& name) {
      if (std::find(inputs.begin(), inputs.end(), name) == inputs.end())
        TERN_THROW(ValueError) << model_.path << " has no input " << name
                               << ffi::DidYouMean(name, inputs)
                               << "; it has: " << ffi::Join(inputs);
    };
    for (const auto& [name, shape] : options_.input_shapes) check_input(name);
    for (const auto& [name, tensor] : options_.constants) check_input(name);
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
      if (auto it = options_.constants.find(name); it != options_.constants.end()) {
        main_.values[input.name] = BoundInput(input, it->second);
      } else if (initializer == main_.initializers.end()) {
        main_.values[input.name] = builder_.Param(name, TypeOf(input));
        input_names_.push_back(name);
      } else if (IsOverridable(*initializer->second)) {
        main_.values[input.name] = AddDefault(name, *initializer->second);
        input_names_.push_back(name);
      }
    }
  }

  static void AddInitializers(const Graph& graph, Scope& scope) {
    for (const Tensor& tensor : graph.initializers) scope.initializers[tensor.name] = &tensor;
  }

  Value BoundInput(const ValueInfo& input, const Tensor& tensor) {
    if (input.type.kind != Type::Kind::kTensor || input.type.elem != tensor.type)
      TERN_THROW(ValueError) << model_.path << ": input " << input.name << " is "
                             << TypeText(input.type) << "; the constant given has elements of type "
                             << NameOf(tensor.type);
    return ConstantOf(&builder_, tensor, input.name, file_name_);
  }

  bool IsOverridable(const Tensor& initializer) const {
    constexpr int64_t kFirstWithDefaults = 4;
    std::optional<DataType> dtype = DataTypeOf(initializer.type);
    std::string name(initializer.name);
    return model_.ir_version >= kFirstWithDefaults && reads_.contains(initializer.name) && dtype &&
           dtype->is_float() && (!options_.overridable || options_.overridable->contains(name));
  }

  Value AddDefault(const std::string& name, const Tensor& initializer) {
    graph::TensorType type{*DataTypeOf(initializer.type), {}};
    for (int64_t extent : initializer.dims) type.shape.emplace_back(extent);
    Value param = builder_.Param(name, type);
    Value value = ConstantOf(&builder_, initializer, name, file_name_);
    return builder_.Add("with_default", {param, value}, {}, {.names = {name}});
  }

  graph::TensorType TypeOf(const ValueInfo& input) {
    std::string name(input.name);
    if (input.type.kind != Type::Kind::kTensor)
      TERN_THROW(ValueError) << model_.path << ": input " << name << " is " << TypeText(input.type)
                             << "; tensors are supported";
    std::optional<DataType> dtype = DataTypeOf(input.type.elem);
    if (!dtype)
      TERN_THROW(ValueError) << model_.path << ": input " << name << " has elements of type "
                             << NameOf(input.type.elem) << ", which is not supported";
    auto given = options_.input_shapes.find(name);
    std::vector<Dim> dims;
    if (input.type.shape)
      dims = *input.type.shape;
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
  Value FindValue(std::string_view name, Scope& scope) {
    auto it = scope.values.find(name);
    if (it != scope.values.end()) return it->second;
    auto tensor = scope.initializers.find(name);
    if (tensor != scope.initializers.end())
      return scope.values[name] = ConstantOf(scope.builder, *tensor->second, name, file_name_);
    if (!scope.outer) return {};
    Value outer = FindValue(name, *scope.outer);
    if (!outer) return {};
    return scope.values[name] = scope.region ? scope.region->Capture(outer) : outer;
  }

  Value ValueOf(std::string_view name, Scope& scope) {
    if (name.empty()) return {};
    Value value = FindValue(name, scope);
    if (!value)
      TERN_THROW(ValueError) << "it reads " << name << ", which nothing before it computes";
    return value;
  }

  // ---- Nodes

  void AddNodes(const Graph& graph, Scope& scope) {
    for (const Node* node : OrderedNodes(graph))
      if (IsRead(*node)) AddNode(*node, scope);
  }

  void AddNode(const Node& node, Scope& scope) {
    std::string context =
        model_.path + ": " + std::string(node.op_type) + " '" + NodeName(node) + "'";
    std::vector<Value> outputs = WithContext(context, [&] {
      std::vector<Value> inputs;
      for (std::string_view input : node.inputs) inputs.push_back(ValueOf(input, scope));
      NodeContext context(scope.builder, node, opset_, inputs, reads_, file_name_);
      if (IsControlFlow(node))
        return ImportControlFlow(context, [&](const Graph& graph, graph::RegionBuilder* region,
                                              const std::vector<Value>& params) {
          return ImportGraph(graph, scope, region, params);
        });
      ConverterEntry entry = FindConverter(node.domain, node.op_type);
      if (entry.convert) return entry.convert(context);
      return context.EmitSame(entry.same);
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
  std::vector<Value> ImportGraph(const Graph& graph, Scope& outer, graph::RegionBuilder* region,
                                 const std::vector<Value>& params) {
    Scope scope{region ? &region->builder() : outer.builder, &outer, region};
    AddInitializers(graph, scope);
    TERN_CHECK(graph.inputs.size() == params.size())
        << "graph " << graph.name << " has " << graph.inputs.size() << " inputs; " << params.size()
        << " are given";
    for (size_t i = 0; i < params.size(); ++i) scope.values[graph.inputs[i].name] = params[i];
    AddNodes(graph, scope);
    std::vector<Value> results;
    for (const ValueInfo& output : graph.outputs) results.push_back(ValueOf(output.name, scope));
    return results;
  }

  graph::Function Finish(ir::Attrs attrs, bool has_body) {
    std::vector<Value> results;
    std::vector<ffi::Any> names;
    for (const ValueInfo& output : model_.graph.outputs) {
      if (!has_body || !CanReturn(output)) continue;
      results.push_back(WithContext(model_.path + ": output " + std::string(output.name),
                                    [&] { return ValueOf(output.name, main_); }));
      names.emplace_back(std::string(output.name));
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
  Scope main_{&builder_};
  std::map<std::string, ir::Var> dims_;
  std::vector<std::string> input_names_;
};

}  // namespace

ir::IRModule Import(const Model& model, const ImportOptions& options) {
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
