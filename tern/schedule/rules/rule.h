// SPDX-License-Identifier: Apache-2.0
//
// Rules that give blocks a schedule where their author gave none. docs/schedule_rules.md has those
// that there are, and how to add one.
#ifndef TERN_SCHEDULE_RULES_RULE_H_
#define TERN_SCHEDULE_RULES_RULE_H_

#include <functional>
#include <string>
#include <vector>

#include "tern/schedule/rules/block_kind.h"
#include "tern/schedule/rules/plan.h"
#include "tern/schedule/rules/target_info.h"
#include "tern/schedule/schedule.h"

namespace tern::schedule {

// How a rule with choices schedules a block: match -> plans -> cost -> apply.
struct PlannedSteps {
  std::vector<std::string> fields;  // of its plans
  // Matches the block, and enumerates the plans that have what is wanted (null: nothing), with
  // their costs. May do the steps that all of them begin with. Refuses where nothing matches.
  std::function<std::vector<Plan>(Schedule*, const BlockInfo&, const TargetInfo&,
                                  const Plan* wanted)>
      plans;
  // Does the steps of one of them, and chooses what is still open.
  std::function<void(Schedule*, const BlockInfo&, const TargetInfo&, Plan*)> apply;
};

// The same of functions over a plan struct. Plans that lack something that is wanted are dropped,
// so `plans` has to look at it only where other numbers follow from it.
//   std::vector<P> plans(Schedule*, const BlockInfo&, const TargetInfo&, const Wanted<P>&)
//   void apply(Schedule*, const BlockInfo&, const TargetInfo&, const P&); P* of a HostPlan
template <class P, class Plans, class Apply>
PlannedSteps Planned(Plans plans, Apply apply) {
  PlannedSteps planned;
  for (const PlanField<P>& field : P::Fields()) planned.fields.emplace_back(field.name);
  planned.plans = [plans](Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                          const Plan* wanted) {
    std::vector<Plan> all;
    Wanted<P> want(wanted);
    for (P& plan : plans(schedule, block, target, want)) {
      if (!want.Allows(plan)) continue;
      if constexpr (kIsHostPlan<P>) plan.parallel = want.Or(&P::parallel, plan.parallel);
      all.push_back(ToPlan(plan));
    }
    return all;
  };
  planned.apply = [apply](Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                          Plan* plan) {
    P own = FromPlan<P>(*plan);
    if constexpr (kIsHostPlan<P>) {
      apply(schedule, block, target, &own);
      own.CheckParallel();
    } else {
      apply(schedule, block, target, own);
    }
    *plan = ToPlan(own);
  };
  return planned;
}

struct Rule {
  std::string name;              // "lower_case"
  std::string description;       // one line: what it does
  std::vector<BlockKind> kinds;  // of the blocks that it is for; none: any single block
  // For which targets; null: all.
  std::function<bool(const TargetInfo&)> fits;
  int priority = 0;  // higher ones are asked first; of equals the one registered first
  // Does the steps of a rule without choices. One that does not take the block says why (Refuse,
  // tern/schedule/nest.h), as a step does that is refused: the function is as it was, and the next
  // rule is asked. Other errors are bugs of the rule, and go to the caller.
  std::function<void(Schedule*, const BlockInfo&, const TargetInfo&)> apply;
  // Of a rule with choices, in its place: the cheapest plan is applied.
  PlannedSteps planned = {};

  bool IsFor(BlockKind kind) const;
};

// Throws where the name is taken, or something is missing. Rules live as long as the process.
void RegisterRule(Rule rule);
// Of one target and kind, in the order in which they are asked.
std::vector<const Rule*> RulesFor(BlockKind kind, const TargetInfo& target);
// All of them, in the order in which they are asked.
std::vector<const Rule*> AllRules();

// What was done to one block.
struct RuleResult {
  std::string block;  // or "" for the function as a whole
  std::string kind;   // BlockInfo::str
  std::string rule;   // "" where none applied
  Trace steps;
  std::vector<std::string> passed_over = {};  // "name: why" of rules that were asked before
  // Of a rule with choices: the plan that was applied, and the next best.
  std::vector<Plan> plans = {};
  std::string remark = {};  // what its author should know
};

// plan(RULE, {FIELDS}) or plan(BLOCK, RULE, {FIELDS}): a rule, or any for GEMMs ("gemm"), and some
// numbers of its plan. The cost model chooses the others.
struct PlanRequest {
  std::string block;  // "": every block that the rule is for
  std::string rule;
  Plan plan;

  // Refuses a rule or field that does not exist.
  static PlanRequest Parse(const Step& step);
  // Whether it is about a rule.
  bool Means(const Rule& rule) const;
};

// Asks the rules for one block until one applies; where there is a request, those that it means.
RuleResult ApplyRules(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                      const PlanRequest* request = nullptr);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_RULE_H_
