// SPDX-License-Identifier: Apache-2.0
//
// Which nodes are one kernel. The graph proposes: in topological order, an elementwise node joins
// the group that computes one of its inputs, where nobody else reads that and the shapes are the
// same. It becomes the epilogue; whatever it reads besides is read as it lies. The schedule rules
// decide: where the fused function loses a rule that the first node has alone, the group is cut.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "tern/graph/builder.h"
#include "tern/graph/lower_group.h"
#include "tern/schedule/rules/block_kind.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/tir/text.h"

namespace tern::graph {
namespace {

// An epilogue of more operations is computed in a kernel of its own.
constexpr size_t kMaxEpilogue = 24;

// What the formulas of a node say.
struct NodeFacts {
  std::vector<bool> read;    // of its inputs; of the others the shape or the content was enough
  bool elementwise = false;  // one result, each element from one of each input
  bool chooses = false;      // one result: elements from where a condition or an index says
};

NodeFacts FactsOf(const Node& node) {
  NodeFacts facts;
  facts.read.resize(node->inputs.size(), false);
  if (node->op->is_view) {
    facts.read[0] = true;
    return facts;
  }
  std::vector<tir::Tensor> inputs;
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    const Value& input = node->inputs[i];
    inputs.push_back(input
                         ? tir::Input("x" + std::to_string(i), input->type.dtype, input->type.shape)
                         : tir::Tensor());
  }
  std::vector<tir::Tensor> results = ComputeNode(node, "y", inputs);
  std::vector<tir::Argument> args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    facts.read[i] = inputs[i] && tir::IsReadBy(inputs[i], results);
    if (facts.read[i]) args.emplace_back(inputs[i]);
  }
  if (results.size() != 1) return facts;
  args.emplace_back(results[0]);
  for (const Var& scalar : tir::MissingScalars(args)) args.emplace_back(scalar);
  std::vector<schedule::BlockInfo> blocks = schedule::DescribeBlocks(tir::MakeFunction("f", args));
  if (blocks.size() != 1) return facts;
  using schedule::BlockKind;
  BlockKind kind = blocks[0].kind;
  facts.elementwise = kind == BlockKind::kElementwise || kind == BlockKind::kBroadcast;
  facts.chooses =
      kind == BlockKind::kGather || (kind == BlockKind::kInjective && blocks[0].conditional);
  return facts;
}

// Asks the rules of the target about groups. Equal functions are asked about once.
class RuleCheck {
 public:
  explicit RuleCheck(const LowerOptions& options) : options_(options) {}

  // Why the group is no good as one kernel; "" where it is.
  std::string Lost(const std::vector<Node>& group) {
    std::set<std::string> fused = RulesOf(group);
    for (const std::string& rule : RulesOf({group[0]}))
      if (!fused.contains(rule))
        return "rule " + rule + " takes " + group[0]->op->name + " alone, but not fused";
    return "";
  }

 private:
  std::set<std::string> RulesOf(const std::vector<Node>& group) {
    tir::PrimFunc function =
        LowerGroup(group, options_).function.WithAttr(tir::attr::kTarget, options_.target);
    uint64_t hash = tir::StructuralHash(function);
    for (auto [it, end] = known_.equal_range(hash); it != end; ++it)
      if (tir::StructuralEqual(it->second.first, function)) return it->second.second;
    schedule::Explanation explanation;
    schedule::ApplyDefaultSchedule(function, &explanation);
    std::set<std::string> rules;
    for (const schedule::RuleResult& result : explanation.results)
      if (!result.rule.empty()) rules.insert(result.rule);
    known_.emplace(hash, std::pair(function, rules));
    return rules;
  }

  const LowerOptions& options_;
  std::multimap<uint64_t, std::pair<tir::PrimFunc, std::set<std::string>>> known_;
};

class Fuser {
 public:
  Fuser(const Function& function, const LowerOptions& options)
      : function_(function), options_(options) {}

  std::vector<Group> Run() {
    FindUses();
    for (const Node& node : function_->nodes)
      if (facts_.contains(node.get()) && !node->op->is_view) Place(node);
    std::vector<Group> groups;
    RuleCheck check(options_);
    for (Group& group : groups_)
      if (!group.nodes.empty()) Cut(std::move(group), &check, &groups);
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
      NodeFacts facts = FactsOf(node);
      for (size_t k = 0; k < facts.read.size(); ++k)
        if (facts.read[k]) ++uses_[node->inputs[k].get()];
      facts_.emplace(node.get(), std::move(facts));
    }
  }

  void Place(const Node& node) {
    Choice choice{groups_.size(), ""};
    if (options_.fuse && facts_.at(node.get()).elementwise) choice = GroupToJoin(node);
    if (choice.group < groups_.size()) {
      // It runs where its last node stands, when all that the node reads is there.
      Group joined = std::move(groups_[choice.group]);
      groups_[choice.group].nodes.clear();
      joined.nodes.push_back(node);
      groups_.push_back(std::move(joined));
    } else {
      groups_.push_back({{node}, choice.apart});
    }
    for (const Node& member : groups_.back().nodes)
      for (const Value& output : member->outputs) group_of_[output.get()] = groups_.size() - 1;
  }

  struct Choice {
    size_t group;       // its number, or that of a new one
    std::string apart;  // why it joins none of those that compute its inputs
  };

  // The latest group that computes an input for this node alone.
  Choice GroupToJoin(const Node& node) const {
    Choice best{groups_.size(), ""};
    bool found = false;
    for (const Value& input : node->inputs) {
      if (!input || input->constant) continue;
      auto it = group_of_.find(input.get());
      if (it == group_of_.end()) continue;
      std::string why = WhyNot(groups_[it->second], input, node);
      if (!why.empty()) {
        best.apart += (best.apart.empty() ? "" : "; ") + why;
      } else if (!found || it->second > best.group) {
        best.group = it->second;
        found = true;
      }
    }
    return best;
  }

  // Why the node cannot join the group that computes its input; "" where it can.
  std::string WhyNot(const Group& group, const Value& input, const Node& node) const {
    int uses = uses_.at(input.get());
    if (uses != 1) return input->name + " is read " + std::to_string(uses) + " times";
    if (group.nodes.empty() || group.result().get() != input.get() ||
        group.nodes.back()->outputs.size() != 1)
      return input->name + " is one of several results";
    if (group.nodes.size() >= kMaxEpilogue)
      return "the epilogue of " + input->name + " has " + std::to_string(kMaxEpilogue) +
             " operators already";
    if (!SameShape(input, node->outputs[0]))
      return input->name + " is of shape " + ShapeText(input->type.shape);
    // Concats, paddings, gathers are slower to compute with than to copy.
    if (facts_.at(group.nodes[0].get()).chooses)
      return input->name + " is copied together by " + group.nodes[0]->op->name;
    return "";
  }

  static bool SameShape(const Value& a, const Value& b) {
    return a->type.rank() == b->type.rank() &&
           std::equal(a->type.shape.begin(), a->type.shape.end(), b->type.shape.begin(),
                      SameExtent);
  }

  // Adds the group, in as many pieces as the rules want. Each node but the first reads the one
  // before it, so the pieces run one behind another.
  void Cut(Group group, RuleCheck* check, std::vector<Group>* groups) const {
    while (!group.nodes.empty()) {
      std::string lost;
      size_t length = group.nodes.size();
      for (; options_.target && length > 1; --length) {
        std::string why =
            check->Lost({group.nodes.begin(), group.nodes.begin() + static_cast<long>(length)});
        if (why.empty()) break;
        lost = why;
      }
      auto end = group.nodes.begin() + static_cast<long>(length);
      groups->push_back({{group.nodes.begin(), end}, group.apart});
      group = {{end, group.nodes.end()}, lost};
    }
  }

  const Function& function_;
  const LowerOptions& options_;
  std::unordered_map<const ValueNode*, int> uses_;
  std::unordered_map<const NodeNode*, NodeFacts> facts_;  // of the nodes that run
  std::vector<Group> groups_;                             // those that joined a later one are empty
  std::unordered_map<const ValueNode*, size_t> group_of_;
};

}  // namespace

std::vector<Group> FuseNodes(const Function& function, const LowerOptions& options) {
  return Fuser(function, options).Run();
}

}  // namespace tern::graph
