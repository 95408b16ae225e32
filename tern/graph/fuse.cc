// SPDX-License-Identifier: Apache-2.0
//
// Which nodes are one kernel. The graph proposes: in topological order, an elementwise node joins
// the group that computes one of its inputs, where nobody else reads that and the shapes are the
// same. It becomes the epilogue; its other operands are read in place. So do several elementwise
// nodes that read one result, x * sigmoid(x), where they come together in one. A reduction of rows
// and what follows it, up to where the rows are back, are a group where a rule for rows takes all
// of it: normalizations and softmax as exporters spell them. The schedule rules decide: where the
// fused function loses a rule that the first node has alone, the group is cut. Then three groups,
// of which each alone reads the one before, become one where a rule takes them as attention; and a
// concat reads what is cut out for it, or computed by element, where that lies.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "tern/codegen/compiled_function.h"
#include "tern/graph/lower_group.h"
#include "tern/graph/op.h"
#include "tern/runtime/kernel/program_cache.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/tir/text.h"

namespace tern::graph {
namespace {

// An epilogue of more operations is computed in a kernel of its own.
constexpr size_t kMaxEpilogue = 24;

// Asks the rules of the target about groups. Equal functions are asked about once, and what they
// answer is kept on disk where code for the target is.
class RuleCheck {
 public:
  explicit RuleCheck(const LowerOptions& options) : options_(options) {
    if (!options.target) return;
    cache_ = runtime::ProgramCache::FromEnvironment();
    if (cache_) around_ = codegen::CacheKeyOf(options.target);
    if (around_.empty()) cache_.reset();
  }

  // Why the group is no good as one kernel; "" where it is.
  std::string Lost(const std::vector<Node>& group) {
    if (TakesAllRows(group)) return "";
    std::set<std::string> fused = RulesOf(group);
    for (const std::string& rule : RulesOf({group[0]}))
      if (!fused.contains(rule))
        return "rule " + rule + " takes " + group[0]->op->name + " alone, but not fused";
    return "";
  }

  // Whether rules for rows, and no others, take the group.
  bool TakesAllRows(const std::vector<Node>& group) {
    std::set<std::string> rules = RulesOf(group);
    bool takes = false;
    for (const schedule::Rule* rule : schedule::AllRules()) {
      if (!rules.contains(rule->name)) continue;
      if (!rule->IsFor(schedule::BlockKind::kNormalization)) return false;
      takes = true;
    }
    return takes;
  }

  // Whether rules take the group, and all of them take a part of the other one, too.
  bool TakesAlike(const std::vector<Node>& group, const std::vector<Node>& other) {
    std::set<std::string> rules = RulesOf(group), known = RulesOf(other);
    bool takes = false;
    for (const schedule::Rule* rule : schedule::AllRules()) {
      if (!rules.contains(rule->name)) continue;
      if (!known.contains(rule->name)) return false;
      takes = true;
    }
    return takes;
  }

  // Whether a rule for blocks of the kind takes some of the group.
  bool Takes(const std::vector<Node>& group, schedule::BlockKind kind) {
    std::set<std::string> rules = RulesOf(group);
    for (const schedule::Rule* rule : schedule::AllRules())
      if (rule->IsFor(kind) && schedule::IsOfSeveralBlocks(kind) && rules.contains(rule->name))
        return true;
    return false;
  }

 private:
  std::set<std::string> RulesOf(const std::vector<Node>& group) {
    // Rules are for formulas.
    if (std::any_of(group.begin(), group.end(),
                    [](const Node& node) { return !node->op->compute; }))
      return {};
    tir::PrimFunc function =
        LowerGroup(group, options_).function.WithAttr(tir::attr::kTarget, options_.target);
    uint64_t hash = tir::StructuralHash(function);
    for (auto [it, end] = known_.equal_range(hash); it != end; ++it)
      if (tir::StructuralEqual(it->second.first, function)) return it->second.second;
    std::set<std::string> rules = Ask(function);
    known_.emplace(hash, std::pair(function, rules));
    return rules;
  }

  std::set<std::string> Ask(const tir::PrimFunc& function) const {
    std::string key, names;
    std::set<std::string> rules;
    if (cache_) {
      key = runtime::ProgramCache::KeyOf("rules",
                                         {{"tir", tir::Print(function)}, {"around", around_}});
      if (std::optional<std::string> found = cache_->Find(key)) {
        std::istringstream lines(*found);
        for (std::string name; std::getline(lines, name);) rules.insert(name);
        return rules;
      }
    }
    schedule::Explanation explanation;
    schedule::ApplyDefaultSchedule(function, &explanation);
    for (const schedule::RuleResult& result : explanation.results)
      if (!result.rule.empty()) rules.insert(result.rule);
    for (const std::string& name : rules) names += name + "\n";
    if (cache_) cache_->Store(key, names);
    return rules;
  }

  const LowerOptions& options_;
  std::optional<runtime::ProgramCache> cache_;
  std::string around_;  // what answers depend on beside the function
  std::multimap<uint64_t, std::pair<tir::PrimFunc, std::set<std::string>>> known_;
};

class Fuser {
 public:
  Fuser(const Function& function, const FactsMap& facts, const LowerOptions& options)
      : function_(function), facts_(facts), options_(options), check_(options) {}

  std::vector<Group> Run() {
    FindUses();
    for (const Node& node : function_->nodes)
      if (auto it = facts_.find(node.get());
          it != facts_.end() && (it->second.views.empty() || node->op->control != Control::kNone))
        Place(node);
    std::vector<Group> groups;
    for (Group& group : groups_)
      if (!group.nodes.empty()) Cut(std::move(group), &groups);
    if (options_.fuse && options_.target) {
      JoinAttention(&groups);
      JoinConcats(&groups);
    }
    return groups;
  }

 private:
  // How often each value is read.
  void FindUses() {
    for (const Value& result : function_->results) ++uses_[result.get()];
    for (const Node& node : function_->nodes) {
      auto facts = facts_.find(node.get());
      if (facts == facts_.end()) continue;
      for (size_t k = 0; k < node->inputs.size(); ++k)
        if (facts->second.read[k]) ++uses_[node->inputs[k].get()];
    }
  }

  void Place(const Node& node) {
    Choice choice{groups_.size(), ""};
    std::vector<Node> nodes = {node};
    if (options_.fuse && facts_.at(node.get()).elementwise) choice = GroupToJoin(node);
    if (options_.fuse && options_.target && facts_.at(node.get()).reduces) FindRows(node);
    if (auto it = fan_of_.find(node.get()); it != fan_of_.end()) {
      const Fan& fan = *it->second;
      if (!fan.nodes.back().same(node)) return;  // all of them with the last
      nodes = fan.nodes;
      choice = {fan.from ? group_of_.at(fan.from.get()) : groups_.size(), ""};
    }
    if (choice.group < groups_.size()) {
      // It runs where its last node stands, when all that the node reads is there.
      Group joined = std::move(groups_[choice.group]);
      groups_[choice.group].nodes.clear();
      joined.nodes.insert(joined.nodes.end(), nodes.begin(), nodes.end());
      groups_.push_back(std::move(joined));
    } else {
      groups_.push_back({nodes, choice.apart});
    }
    for (const Node& member : groups_.back().nodes)
      for (const Value& output : member->outputs) group_of_[output.get()] = groups_.size() - 1;
  }

  struct Choice {
    size_t group;       // its number, or that of a new one
    std::string apart;  // why it joins none of those that compute its inputs
  };

  // The latest group that computes an input for this node alone.
  Choice GroupToJoin(const Node& node) {
    Choice best{groups_.size(), ""};
    bool found = false;
    if (fan_of_.contains(node.get())) return best;
    for (const Value& input : node->inputs) {
      // Of some the content is enough.
      if (!input || input->constant || !uses_.contains(input.get())) continue;
      auto it = group_of_.find(input.get());
      if (it == group_of_.end()) continue;
      const Group& group = groups_[it->second];
      std::string why = WhyNot(group, input, node);
      int uses = uses_.at(input.get());
      if (why.empty() && uses > 1) {
        if (FindFan(input, kMaxEpilogue - group.nodes.size())) return best;
        why = input->name + " is read " + std::to_string(uses) + " times";
      }
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
    if (group.nodes.empty() || group.result().get() != input.get() ||
        group.nodes.back()->outputs.size() != 1)
      return input->name + " is one of several results";
    if (!group.nodes[0]->op->compute)
      return input->name + " is computed by " + group.nodes[0]->op->name;
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

  // Nodes that read one value, or each other, up to the one that alone is read by others.
  struct Fan {
    Value from;  // whose group they join; null where they are one themselves
    std::vector<Node> nodes;
  };

  // Finds that of a value, of so many nodes at most. Whether there is one.
  bool FindFan(const Value& from, size_t most) {
    auto fan = std::make_shared<Fan>(Fan{from, {}});
    std::unordered_set<const ValueNode*> inside = {from.get()};
    int open = uses_.at(from.get());
    for (const Node& node : function_->nodes) {
      auto facts = facts_.find(node.get());
      if (facts == facts_.end() || group_of_.contains(node->outputs[0].get())) continue;
      int reads = ReadsOf(node, inside);
      if (reads == 0) continue;
      bool joins = facts->second.elementwise && facts->second.views.empty() &&
                   SameShape(from, node->outputs[0]) && !fan_of_.contains(node.get());
      if (!joins || fan->nodes.size() == most) return false;
      fan->nodes.push_back(node);
      open -= reads;
      if (open == 0) {
        for (const Node& one : fan->nodes) fan_of_[one.get()] = fan;
        return true;
      }
      open += uses_.at(node->outputs[0].get());
      inside.insert(node->outputs[0].get());
    }
    return false;
  }

  // How often a node reads some values.
  int ReadsOf(const Node& node, const std::unordered_set<const ValueNode*>& values) const {
    int reads = 0;
    for (size_t k = 0; k < node->inputs.size(); ++k)
      reads += facts_.at(node.get()).read[k] && values.contains(node->inputs[k].get());
    return reads;
  }

  // The elementwise nodes that compute what a reduction of rows reads, for it alone: the squares of
  // a norm. None where there are others.
  const std::vector<Node>* Prologue(const Value& from) const {
    auto it = group_of_.find(from.get());
    if (it == group_of_.end() || uses_.at(from.get()) != 1) return nullptr;
    const Group& group = groups_[it->second];
    bool joins = !group.nodes.empty() && group.result().same(from) &&
                 std::all_of(group.nodes.begin(), group.nodes.end(), [&](const Node& node) {
                   return facts_.at(node.get()).elementwise && SameShape(node->outputs[0], from);
                 });
    return joins ? &group.nodes : nullptr;
  }

  // Finds what follows a reduction of rows up to where the shape is that of its input again, as far
  // as one rule takes all of it.
  void FindRows(const Node& reduction) {
    const Value& from = reduction->inputs[0];
    if (fan_of_.contains(reduction.get()) || reduction->outputs.size() != 1) return;
    auto fan = std::make_shared<Fan>();
    const std::vector<Node>* prologue = Prologue(from);
    std::unordered_set<const ValueNode*> inside;
    std::vector<size_t> closed;  // lengths at which none but the last is read by others
    int open = 0;
    for (const Node& node : function_->nodes) {
      auto facts = facts_.find(node.get());
      if (facts == facts_.end() || group_of_.contains(node->outputs[0].get())) continue;
      int reads = ReadsOf(node, inside);
      if (reads == 0 && !node.same(reduction)) continue;
      const Value& result = node->outputs[0];
      bool joins = (facts->second.elementwise || facts->second.reduces) &&
                   facts->second.views.empty() && result->type.rank() == from->type.rank() &&
                   !fan_of_.contains(node.get());
      if (!joins || fan->nodes.size() == kMaxEpilogue) break;
      fan->nodes.push_back(node);
      open -= reads;
      if (open == 0 && fan->nodes.size() > 1 && SameShape(from, result))
        closed.push_back(fan->nodes.size());
      open += uses_.at(result.get());
      inside.insert(result.get());
    }
    for (; !closed.empty(); closed.pop_back()) {
      fan->nodes.resize(closed.back());
      std::vector<Node> all = prologue ? *prologue : std::vector<Node>();
      all.insert(all.end(), fan->nodes.begin(), fan->nodes.end());
      if (prologue && check_.TakesAllRows(all))
        fan->from = from;
      else if (!check_.TakesAllRows(fan->nodes))
        continue;
      for (const Node& one : fan->nodes) fan_of_[one.get()] = fan;
      return;
    }
  }

  // Whether what the first nodes of a group compute is read through the last of them alone.
  bool IsClosed(const Group& group, size_t length) const {
    std::unordered_map<const ValueNode*, int> open;
    for (size_t i = 0; i < length; ++i) {
      const Node& node = group.nodes[i];
      const std::vector<bool>& read = facts_.at(node.get()).read;
      for (size_t k = 0; k < node->inputs.size(); ++k)
        if (auto it = open.find(node->inputs[k].get()); read[k] && it != open.end()) --it->second;
      if (i + 1 < length)
        for (const Value& output : node->outputs) open[output.get()] = uses_.at(output.get());
    }
    return std::all_of(open.begin(), open.end(), [](const auto& one) { return one.second == 0; });
  }

  static bool SameShape(const Value& a, const Value& b) {
    return a->type.rank() == b->type.rank() &&
           std::equal(a->type.shape.begin(), a->type.shape.end(), b->type.shape.begin(),
                      SameExtent);
  }

  // Adds the group, in as many pieces as the rules want. All that a piece computes is read through
  // its last node, so the pieces run one behind another.
  void Cut(Group group, std::vector<Group>* groups) {
    while (!group.nodes.empty()) {
      std::string lost;
      size_t length = group.nodes.size();
      for (; options_.target && length > 1; --length) {
        if (!IsClosed(group, length)) continue;
        std::string why = check_.Lost(
            {group.nodes.begin(), group.nodes.begin() + static_cast<std::ptrdiff_t>(length)});
        if (why.empty()) break;
        lost = why;
      }
      auto end = group.nodes.begin() + static_cast<std::ptrdiff_t>(length);
      groups->push_back({{group.nodes.begin(), end}, group.apart});
      group = {{end, group.nodes.end()}, lost};
    }
  }

  // A GEMM, what is computed of its rows, and a GEMM of that: they run where the last one stands.
  void JoinAttention(std::vector<Group>* groups) {
    std::unordered_map<const ValueNode*, size_t> made_by;
    for (size_t last = 0; last < groups->size(); ++last) {
      Group& group = groups->at(last);
      if (const size_t* rows = SoleReader(group, made_by))
        if (const size_t* first = SoleReader(groups->at(*rows), made_by);
            first && check_.Takes(groups->at(*rows).nodes, schedule::BlockKind::kSoftmax)) {
          std::vector<Node> nodes = groups->at(*first).nodes;
          for (const Group* next : {&groups->at(*rows), &group})
            nodes.insert(nodes.end(), next->nodes.begin(), next->nodes.end());
          if (check_.Takes(nodes, schedule::BlockKind::kAttention)) {
            groups->at(*first).nodes.clear();
            groups->at(*rows).nodes.clear();
            group = {nodes, ""};
          }
        }
      made_by[group.result().get()] = last;
    }
    std::erase_if(*groups, [](const Group& group) { return group.nodes.empty(); });
  }

  // A concat reads what is cut out for it alone, or computed by element, where that lies, if the
  // rules take that as they take the concat. One that its inputs are written to in place stays.
  void JoinConcats(std::vector<Group>* groups) {
    std::unordered_map<const ValueNode*, Node> views;  // by what they give
    for (const Node& node : function_->nodes)
      if (node->op->is_view && facts_.contains(node.get())) views[node->outputs[0].get()] = node;
    std::unordered_map<const ValueNode*, size_t> made_by;
    for (size_t at = 0; at < groups->size(); ++at) {
      Group& group = groups->at(at);
      made_by[group.result().get()] = at;
      const Node concat = group.nodes[0];
      if (group.nodes.size() != 1 || !concat->op->is_concat || IsInPlace(concat)) continue;
      for (const Value& input : concat->inputs) {
        Value value = input;
        std::vector<Node> between;
        for (auto view = views.find(value.get()); view != views.end() && uses_.at(value.get()) == 1;
             view = views.find(value.get())) {
          between.insert(between.begin(), view->second);
          value = view->second->inputs[0];
        }
        auto found = made_by.find(value.get());
        if (found == made_by.end() || uses_.at(value.get()) != 1) continue;
        Group& part = groups->at(found->second);
        std::vector<Node> joined = part.nodes;
        joined.insert(joined.end(), between.begin(), between.end());
        joined.insert(joined.end(), group.nodes.begin(), group.nodes.end());
        if (joined.size() > kMaxEpilogue || !check_.TakesAlike(part.nodes, {concat}) ||
            !check_.TakesAlike(joined, {concat}))
          continue;
        group.nodes = std::move(joined);
        part.nodes.clear();
      }
    }
    std::erase_if(*groups, [](const Group& group) { return group.nodes.empty(); });
  }

  // Whether the parts of a concat are parts of the memory of its result, at places that are known.
  static bool IsInPlace(const Node& concat) {
    const std::vector<Expr>& shape = concat->outputs[0]->type.shape;
    int64_t axis = concat->attrs.at("axis").As<int64_t>();
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    return std::all_of(shape.begin(), shape.begin() + axis,
                       [](const Expr& extent) { return ir::IsConst(extent, 1); }) &&
           std::all_of(concat->inputs.begin(), concat->inputs.end(), [](const Value& input) {
             return ir::AsConstInt(NumElements(input->type.shape)).has_value();
           });
  }

  // The group before that computes the first tensor that this one reads for it alone; null for
  // none.
  const size_t* SoleReader(const Group& group,
                           const std::unordered_map<const ValueNode*, size_t>& made_by) const {
    if (group.nodes.empty() || group.nodes[0]->inputs.empty()) return nullptr;
    const Value& input = group.nodes[0]->inputs[0];
    auto found = made_by.find(input.get());
    auto uses = uses_.find(input.get());
    bool alone = uses != uses_.end() && uses->second == 1;
    return found != made_by.end() && alone ? &found->second : nullptr;
  }

  const Function& function_;
  const FactsMap& facts_;
  const LowerOptions& options_;
  RuleCheck check_;
  std::unordered_map<const ValueNode*, int> uses_;
  std::vector<Group> groups_;  // those that joined a later one are empty
  std::unordered_map<const ValueNode*, size_t> group_of_;
  std::unordered_map<const NodeNode*, std::shared_ptr<Fan>> fan_of_;
};

}  // namespace

std::vector<Group> FuseNodes(const Function& function, const FactsMap& facts,
                             const LowerOptions& options) {
  return Fuser(function, facts, options).Run();
}

}  // namespace tern::graph
