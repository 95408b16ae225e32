// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/lower_group.h"

#include <string>
#include <unordered_map>

#include "tern/graph/builder.h"
#include "tern/graph/collapse_dims.h"
#include "tern/graph/op.h"
#include "tern/graph/program_op.h"
#include "tern/graph/split_dims.h"

namespace tern::graph {
namespace {

class GroupLowering {
 public:
  GroupLowering(const std::vector<Node>& nodes, const LowerOptions& options)
      : nodes_(nodes), options_(options) {}

  GroupFunction Run() {
    for (size_t i = 0; i < nodes_.size(); ++i) AddNode(nodes_[i], i);
    GroupFunction result;
    std::vector<tir::Argument> params;
    std::vector<ffi::Any> constants;
    for (const auto& [value, tensor] : external_) {
      if (!tir::IsReadBy(tensor, results_)) continue;
      params.emplace_back(tensor);
      result.inputs.push_back(value);
      if (value->constant) constants.emplace_back(tensor.name());
    }
    params.insert(params.end(), results_.begin(), results_.end());
    result.outputs = nodes_.back()->outputs;
    result.scalars = tir::MissingScalars(params);
    params.insert(params.end(), result.scalars.begin(), result.scalars.end());
    ir::Attrs attrs;
    if (options_.reassociate && !nodes_[0]->op->is_exact)
      attrs[tir::attr::kReassociate] = ffi::Any(true);
    if (!constants.empty()) attrs["constants"] = ffi::Any(ffi::MakeArray(std::move(constants)));
    Collapsed collapsed =
        CollapseDims(SplitDims(tir::MakeFunction("kernel", params, std::move(attrs))));
    result.function = collapsed.function;
    result.shapes = std::move(collapsed.shapes);
    return result;
  }

 private:
  void AddNode(const Node& node, size_t number) {
    std::vector<tir::Tensor> inputs;
    for (const Value& input : node->inputs)
      inputs.push_back(input ? TensorOf(input) : tir::Tensor());
    // Names say where the value comes from, and are the same for every group of this form.
    std::string name = node->op->name + (number ? "_" + std::to_string(number) : "");
    results_ = ComputeNode(node, name, std::move(inputs));
    for (size_t i = 0; i < results_.size(); ++i) internal_[node->outputs[i].get()] = results_[i];
  }

  tir::Tensor TensorOf(const Value& value) {
    if (auto it = internal_.find(value.get()); it != internal_.end()) return it->second;
    for (const auto& [known, tensor] : external_)
      if (known.same(value)) return tensor;
    std::string name = (value->constant ? "w" : "x") + std::to_string(external_.size());
    external_.emplace_back(value, tir::Input(name, value->type.dtype, value->type.shape));
    return external_.back().second;
  }

  const std::vector<Node>& nodes_;
  const LowerOptions& options_;
  std::vector<std::pair<Value, tir::Tensor>> external_;
  std::unordered_map<const ValueNode*, tir::Tensor> internal_;
  std::vector<tir::Tensor> results_;
};

}  // namespace

GroupFunction LowerGroup(const std::vector<Node>& nodes, const LowerOptions& options) {
  const Node& node = nodes[0];
  if (node->op->program.empty()) return GroupLowering(nodes, options).Run();
  GroupFunction result{MakeProgram(node).function, node->inputs, node->outputs, {}, {}};
  for (const auto* values : {&result.inputs, &result.outputs})
    for (const Value& value : *values) result.shapes.push_back(value->type.shape);
  return result;
}

}  // namespace tern::graph
