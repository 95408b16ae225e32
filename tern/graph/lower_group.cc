// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/lower_group.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "tern/graph/builder.h"
#include "tern/graph/collapse_dims.h"
#include "tern/graph/op.h"
#include "tern/graph/program_op.h"
#include "tern/graph/split_dims.h"
#include "tern/graph/stages.h"
#include "tern/ir/visitor.h"
#include "tern/schedule/nest.h"
#include "tern/tir/attributes.h"
#include "tern/tir/block_op.h"
#include "tern/tir/visitor.h"

namespace tern::graph {
namespace {

class GroupLowering {
 public:
  GroupLowering(const std::vector<Node>& nodes, const LowerOptions& options)
      : nodes_(nodes), options_(options) {}

  GroupFunction Run() {
    FindVars();
    // Formulas may be those that suit the machine, where they need not add in order.
    std::optional<target::TargetScope> scope;
    if (options_.target && options_.reassociate) scope.emplace(options_.target);
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
    if (options_.allow_tf32) attrs[tir::attr::kAllowTf32] = ffi::Any(true);
    if (!constants.empty()) attrs["constants"] = ffi::Any(ffi::MakeArray(std::move(constants)));
    tir::PrimFunc function = tir::MakeFunction("kernel", params, std::move(attrs));
    if (options_.target && options_.target->is_device()) function = WithGlobalMemory(function);
    Collapsed collapsed = CollapseDims(SplitDims(function));
    result.function = collapsed.function;
    result.shapes = std::move(collapsed.shapes);
    return result;
  }

 private:
  // The names of what extents and contents depend on, which are parameters, too.
  void FindVars() {
    auto add = [&](const std::vector<Expr>& exprs) {
      for (const Expr& expr : exprs)
        ir::ForEachExpr(expr, [&](const Expr& part) {
          if (const auto* var = part.As<ir::VarNode>()) vars_.insert(var->name);
        });
    };
    for (const Node& node : nodes_)
      for (const auto* values : {&node->inputs, &node->outputs})
        for (const Value& value : *values) {
          if (!value) continue;
          add(value->type.shape);
          if (value->content) add(*value->content);
        }
  }

  // A name that none of these begins with: blocks of a node have more behind it.
  std::string Free(std::string name) const {
    while (std::any_of(vars_.begin(), vars_.end(),
                       [&](const std::string& var) { return var.starts_with(name); }))
      name += "_";
    return name;
  }

  void AddNode(const Node& node, size_t number) {
    std::vector<tir::Tensor> inputs;
    for (const Value& input : node->inputs)
      inputs.push_back(input ? TensorOf(input) : tir::Tensor());
    // Names say where the value comes from, and are the same for every group of this form.
    std::string name = node->op->name + (number ? "_" + std::to_string(number) : "");
    results_ = ComputeNode(node, Free(name), std::move(inputs));
    for (size_t i = 0; i < results_.size(); ++i) internal_[node->outputs[i].get()] = results_[i];
  }

  tir::Tensor TensorOf(const Value& value) {
    if (auto it = internal_.find(value.get()); it != internal_.end()) return it->second;
    for (const auto& [known, tensor] : external_)
      if (known.same(value)) return tensor;
    std::string name = (value->constant ? "w" : "x") + std::to_string(external_.size());
    external_.emplace_back(value, tir::Input(Free(name), value->type.dtype, value->type.shape));
    return external_.back().second;
  }

  const std::vector<Node>& nodes_;
  const LowerOptions& options_;
  std::set<std::string> vars_;
  std::vector<std::pair<Value, tir::Tensor>> external_;
  std::unordered_map<const ValueNode*, tir::Tensor> internal_;
  std::vector<tir::Tensor> results_;
};

// The blocks of a program are of its operator.
class OpTagger : public tir::StmtMutator {
 public:
  explicit OpTagger(std::string op) : op_(std::move(op)) {}

 private:
  using StmtMutator::MutateNode;
  tir::Stmt MutateNode(const tir::BlockNode* node, const tir::Stmt& stmt) override {
    return tir::WithOp(MutateChildren(node, stmt), op_);
  }
  const std::string op_;
};

}  // namespace

GroupFunction LowerGroup(const std::vector<Node>& nodes, const LowerOptions& options) {
  const Node& node = nodes[0];
  if (node->op->program.empty()) return GroupLowering(nodes, options).Run();
  ProgramFunction program = MakeProgram(node);
  GroupFunction result{program.function, node->inputs, node->outputs, {}, {}, program.kernels};
  // A serial program, with memory of its own. One that launches kernels is the device's, and so is
  // one of blocks, which rules schedule.
  bool has_blocks = !schedule::BlocksIn(program.function->body).empty();
  result.function =
      result.function.WithBody(OpTagger(node->op->name).Mutate(result.function->body));
  if (has_blocks && options.reassociate)
    result.function = result.function.WithAttr(tir::attr::kReassociate, ffi::Any(true));
  if (has_blocks && options.allow_tf32)
    result.function = result.function.WithAttr(tir::attr::kAllowTf32, ffi::Any(true));
  if (!has_blocks && program.kernels.empty() && options.target && options.target->is_device())
    result.function = result.function.WithAttr(tir::attr::kTarget, options.target->host);
  for (const auto* values : {&result.inputs, &result.outputs})
    for (const Value& value : *values) result.shapes.push_back(value->type.shape);
  return result;
}

}  // namespace tern::graph
