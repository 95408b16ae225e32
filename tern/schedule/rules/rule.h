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
#include "tern/schedule/rules/machine_facts.h"
#include "tern/schedule/schedule.h"

namespace tern::schedule {

struct Rule {
  std::string name;              // "lower_case"
  std::string description;       // one line: what it does
  std::vector<BlockKind> kinds;  // of the blocks that it is for; none: any single block
  // For which machines; null: all.
  std::function<bool(const MachineFacts&)> fits;
  int priority = 0;  // higher ones are asked first; of equals the one registered first
  // Does the steps. A rule that does not take the block says why (Refuse, tern/schedule/nest.h), as
  // a step does that is refused: the function is as it was, and the next rule is asked. Other
  // errors are bugs of the rule, and go to the caller.
  std::function<void(Schedule*, const BlockInfo&, const MachineFacts&)> apply;
};

// Throws where the name is taken, or something is missing. Rules live as long as the process.
void RegisterRule(Rule rule);
// Of one machine and kind, in the order in which they are asked.
std::vector<const Rule*> RulesFor(BlockKind kind, const MachineFacts& facts);
// All of them, in the order in which they are asked.
std::vector<const Rule*> AllRules();

// What was done to one block.
struct RuleResult {
  std::string block;  // or "" for the function as a whole
  std::string kind;   // BlockInfo::str
  std::string rule;   // "" where none applied
  Trace steps;
  std::vector<std::string> passed_over;  // "name: why" of rules that were asked before
};

// Asks the rules for one block until one applies.
RuleResult ApplyRules(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_RULE_H_
