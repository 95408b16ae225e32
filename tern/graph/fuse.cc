// SPDX-License-Identifier: Apache-2.0
//
// Which nodes are one kernel. The graph proposes: in topological order, an elementwise node joins
// the group that computes one of its inputs, where nobody else reads that and the shapes are the
// same. It becomes the epilogue; its other operands are read in place. So do several elementwise
// nodes that read one result, x * sigmoid(x), and elementwise groups, where they come together in
// one node. A reduction of rows and what follows it, up to where the rows are back, are a group
// where a rule for rows takes all of it, other statistics of the rows included: normalizations and
// softmax as exporters spell them. The schedule rules decide: where the fused function loses a rule
// that the first node has alone, the group is cut. Then groups from a GEMM over its rows to a
// second GEMM, of which each alone reads the one before, become one where a rule takes them as
// attention; a concat reads what is cut out for it, or computed by element, where that lies; and so
// does an elementwise group read concats, parts and rows in another order.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "tern/codegen/compiled_function.h"
#include "tern/codegen/parallel_for.h"
#include "tern/graph/lower_group.h"
#include "tern/graph/op.h"
#include "tern/runtime/kernel/program_cache.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/tir/text.h"

namespace tern::graph {
namespace {

// An epilogue of more operations is computed in a kernel of its own.
constexpr size_t kMaxEpilogue = 24;
// Of a kernel that several elementwise ones become: some devices bind no more.
constexpr size_t kMaxTensors = 8;

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

  // Asks what Cut asks of each group first, at the same time: most groups stay whole.
  void AskOfAll(const std::vector<Group>& groups) {
    std::vector<std::vector<Node>> fused, alone;
    for (const Group& group : groups)
      if (group.nodes.size() > 1) fused.push_back(group.nodes);
    AskOf(fused);
    for (const std::vector<Node>& nodes : fused)
      if (!TakesAllRows(nodes)) alone.push_back({nodes[0]});
    AskOf(alone);
  }

 private:
  using Answers = std::multimap<uint64_t, std::pair<tir::PrimFunc, std::set<std::string>>>;

  // Rules are for formulas.
  static bool IsFormula(const std::vector<Node>& group) {
    return std::ranges::all_of(group, [](const Node& node) { return bool(node->op->compute); });
  }

  // What is known of the group, and whether that is new, and has no answer yet.
  std::pair<Answers::iterator, bool> Find(const std::vector<Node>& group) {
    std::vector<const NodeNode*> nodes;
    for (const Node& node : group) nodes.push_back(node.get());
    auto [found, is_new] = of_nodes_.try_emplace(std::move(nodes), known_.end());
    if (!is_new) return {found->second, false};
    tir::PrimFunc function =
        LowerGroup(group, options_).function.WithAttr(tir::attr::kTarget, options_.target);
    uint64_t hash = tir::StructuralHash(function);
    for (auto [it, end] = known_.equal_range(hash); it != end; ++it)
      if (tir::StructuralEqual(it->second.first, function)) return {found->second = it, false};
    found->second = known_.emplace(hash, std::pair(function, std::set<std::string>()));
    return {found->second, true};
  }

  std::set<std::string> RulesOf(const std::vector<Node>& group) {
    if (!IsFormula(group)) return {};
    auto [found, is_new] = Find(group);
    if (is_new) found->second.second = Ask(found->second.first);
    return found->second.second;
  }

  void AskOf(const std::vector<std::vector<Node>>& groups) {
    std::vector<Answers::iterator> open;
    for (const std::vector<Node>& group : groups) {
      if (!IsFormula(group)) continue;
      if (auto [found, is_new] = Find(group); is_new) open.push_back(found);
    }
    codegen::ParallelFor(open.size(),
                         [&](size_t i) { open[i]->second.second = Ask(open[i]->second.first); });
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
  Answers known_;
  std::map<std::vector<const NodeNode*>, Answers::iterator> of_nodes_;
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
    if (options_.target) check_.AskOfAll(groups_);
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
      for (const Value& output : node->outputs) maker_of_[output.get()] = node;
    }
  }

  void Place(const Node& node) {
    Choice choice;
    std::vector<Node> nodes = {node};
    if (options_.fuse && facts_.at(node.get()).elementwise) choice = GroupsToJoin(node);
    if (options_.fuse && options_.target && facts_.at(node.get()).reduces) FindRows(node);
    if (auto it = fan_of_.find(node.get()); it != fan_of_.end()) {
      const Fan& fan = *it->second;
      if (!fan.nodes.back().same(node)) return;  // all of them with the last
      nodes = fan.nodes;
      choice = {};
      for (const Value& from : fan.from) choice.groups.push_back(group_of_.at(from.get()));
    }
    // It runs where its last node stands, when all that the node reads is there.
    Group joined{{}, choice.apart};
    if (!choice.groups.empty()) joined.apart = groups_[choice.groups[0]].apart;
    for (size_t group : choice.groups) {
      std::vector<Node>& before = groups_[group].nodes;
      joined.nodes.insert(joined.nodes.end(), before.begin(), before.end());
      before.clear();
    }
    joined.nodes.insert(joined.nodes.end(), nodes.begin(), nodes.end());
    groups_.push_back(std::move(joined));
    for (const Node& member : groups_.back().nodes)
      for (const Value& output : member->outputs) group_of_[output.get()] = groups_.size() - 1;
  }

  struct Choice {
    std::vector<size_t> groups;  // that it joins, the one of the first node first; none: a new one
    std::string apart;           // why it joins none of those that compute its inputs
  };

  // The latest group that computes an input for this node alone; where that is elementwise, all
  // such.
  Choice GroupsToJoin(const Node& node) {
    Choice choice;
    if (fan_of_.contains(node.get())) return choice;
    std::vector<size_t> fitting;
    for (const Value& input : node->inputs) {
      // Of some the content is enough.
      if (!input || input->constant || !uses_.contains(input.get())) continue;
      auto it = group_of_.find(input.get());
      if (it == group_of_.end()) continue;
      const Group& group = groups_[it->second];
      std::string why = WhyNot(group, input, node);
      int uses = uses_.at(input.get());
      if (why.empty() && uses > 1) {
        if (FindFan(input, kMaxEpilogue - group.nodes.size())) return choice;
        why = input->name + " is read " + std::to_string(uses) + " times";
      }
      if (!why.empty())
        choice.apart += (choice.apart.empty() ? "" : "; ") + why;
      else
        fitting.push_back(it->second);
    }
    std::sort(fitting.begin(), fitting.end(), std::greater<>());
    size_t size = 1;
    for (size_t group : fitting) {
      const std::vector<Node>& nodes = groups_[group].nodes;
      size += nodes.size();
      bool first = choice.groups.empty();
      if (first || (IsElementwise(groups_[choice.groups[0]].nodes) && IsElementwise(nodes) &&
                    size <= kMaxEpilogue && NumTensors(choice.groups, group, node) <= kMaxTensors))
        choice.groups.push_back(group);
    }
    return choice;
  }

  bool IsElementwise(const std::vector<Node>& nodes) const {
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](const Node& node) { return facts_.at(node.get()).elementwise; });
  }

  // How many tensors the groups read or write together with a node.
  size_t NumTensors(std::vector<size_t> groups, size_t more, const Node& node) const {
    groups.push_back(more);
    std::vector<Node> nodes = {node};
    for (size_t group : groups)
      nodes.insert(nodes.end(), groups_[group].nodes.begin(), groups_[group].nodes.end());
    return NumTensors(nodes);
  }
  size_t NumTensors(const std::vector<Node>& nodes) const {
    std::set<const ValueNode*> read, made;
    for (const Node& node : nodes) {
      const std::vector<bool>& reads = facts_.at(node.get()).read;
      for (size_t k = 0; k < reads.size(); ++k)
        if (reads[k]) read.insert(node->inputs[k].get());
      for (const Value& output : node->outputs) made.insert(output.get());
    }
    for (const ValueNode* value : made) read.erase(value);
    return read.size() + 1;
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
    std::vector<Value> from;  // whose groups they join; none where they are one themselves
    std::vector<Node> nodes;
  };

  // Finds that of a value, of so many nodes at most. Whether there is one.
  bool FindFan(const Value& from, size_t most) {
    auto fan = std::make_shared<Fan>(Fan{{from}, {}});
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

  // A chain over the rows of some tensors: nodes, and what else they begin with.
  struct Chain {
    std::unordered_set<const ValueNode*> rows;    // the tensors
    std::unordered_set<const ValueNode*> inside;  // what the nodes compute
    std::vector<Node> nodes;
    std::vector<Value> from;  // computed by groups of their own, so far
    int open = 0;             // reads of what the nodes compute, by others
  };

  // Whether a node may compute something of rows of that tensor's shape.
  bool MayBeInChain(const Node& node, const Value& from) const {
    auto facts = facts_.find(node.get());
    if (facts == facts_.end() || fan_of_.contains(node.get()) || node->outputs.size() != 1 ||
        node->outputs[0]->type.rank() > from->type.rank())
      return false;
    if (node->op->is_view) return SameButUnits(node->inputs[0], node->outputs[0]);
    return (facts->second.elementwise || facts->second.reduces) && facts->second.views.empty();
  }

  static bool SameButUnits(const Value& a, const Value& b) {
    auto wide = [](const Value& value) {
      std::vector<Expr> shape = value->type.shape;
      std::erase_if(shape, [](const Expr& extent) { return ir::IsConst(extent, 1); });
      return shape;
    };
    std::vector<Expr> x = wide(a), y = wide(b);
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), SameExtent);
  }

  void AddToChain(const Node& node, Chain* chain) const {
    chain->open += uses_.at(node->outputs[0].get()) - ReadsOf(node, chain->inside);
    chain->nodes.push_back(node);
    chain->inside.insert(node->outputs[0].get());
  }

  // Adds what computes another input of a node from the same rows, as a second statistic. What is
  // computed of anything else is read from memory. Whether `value` is of these rows.
  bool AddStatistic(const Value& value, const Value& from, Chain* chain) const {
    if (!value || value->constant) return false;
    if (chain->rows.contains(value.get()) || chain->inside.contains(value.get())) return true;
    if (const std::vector<Node>* nodes = Prologue(value)) {
      bool of_rows = std::any_of(nodes->begin(), nodes->end(),
                                 [&](const Node& node) { return ReadsOf(node, chain->rows) > 0; });
      if (!of_rows) return false;
      chain->from.push_back(value);
      chain->rows.insert(value.get());
      return true;
    }
    auto maker = maker_of_.find(value.get());
    if (maker == maker_of_.end() || group_of_.contains(value.get()) ||
        !MayBeInChain(maker->second, from) || chain->nodes.size() >= kMaxEpilogue)
      return false;
    Chain longer = *chain;
    bool of_rows = false;
    const std::vector<bool>& read = facts_.at(maker->second.get()).read;
    for (size_t k = 0; k < read.size(); ++k)
      if (read[k]) of_rows |= AddStatistic(maker->second->inputs[k], from, &longer);
    if (!of_rows) return false;
    AddToChain(maker->second, &longer);
    *chain = std::move(longer);
    return true;
  }

  // Chains that begin with a reduction, or with what computes its rows, and end where the shape is
  // that of the rows again, and none but the last node is read by others; the longest is the last.
  // With or without other statistics of the rows.
  std::vector<Chain> ClosedChains(const Node& reduction, const std::vector<Node>* prologue,
                                  bool statistics) const {
    const Value& from = reduction->inputs[0];
    Chain chain;
    chain.rows.insert(from.get());
    if (prologue) {
      chain.from.push_back(from);
      for (const Node& node : *prologue)
        for (const Value& input : node->inputs)
          if (input && SameShape(input, from)) chain.rows.insert(input.get());
    }
    std::vector<Chain> closed;
    for (const Node& node : function_->nodes) {
      if (!facts_.contains(node.get()) || group_of_.contains(node->outputs[0].get()) ||
          chain.inside.contains(node->outputs[0].get()))
        continue;
      if (ReadsOf(node, chain.inside) == 0 && !node.same(reduction)) continue;
      if (!MayBeInChain(node, from) || chain.nodes.size() >= kMaxEpilogue) break;
      const std::vector<bool>& read = facts_.at(node.get()).read;
      for (size_t k = 0; k < read.size() && statistics; ++k)
        if (read[k]) AddStatistic(node->inputs[k], from, &chain);
      AddToChain(node, &chain);
      // Those of the last one are the only reads that are left.
      if (chain.open == uses_.at(node->outputs[0].get()) && chain.nodes.size() > 1 &&
          !node->op->is_view && SameShape(from, node->outputs[0]))
        closed.push_back(chain);
    }
    return closed;
  }

  // Finds what follows a reduction of rows up to where the shape is that of its input again, as far
  // as one rule takes all of it.
  void FindRows(const Node& reduction) {
    if (fan_of_.contains(reduction.get()) || reduction->outputs.size() != 1) return;
    const std::vector<Node>* prologue = Prologue(reduction->inputs[0]);
    for (bool statistics : {true, false})
      for (bool with_prologue : {true, false}) {
        std::vector<Chain> closed =
            ClosedChains(reduction, with_prologue ? prologue : nullptr, statistics);
        for (; !closed.empty(); closed.pop_back()) {
          std::vector<Node> all;
          for (const Value& value : closed.back().from) {
            const std::vector<Node>& nodes = groups_[group_of_.at(value.get())].nodes;
            all.insert(all.end(), nodes.begin(), nodes.end());
          }
          const std::vector<Node>& nodes = closed.back().nodes;
          all.insert(all.end(), nodes.begin(), nodes.end());
          bool fits = closed.back().from.size() <= 1 || NumTensors(all) <= kMaxTensors;
          if (!fits || !check_.TakesAllRows(all)) continue;
          auto fan = std::make_shared<Fan>(Fan{closed.back().from, nodes});
          for (const Node& one : nodes) fan_of_[one.get()] = fan;
          return;
        }
        if (!prologue) break;
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

  // Where the groups of values stand, and the views that lead to them.
  struct Makers {
    std::unordered_map<const ValueNode*, size_t> groups;  // so far, by their results
    std::unordered_map<const ValueNode*, Node> views;     // by what they give
  };
  Makers NoGroups() const {
    Makers makers;
    for (const Node& node : function_->nodes)
      if (node->op->is_view && facts_.contains(node.get()))
        makers.views[node->outputs[0].get()] = node;
    return makers;
  }

  // The group that computes a value for one reader alone, and the views between.
  struct Before {
    size_t group = 0;
    std::vector<Node> views;
  };
  std::optional<Before> SoleMaker(Value value, const Makers& makers) const {
    Before before;
    auto is_read_once = [&] {
      auto uses = uses_.find(value.get());
      return uses != uses_.end() && uses->second == 1;
    };
    for (auto view = makers.views.find(value.get()); view != makers.views.end() && is_read_once();
         view = makers.views.find(value.get())) {
      before.views.insert(before.views.begin(), view->second);
      value = view->second->inputs[0];
    }
    auto found = makers.groups.find(value.get());
    if (found == makers.groups.end() || !is_read_once()) return {};
    before.group = found->second;
    return before;
  }

  // A GEMM, what is computed of its rows, and a GEMM of that: they run where the last one stands.
  // Scores may be seen in other shapes on the way.
  void JoinAttention(std::vector<Group>* groups) {
    Makers makers = NoGroups();
    for (size_t last = 0; last < groups->size(); ++last) {
      if (std::optional<Before> rows = FirstOperand(groups->at(last), makers);
          rows && check_.Takes(groups->at(rows->group).nodes, schedule::BlockKind::kSoftmax))
        JoinAttention(groups, last, *rows, makers);
      makers.groups[groups->at(last).result().get()] = last;
    }
    std::erase_if(*groups, [](const Group& group) { return group.nodes.empty(); });
  }
  std::optional<Before> FirstOperand(const Group& group, const Makers& makers) const {
    if (group.nodes.empty() || group.nodes[0]->inputs.empty() || !group.nodes[0]->inputs[0])
      return {};
    return SoleMaker(group.nodes[0]->inputs[0], makers);
  }

  void JoinAttention(std::vector<Group>* groups, size_t last, Before before, const Makers& makers) {
    std::vector<Node> nodes = groups->at(last).nodes;
    std::set<size_t> joined;
    auto prepend = [&](const std::vector<Node>& more) {
      nodes.insert(nodes.begin(), more.begin(), more.end());
    };
    // From the softmax back over masks to the first GEMM.
    for (bool is_rows = true;; is_rows = false) {
      const std::vector<Node>& made = groups->at(before.group).nodes;
      prepend(before.views);
      prepend(made);
      joined.insert(before.group);
      if (!is_rows && !IsElementwise(made)) break;
      std::optional<Before> next;
      for (const Value& input : made[0]->inputs) {
        std::optional<Before> one = input ? SoleMaker(input, makers) : std::nullopt;
        if (one && (!next || one->group > next->group)) next = one;
      }
      if (!next || nodes.size() > kMaxEpilogue) return;
      before = *next;
    }
    if (!check_.Takes(nodes, schedule::BlockKind::kAttention)) return;
    for (size_t group : joined) groups->at(group).nodes.clear();
    groups->at(last) = {nodes, ""};
  }

  // A concat reads what is cut out for it alone, or computed by element, where that lies, if the
  // rules take that as they take the concat. One that its inputs are written to in place stays. So
  // does an elementwise group read what is moved for it alone: rotary positions are one kernel.
  void JoinConcats(std::vector<Group>* groups) {
    Makers makers = NoGroups();
    for (size_t at = 0; at < groups->size(); ++at) {
      const Group& group = groups->at(at);
      for (const Value& output : group.nodes.back()->outputs) makers.groups[output.get()] = at;
      const Node first = group.nodes[0];
      if (group.nodes.size() == 1 && first->op->is_concat && !IsInPlace(first))
        while (JoinPart(groups, at, first, makers)) continue;
      else if (IsElementwise(group.nodes))
        while (JoinMoved(groups, at, makers)) continue;
    }
    std::erase_if(*groups, [](const Group& group) { return group.nodes.empty(); });
  }

  // How often the nodes read each value.
  std::unordered_map<const ValueNode*, int> ReadsBy(const std::vector<Node>& nodes) const {
    std::unordered_map<const ValueNode*, int> reads;
    for (const Node& node : nodes) {
      const std::vector<bool>& read = facts_.at(node.get()).read;
      for (size_t k = 0; k < read.size(); ++k)
        if (read[k]) ++reads[node->inputs[k].get()];
    }
    return reads;
  }

  // Whether a concat was joined by a group that computes one of its inputs, and nothing for others.
  bool JoinPart(std::vector<Group>* groups, size_t at, const Node& concat, const Makers& makers) {
    Group& group = groups->at(at);
    for (const Value& input : concat->inputs) {
      std::optional<Before> before = SoleMaker(input, makers);
      if (!before || groups->at(before->group).nodes.empty() || before->group == at) continue;
      Group& part = groups->at(before->group);
      std::vector<Node> rest = before->views;
      rest.insert(rest.end(), group.nodes.begin(), group.nodes.end());
      std::unordered_map<const ValueNode*, int> reads = ReadsBy(rest);
      const std::vector<Value>& outputs = part.nodes.back()->outputs;
      bool for_others = std::any_of(outputs.begin(), outputs.end(), [&](const Value& output) {
        auto uses = uses_.find(output.get());
        return uses != uses_.end() && uses->second != reads[output.get()];
      });
      std::vector<Node> joined = part.nodes;
      joined.insert(joined.end(), rest.begin(), rest.end());
      if (for_others || joined.size() > kMaxEpilogue || !check_.TakesAlike(part.nodes, {concat}) ||
          !check_.TakesAlike(joined, {concat}))
        continue;
      group.nodes = std::move(joined);
      part.nodes.clear();
      return true;
    }
    return false;
  }

  // Whether an elementwise group was joined by one before it that moves elements for it alone: a
  // concat, what is cut out, or a transposition whose rows stay rows.
  bool JoinMoved(std::vector<Group>* groups, size_t at, const Makers& makers) {
    Group& group = groups->at(at);
    const std::unordered_map<const ValueNode*, int> reads = ReadsBy(group.nodes);
    for (const Node& node : group.nodes)
      for (const Value& value : node->inputs) {
        auto found = makers.groups.find(value.get());
        auto read = reads.find(value.get());
        if (found == makers.groups.end() || found->second == at || read == reads.end() ||
            uses_.at(value.get()) != read->second)
          continue;
        Group& part = groups->at(found->second);
        if (part.nodes.empty() || !MovesRows(part.nodes.back()) ||
            !SameShape(part.result(), group.result()))
          continue;
        std::vector<Node> joined = part.nodes;
        joined.insert(joined.end(), group.nodes.begin(), group.nodes.end());
        if (joined.size() > kMaxEpilogue || NumTensors(joined) > kMaxTensors ||
            !check_.TakesAlike(joined, {group.nodes.back()}))
          continue;
        group.nodes = std::move(joined);
        group.apart = part.apart;
        part.nodes.clear();
        return true;
      }
    return false;
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

  // Whether what a node gives are rows of its inputs, or parts of rows, one behind another.
  bool MovesRows(const Node& node) const {
    return node->outputs.size() == 1 && (node->op->is_concat || facts_.at(node.get()).moves_rows);
  }

  const Function& function_;
  const FactsMap& facts_;
  const LowerOptions& options_;
  RuleCheck check_;
  std::unordered_map<const ValueNode*, int> uses_;
  std::unordered_map<const ValueNode*, Node> maker_of_;
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
