// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/rule.h"

#include <algorithm>
#include <deque>
#include <mutex>

namespace tern::schedule {
namespace {

// Rules are never moved once they are there.
struct Registry {
  std::mutex mutex;
  std::deque<Rule> rules;
  std::vector<const Rule*> order;  // in which they are asked
};

Registry& TheRegistry() {
  static Registry* registry = new Registry;  // outlives the last use
  return *registry;
}

bool IsOfSeveralBlocks(BlockKind kind) {
  return kind == BlockKind::kSoftmax || kind == BlockKind::kNormalization;
}

}  // namespace

void RegisterRule(Rule rule) {
  TERN_CHECK(!rule.name.empty()) << "a schedule rule is registered without a name";
  TERN_CHECK(rule.apply) << "schedule rule " << rule.name << " has no function";
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  for (const Rule& other : registry.rules)
    TERN_CHECK(other.name != rule.name)
        << "schedule rule " << rule.name << " is already registered";
  registry.rules.push_back(std::move(rule));
  registry.order.push_back(&registry.rules.back());
  std::stable_sort(registry.order.begin(), registry.order.end(),
                   [](const Rule* a, const Rule* b) { return a->priority > b->priority; });
}

std::vector<const Rule*> AllRules() {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  return registry.order;
}

std::vector<const Rule*> RulesFor(BlockKind kind, const MachineFacts& facts) {
  std::vector<const Rule*> rules = AllRules();
  std::erase_if(rules, [&](const Rule* rule) {
    bool is_for = rule->kinds.empty() ? !IsOfSeveralBlocks(kind)
                                      : std::find(rule->kinds.begin(), rule->kinds.end(), kind) !=
                                            rule->kinds.end();
    return !is_for || (rule->fits && !rule->fits(facts));
  });
  return rules;
}

RuleResult ApplyRules(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts) {
  RuleResult result{block.name, block.str(), "", {}, {}};
  for (const Rule* rule : RulesFor(block.kind, facts)) {
    Schedule attempt = *schedule;
    try {
      rule->apply(&attempt, block, facts);
    } catch (Error& error) {
      // Anything else is a bug of the rule, which another one would hide.
      if (error.kind() != "ScheduleError") {
        error.AddContext("asking schedule rule " + rule->name + " for block " + block.name);
        throw;
      }
      result.passed_over.push_back(rule->name + ": " + error.message());
      continue;
    }
    const std::vector<Step>& steps = attempt.trace().steps;
    result.steps.steps.assign(steps.begin() + schedule->trace().steps.size(), steps.end());
    result.rule = rule->name;
    *schedule = std::move(attempt);
    return result;
  }
  return result;
}

}  // namespace tern::schedule
