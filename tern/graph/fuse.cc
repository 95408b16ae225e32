// SPDX-License-Identifier: Apache-2.0
//
// Which nodes are one kernel. In topological order, an elementwise node joins the group that
// computes one of its inputs, where nobody else reads that and the shapes are the same: it becomes
// the epilogue. Whatever it reads besides is read as it lies.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tern/graph/builder.h"
#include "tern/graph/lower.h"
#include "tern/schedule/rules/block_kind.h"

namespace tern::graph {
namespace {

// An epilogue of more operations is computed in a kernel of its own.
constexpr size_t kMaxEpilogue = 24;

// Which inputs of a node its formulas read; of the others the shape or the content was enough.
std::vector<bool> ReadInputs(const Node& node) {
  std::vector<bool> read(node->inputs.size(), false);
  if (node->op->is_view) {
    read[0] = true;
    return read;
  }
  std::vector<tir::Tensor> inputs;
  for (const Value& input : node->inputs)
    inputs.push_back(input ? tir::Input(input->name, input->type.dtype, input->type.shape)
                           : tir::Tensor());
  std::vector<tir::Tensor> results = ComputeNode(node, "y", inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    read[i] = inputs[i] && tir::IsReadBy(inputs[i], results);
  return read;
}

class Fuser {
 public:
  Fuser(const Function& function, const LowerOptions& options)
      : function_(function), options_(options) {}

  std::vector<Group> Run() {
    FindUses();
    for (const Node& node : function_->nodes)
      if (needed_.contains(node.get()) && !node->op->is_view) Place(node);
    std::vector<Group> groups;
    for (Group& group : groups_)
      if (!group.nodes.empty()) groups.push_back(std::move(group));
    return groups;
  }

 private:
  // From the results back: what runs, and how often each value is read then.
  void FindUses() {
    for (const Value& result : function_->results) ++uses_[result.get()];
    for (size_t i = function_->nodes.size(); i-- > 0;) {
      const Node& node = function_->nodes[i];
      if (std::none_of(node->outputs.begin(), node->outputs.end(),
                       [&](const Value& output) { return uses_.contains(output.get()); }))
        continue;
      needed_.insert(node.get());
      std::vector<bool> read = ReadInputs(node);
      for (size_t k = 0; k < read.size(); ++k)
        if (read[k]) ++uses_[node->inputs[k].get()];
    }
  }

  void Place(const Node& node) {
    size_t group = groups_.size();
    if (options_.fuse && IsElementwise(node)) group = GroupToJoin(node);
    if (group < groups_.size()) {
      // It runs where its last node stands, when all that the node reads is there.
      Group joined = std::move(groups_[group]);
      groups_[group].nodes.clear();
      joined.nodes.push_back(node);
      groups_.push_back(std::move(joined));
    } else {
      groups_.push_back({{node}});
    }
    for (const Node& member : groups_.back().nodes)
      for (const Value& output : member->outputs) group_of_[output.get()] = groups_.size() - 1;
  }

  // The latest group that computes an input for this node alone.
  size_t GroupToJoin(const Node& node) const {
    size_t best = groups_.size();
    bool found = false;
    for (const Value& input : node->inputs) {
      if (!input || input->constant) continue;
      auto it = group_of_.find(input.get());
      if (it == group_of_.end()) continue;
      const Group& group = groups_[it->second];
      if (group.nodes.empty() || group.result().get() != input.get() ||
          group.nodes.back()->outputs.size() != 1 || uses_.at(input.get()) != 1 ||
          group.nodes.size() >= kMaxEpilogue || !SameShape(input, node->outputs[0]) ||
          IsData(group.nodes[0]))
        continue;
      if (!found || it->second > best) best = it->second;
      found = true;
    }
    return best;
  }

  // Elements from elsewhere: a concat or a gather with more behind it is computed slower than
  // apart.
  static bool IsData(const Node& node) {
    const std::string& op = node->op->name;
    return op == "concat" || op == "gather";
  }

  static bool SameShape(const Value& a, const Value& b) {
    return a->type.rank() == b->type.rank() &&
           std::equal(a->type.shape.begin(), a->type.shape.end(), b->type.shape.begin(),
                      SameExtent);
  }

  // By what its formula is.
  static bool IsElementwise(const Node& node) {
    if (node->outputs.size() != 1) return false;
    std::vector<tir::Tensor> inputs;
    std::vector<tir::Argument> args;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Value& input = node->inputs[i];
      inputs.push_back(
          input ? tir::Input("p" + std::to_string(i), input->type.dtype, input->type.shape)
                : tir::Tensor());
    }
    std::vector<tir::Tensor> results = ComputeNode(node, "y", inputs);
    for (const tir::Tensor& input : inputs)
      if (input && tir::IsReadBy(input, results)) args.emplace_back(input);
    args.emplace_back(results[0]);
    std::vector<schedule::BlockInfo> blocks;
    try {
      blocks = schedule::DescribeBlocks(tir::MakeFunction("f", args));
    } catch (const Error&) {
      return false;  // an extent that no tensor tells
    }
    using schedule::BlockKind;
    return blocks.size() == 1 &&
           (blocks[0].kind == BlockKind::kElementwise || blocks[0].kind == BlockKind::kBroadcast);
  }

  const Function& function_;
  const LowerOptions& options_;
  std::unordered_map<const ValueNode*, int> uses_;
  std::unordered_set<const NodeNode*> needed_;
  std::vector<Group> groups_;  // those that joined a later one are empty
  std::unordered_map<const ValueNode*, size_t> group_of_;
};

}  // namespace

std::vector<Group> FuseNodes(const Function& function, const LowerOptions& options) {
  return Fuser(function, options).Run();
}

}  // namespace tern::graph
