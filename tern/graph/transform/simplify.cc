// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>

#include "tern/ffi/json.h"
#include "tern/graph/builder.h"
#include "tern/graph/control.h"
#include "tern/graph/offload.h"
#include "tern/graph/transform/passes.h"
#include "tern/ir/pass.h"
#include "tern/tir/text.h"

namespace tern::graph {
namespace {

bool IsConstant(const Expr& expr) {
  return expr.As<ir::IntImmNode>() || expr.As<ir::FloatImmNode>();
}

bool SameShape(const TensorType& a, const TensorType& b) {
  return a.rank() == b.rank() &&
         std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), SameExtent);
}

std::optional<std::vector<int64_t>> StaticShape(const TensorType& type) {
  std::vector<int64_t> shape;
  for (const Expr& extent : type.shape) {
    std::optional<int64_t> constant = ir::AsConstInt(extent);
    if (!constant) return {};
    shape.push_back(*constant);
  }
  return shape;
}

class Simplifier : public Rewriter {
 protected:
  std::vector<Value> Rewrite(Builder& builder, const Node& node,
                             const std::vector<Value>& inputs) override {
    if (Value fill = Fill(builder, node, inputs)) return {fill};
    if (Value view = ConstantView(builder, node, inputs)) return {view};
    std::vector<Value> outputs = builder.Copy(node, inputs);
    if (outputs.size() == 1 && DoesNothing(node, inputs, outputs[0])) return {inputs[0]};
    for (Value& output : outputs)
      if (Value constant = Known(builder, output)) output = constant;
    return outputs;
  }

 private:
  // However large it is, one element says all.
  static Value Fill(Builder& builder, const Node& node, const std::vector<Value>& inputs) {
    if (node->op->name != "constant_of_shape") return {};
    std::optional<std::vector<int64_t>> shape = StaticShape(node->outputs[0]->type);
    Expr value = ir::MakeConst(node->outputs[0]->type.dtype, 0);
    if (inputs.size() > 1 && inputs[1])
      value = inputs[1]->content ? (*inputs[1]->content)[0] : Expr();
    if (!shape || !value || !IsConstant(value)) return {};
    return builder.Constant(ir::Constant::Splat(builder.UnusedName(node->outputs[0]->name),
                                                node->outputs[0]->type.dtype, *shape, value));
  }

  // The same elements under another shape.
  static Value ConstantView(Builder& builder, const Node& node, const std::vector<Value>& inputs) {
    std::optional<std::vector<int64_t>> shape = StaticShape(node->outputs[0]->type);
    if (!node->op->is_view || !inputs[0]->constant || !shape) return {};
    auto constant = ffi::Make<ir::ConstantNode>(*inputs[0]->constant);
    constant->name = builder.UnusedName(node->outputs[0]->name);
    constant->shape = *shape;
    return builder.Constant(ir::Constant(constant));
  }

  static bool DoesNothing(const Node& node, const std::vector<Value>& inputs, const Value& output) {
    const std::string& op = node->op->name;
    if (op == "with_default") return false;  // it says something of the input
    if (op == "read") return inputs[0]->content.has_value();
    if (op == "checked") return KnownScalar(inputs[1]).value_or(0) != 0;
    if (node->op->is_view) return SameShape(inputs[0]->type, output->type);
    if (op == "cast") return inputs[0]->type.dtype == output->type.dtype;
    if (op == "expand" || op == "sum" || op == "concat" || op == "max" || op == "min")
      return inputs.size() == 1 + (op == "expand" ? 1 : 0) &&
             SameShape(inputs[0]->type, output->type);
    return false;
  }

  static Value Known(Builder& builder, const Value& output) {
    if (!output->content) return {};
    std::optional<std::vector<int64_t>> shape = StaticShape(output->type);
    if (!shape || !std::all_of(output->content->begin(), output->content->end(), IsConstant))
      return {};
    DataType dtype = output->type.dtype;
    std::string bytes(
        static_cast<size_t>(dtype.BytesOf(static_cast<int64_t>(output->content->size()))), 0);
    for (size_t i = 0; i < output->content->size(); ++i)
      ir::StoreElement(dtype, (*output->content)[i], bytes.data(), static_cast<int64_t>(i));
    return builder.Constant(
        ir::Constant::Owned(builder.UnusedName(output->name), dtype, *shape, std::move(bytes)));
  }
};

// Nodes that compute the same are one, as the mask that an exporter computes again in each layer.
// Regions are left alone.
class EqualNodes {
 public:
  Function Run(const Function& function) {
    std::vector<Node> nodes;
    for (const Node& node : function->nodes) {
      auto copy = ffi::Make<NodeNode>(*node);
      for (Value& input : copy->inputs) input = Now(input);
      if (!IsShared(Node(copy))) nodes.emplace_back(copy);
    }
    std::vector<Value> results = function->results;
    for (Value& result : results) result = Now(result);
    return Function::Make(function->name, function->params, std::move(nodes), std::move(results),
                          function->attrs, function->span);
  }

 private:
  Value Now(const Value& value) const {
    auto it = replaced_.find(value.get());
    return it == replaced_.end() ? value : it->second;
  }

  // Whether one before it computes the same. Of nodes that read extents each has its own; names for
  // long expressions are the same where these are.
  bool IsShared(const Node& node) {
    if (node->op->control != Control::kNone || node->op->name == "with_default") return false;
    std::string key = node->op->name;
    for (const auto& [name, value] : node->attrs) key += " " + name + "=" + ffi::WriteJson(value);
    for (const Value& input : node->inputs) key += " " + KeyOf(input);
    auto [it, is_new] = known_.emplace(std::move(key), node);
    if (is_new || !std::equal(node->dims.begin(), node->dims.end(), it->second->dims.begin(),
                              it->second->dims.end(),
                              [](const Var& a, const Var& b) { return a.node() == b.node(); }))
      return false;
    for (size_t i = 0; i < node->outputs.size(); ++i)
      replaced_[node->outputs[i].get()] = it->second->outputs[i];
    return true;
  }

  // Small constants by their elements, as exporters write them again for each node; and integers
  // that are known as expressions, as exporters compute a shape again in each layer. Names of
  // extents are unique in a graph.
  static std::string KeyOf(const Value& value) {
    constexpr size_t kSmall = 4096;  // bytes
    if (!value) return "none";
    if (!value->constant && value->content && value->type.dtype.is_integer()) {
      std::string key = value->type.str() + "=";
      for (const Expr& element : *value->content) key += tir::Print(element) + ",";
      return key;
    }
    if (!value->constant || value->constant->data().size() > kSmall)
      return std::to_string(reinterpret_cast<uintptr_t>(value.get()));
    return value->type.str() + (value->constant->is_splat ? "s" : "") + ":" +
           std::string(value->constant->data());
  }

  std::map<std::string, Node> known_;
  std::map<const ValueNode*, Value> replaced_;
};

ir::Pass GraphPass(const char* name, const char* description, Function (*f)(const Function&)) {
  return {name, description, [f](const ir::IRModule& module) { return MapGraphs(module, f); }, {}};
}

}  // namespace

Function RemoveDeadNodes(const Function& function) {
  std::unordered_set<const ValueNode*> read;
  for (const Value& result : function->results) read.insert(result.get());
  std::vector<Node> kept;
  for (size_t i = function->nodes.size(); i-- > 0;) {
    const Node& node = function->nodes[i];
    if (std::none_of(node->outputs.begin(), node->outputs.end(),
                     [&](const Value& output) { return read.contains(output.get()); }))
      continue;
    for (const Value& input : node->inputs)
      if (input) read.insert(input.get());
    if (node->regions.empty()) {
      kept.push_back(node);
      continue;
    }
    auto copy = ffi::Make<NodeNode>(*node);
    for (ir::BaseFunc& region : copy->regions) region = RemoveDeadNodes(AsGraph(region));
    kept.emplace_back(copy);
  }
  std::reverse(kept.begin(), kept.end());
  return Function::Make(function->name, function->params, std::move(kept), function->results,
                        function->attrs, function->span);
}

Function SimplifyGraph(const Function& function) {
  return RemoveDeadNodes(EqualNodes().Run(Simplifier().Run(RemoveDeadNodes(function))));
}

std::vector<std::string> GraphPasses(const GraphPassOptions& options) {
  std::vector<std::string> passes;
  // Before weights are folded to floats.
  if (options.integer_arithmetic) passes.emplace_back("integer_arithmetic");
  passes.insert(passes.end(),
                {"simplify_graph", "infer_dim_ranges", "fold_batch_norm", "fold_constant_nodes",
                 "cancel_transposes", "move_reshapes", "simplify_graph"});
  const std::string& precision = options.precision;
  if (!precision.empty()) passes.push_back("lower_precision{to=" + precision + "}");
  for (const std::string& library : options.offload)
    passes.push_back("offload{to=" + library + "}");
  // Casts and transposes of weights leave regions, are computed, and are constants.
  if (!precision.empty() || !options.offload.empty())
    passes.insert(passes.end(), {"simplify_graph", "fold_constant_nodes", "simplify_graph"});
  return passes;
}

void RegisterGraphPasses() {
  ir::RegisterPass(GraphPass("simplify_graph", "known values are constants, idle nodes are gone",
                             SimplifyGraph));
  ir::RegisterPass(GraphPass("fold_batch_norm",
                             "batch normalizations are factors and summands, or parts of weights",
                             FoldBatchNorm));
  ir::RegisterPass(
      GraphPass("infer_dim_ranges", "extents have the ranges that the nodes need", InferDimRanges));
  ir::RegisterPass(GraphPass("cancel_transposes",
                             "transpositions that undo each other are gone, through concats too",
                             CancelTransposes));
  ir::RegisterPass(GraphPass(
      "move_reshapes", "elementwise nodes come before reshapes of what they read", MoveReshapes));
  ir::RegisterPass(
      GraphPass("integer_arithmetic",
                "quantized convolutions, matmuls, sums and means are of integers, channels last",
                IntegerArithmetic));
  ir::RegisterPass(
      {"lower_precision",
       "convolutions and matmuls read narrow floats, and so does what their range is enough for",
       [](const ir::IRModule& module, const ir::PassValues& values) {
         Precision precision = ParsePrecision(values.GetString("to"));
         return MapGraphs(
             module, [&](const Function& function) { return LowerPrecision(function, precision); });
       },
       {{"to", ffi::Any(std::string("fp16")), "fp16, bf16 or mixed",
         [](const ffi::Any& value) { ParsePrecision(value.As<std::string>()); }}}});
  ir::RegisterPass({"offload",
                    "what a library takes is computed by it",
                    [](const ir::IRModule& module, const ir::PassValues& values) {
                      std::string library = values.GetString("to");
                      return MapGraphs(module, [&](const Function& function) {
                        return OffloadNodes(function, library);
                      });
                    },
                    {{"to", ffi::Any(std::string("blas")), "the library: blas",
                      [](const ffi::Any& value) { GetOffload(value.As<std::string>()); }}}});
  ir::RegisterPass(GraphPass("fold_constant_nodes", "what reads constants alone is a constant",
                             FoldConstantNodes));
}

}  // namespace tern::graph
