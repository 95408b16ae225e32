// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <unordered_set>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/graph/builder.h"
#include "tern/graph/lower.h"
#include "tern/graph/transform/passes.h"
#include "tern/runtime/vm/session.h"

namespace tern::graph {
namespace {

bool IsStatic(const Value& value) {
  return std::all_of(value->type.shape.begin(), value->type.shape.end(),
                     [](const Expr& extent) { return ir::AsConstInt(extent).has_value(); });
}

// The part of a graph that reads constants alone, as a graph without parameters. Its results are
// what the rest reads.
Function ConstantPart(const Function& function) {
  std::unordered_set<const ValueNode*> known, wanted;
  std::vector<Node> nodes;
  for (const Node& node : function->nodes) {
    bool folds = std::all_of(node->inputs.begin(), node->inputs.end(), [&](const Value& input) {
      return !input || input->constant || known.contains(input.get());
    });
    folds = folds && node->op->control == Control::kNone;
    if (folds && std::all_of(node->outputs.begin(), node->outputs.end(), IsStatic)) {
      for (const Value& output : node->outputs) known.insert(output.get());
      nodes.push_back(node);
    } else {
      for (const Value& input : node->inputs) wanted.insert(input.get());
    }
  }
  for (const Value& result : function->results) wanted.insert(result.get());
  std::vector<Value> results;
  for (const Node& node : nodes)
    for (const Value& output : node->outputs)
      if (wanted.contains(output.get())) results.push_back(output);
  return Function::Make("main", {}, std::move(nodes), std::move(results));
}

// Compiled for the baseline of this machine's architecture, and run.
std::vector<runtime::Tensor> RunHere(const Function& function) {
  LoweredModel lowered = LowerGraph(function, {.fuse = true, .reassociate = false});
  CompileOptions options;
  options.prepack = CompileOptions::Prepack::kNone;
  options.default_schedules = false;
  target::Target host = target::Target::DefaultHost();
  std::map<std::string, ir::Constant> weights;
  for (const ir::Constant& constant : lowered.weights) weights[constant->name] = constant;
  runtime::vm::ModelParts parts;
  parts.program = std::move(lowered.program);
  if (!lowered.calls.empty()) {  // there is more than views
    parts.functions = DescribeModule(lowered.kernels, host, options).functions;
    parts.module = codegen::LoadLinkable(Compile(lowered.kernels, host, options));
  }
  parts.weight = [&](const runtime::vm::Constant& constant) {
    runtime::Tensor tensor = runtime::Tensor::Empty(constant.shape, constant.dtype);
    weights.at(constant.name)->CopyTo(tensor->data());
    return tensor;
  };
  runtime::vm::Session session(std::make_shared<runtime::vm::Model>(std::move(parts)));
  return session.Run({});
}

class Replacer : public Rewriter {
 public:
  explicit Replacer(std::map<const ValueNode*, runtime::Tensor> folded)
      : folded_(std::move(folded)) {}

 protected:
  std::vector<Value> Rewrite(Builder& builder, const Node& node,
                             const std::vector<Value>& inputs) override {
    std::vector<Value> outputs = builder.Copy(node, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      auto it = folded_.find(node->outputs[i].get());
      if (it == folded_.end()) continue;
      const runtime::Tensor& tensor = it->second;
      outputs[i] = builder.Constant(ir::Constant::Owned(
          builder.UnusedName(outputs[i]->name), tensor->dtype(), tensor->shape(),
          std::string(tensor.as<const char>(), tensor->num_bytes())));
    }
    return outputs;
  }

 private:
  std::map<const ValueNode*, runtime::Tensor> folded_;
};

}  // namespace

Function FoldConstantNodes(const Function& function) {
  Function part = ConstantPart(function);
  if (part->results.empty()) return function;
  std::vector<runtime::Tensor> tensors = RunHere(part);
  std::map<const ValueNode*, runtime::Tensor> folded;
  for (size_t i = 0; i < tensors.size(); ++i) folded[part->results[i].get()] = tensors[i];
  return RemoveDeadNodes(Replacer(std::move(folded)).Run(function));
}

}  // namespace tern::graph
