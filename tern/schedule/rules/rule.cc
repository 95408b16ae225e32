// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/rule.h"

#include <algorithm>
#include <set>

#include "tern/ffi/registry_table.h"
#include "tern/schedule/nest.h"

namespace tern::schedule {
namespace {

ffi::RegistryTable<Rule>& Rules() {
  static auto* rules = new ffi::RegistryTable<Rule>("schedule rule");
  return *rules;
}

constexpr const char* kGemm = "gemm";
constexpr const char* kParallel = "parallel";  // of a HostPlan

// Why a rule has no plan with what is wanted: the first field that none can have by itself.
[[noreturn]] void RefusePlan(const Schedule& schedule, const Rule& rule, const BlockInfo& block,
                             const TargetInfo& target, const Plan& wanted) {
  auto plans = [&](const Plan* some) {
    Schedule probe = schedule;
    return rule.planned.plans(&probe, block, target, some);
  };
  for (const Plan::Field& field : wanted.fields) {
    Plan alone;
    alone.fields = {field};
    if (!plans(&alone).empty()) continue;
    std::set<int64_t> values;
    for (const Plan& plan : plans(nullptr))
      if (const int64_t* value = plan.Find(field.name)) values.insert(*value);
    std::string known;
    for (int64_t value : values) known += (known.empty() ? "" : ", ") + std::to_string(value);
    Refuse("no plan has " + field.name + " = " + std::to_string(field.value) +
           (known.empty() ? "" : "; without that it is " + known));
  }
  Refuse(wanted.fields.empty() ? "it has no plan for this block"
                               : "no plan has all of " + wanted.str());
}

// The cheapest plan is applied. Returns it and the runner-up; of equals the first is better.
std::vector<Plan> ApplyPlanned(const Schedule& before, Schedule* schedule, const Rule& rule,
                               const BlockInfo& block, const TargetInfo& target,
                               const PlanRequest* request) {
  const Plan* wanted = request ? &request->plan : nullptr;
  std::vector<Plan> plans = rule.planned.plans(schedule, block, target, wanted);
  if (plans.empty()) RefusePlan(before, rule, block, target, wanted ? *wanted : Plan{});
  size_t kept = std::min<size_t>(plans.size(), 2);
  auto cheaper = [](const Plan& a, const Plan& b) { return a.cycles < b.cycles; };
  for (size_t i = 0; i < kept; ++i) {
    auto best =
        std::min_element(plans.begin() + static_cast<std::ptrdiff_t>(i), plans.end(), cheaper);
    std::rotate(plans.begin() + static_cast<std::ptrdiff_t>(i), best, best + 1);
  }
  plans.resize(kept);
  double cycles = plans[0].cycles, limit = plans[0].limit;
  // Threads, which are chosen last, are as many for the runner-up.
  const int64_t* parallel = plans[0].Find(kParallel);
  const int64_t* other = kept == 2 ? plans[1].Find(kParallel) : nullptr;
  bool same = kept == 2 && (parallel && other ? *parallel == *other : parallel == other);
  rule.planned.apply(schedule, block, target, &plans[0]);
  if (same && cycles > 0) plans[1].cycles *= plans[0].cycles / cycles;
  if (same && limit > 0) plans[1].limit *= plans[0].limit / limit;
  return plans;
}

}  // namespace

void RegisterRule(Rule rule) {
  TERN_CHECK(!rule.name.empty()) << "a schedule rule is registered without a name";
  TERN_CHECK(rule.apply || rule.planned.apply)
      << "schedule rule " << rule.name << " has no function";
  std::string name = rule.name;
  Rules().Add(name, std::move(rule));
}

std::vector<const Rule*> AllRules() {
  std::vector<const Rule*> rules = Rules().All();
  std::stable_sort(rules.begin(), rules.end(),
                   [](const Rule* a, const Rule* b) { return a->priority > b->priority; });
  return rules;
}

bool Rule::IsFor(BlockKind kind) const {
  return kinds.empty() ? !IsOfSeveralBlocks(kind)
                       : std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::vector<const Rule*> RulesFor(BlockKind kind, const TargetInfo& target) {
  std::vector<const Rule*> rules = AllRules();
  std::erase_if(rules, [&](const Rule* rule) {
    return !rule->IsFor(kind) || (rule->fits && !rule->fits(target));
  });
  return rules;
}

bool PlanRequest::Means(const Rule& other) const {
  if (rule != kGemm) return other.name == rule;
  const std::vector<std::string>& known = other.planned.fields;
  return !known.empty() && other.IsFor(BlockKind::kMatmul) &&
         std::all_of(plan.fields.begin(), plan.fields.end(), [&](const Plan::Field& field) {
           return std::find(known.begin(), known.end(), field.name) != known.end();
         });
}

PlanRequest PlanRequest::Parse(const Step& step) {
  size_t count = step.args.size();
  if (count < 2 || count > 3 || !step.results.empty())
    Refuse("expected plan(RULE, {FIELD = VALUE, ...}) or plan(BLOCK, RULE, {...})");
  PlanRequest request{count == 3 ? step.args[0] : "", step.args[count - 2],
                      Plan::Parse(step.args[count - 1])};
  std::vector<const Rule*> rules = AllRules();
  std::vector<std::string> names = {kGemm}, fields;
  for (const Rule* rule : rules) {
    names.push_back(rule->name);
    bool meant =
        request.rule == kGemm ? rule->IsFor(BlockKind::kMatmul) : rule->name == request.rule;
    if (!meant) continue;
    for (const std::string& field : rule->planned.fields)
      if (std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(field);
  }
  if (std::find(names.begin(), names.end(), request.rule) == names.end())
    Refuse("there is no rule " + request.rule + ffi::DidYouMean(request.rule, names) +
           "; expected gemm or one of `tern opt --list-rules`");
  for (const Plan::Field& field : request.plan.fields)
    if (std::find(fields.begin(), fields.end(), field.name) == fields.end())
      Refuse("the plans of " + request.rule + " have no field " + field.name +
             ffi::DidYouMean(field.name, fields) + "; " +
             (fields.empty() ? "it has no choices" : "they have " + ffi::Join(fields)));
  if (std::none_of(rules.begin(), rules.end(),
                   [&](const Rule* rule) { return request.Means(*rule); }))
    Refuse("no rule for GEMMs has all of " + request.plan.str());
  return request;
}

RuleResult ApplyRules(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                      const PlanRequest* request) {
  RuleResult result{block.name, block.str(), "", {}};
  for (const Rule* rule : RulesFor(block.kind, target)) {
    if (request && !request->Means(*rule)) continue;
    Schedule attempt = *schedule;
    try {
      if (rule->planned.apply)
        result.plans = ApplyPlanned(*schedule, &attempt, *rule, block, target, request);
      else
        rule->apply(&attempt, block, target);
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
