// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/default_schedules.h"

#include <algorithm>
#include <set>

#include "tern/schedule/bind_threads.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/inline_producers.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Why a function is not for the rules, or "".
std::string WhyNot(const PrimFunc& function) {
  if (function->attrs.count(attr::kTarget) == 0) return "it has no target";
  if (HasSchedule(function)) return "it has a schedule of its own";
  if (HasFlag(function, attr::kMayAlias)) return "its tensors may overlap";
  for (const ForNode* loop : LoopsIn(function->body)) {
    if (loop->for_kind != ForKind::kSerial)
      return "loop " + loop->var.name() + " is " + ForKindName(loop->for_kind) + " already";
    if (!loop->annotations.empty()) return "loop " + loop->var.name() + " has annotations";
  }
  std::set<std::string> names;
  for (const BlockNode* block : BlocksIn(function->body))
    if (!names.insert(block->name).second) return "two blocks are called " + block->name;
  return names.empty() ? "it has no blocks" : "";
}

// As it is now; without a name where it is gone.
BlockInfo FindInfo(const Schedule& schedule, const BlockInfo& block) {
  for (const BlockNode* node : BlocksIn(schedule.function()->body))
    if (node->name == block.name) {
      BlockInfo info = DescribeBlock(node);
      if (block.members.empty()) return info;
      info.kind = block.kind;
      info.members = block.members;
      info.rows = block.rows;
      return info;
    }
  return {};
}

// Rows of blocks first: where no rule takes them together, each is a block like any other.
void ApplyToBlocks(Schedule* schedule, const MachineFacts& facts,
                   std::vector<RuleResult>* results) {
  std::vector<BlockInfo> blocks = DescribeBlocks(schedule->function());
  std::set<std::string> done;
  for (const BlockInfo& block : blocks) {
    if (block.members.empty()) continue;
    RuleResult result = ApplyRules(schedule, block, facts);
    if (!result.rule.empty()) {
      done.insert(block.name);
      done.insert(block.members.begin(), block.members.end());
    }
    results->push_back(std::move(result));
  }
  for (BlockInfo block : blocks) {
    if (done.count(block.name)) continue;
    block.members.clear();
    // It may have become a part of another one.
    if (BlockInfo info = FindInfo(*schedule, block); !info.name.empty())
      results->push_back(ApplyRules(schedule, info, facts));
  }
}

}  // namespace

std::string Explanation::str(const std::string& function) const {
  if (!left_alone.empty()) return "# " + function + " is left as it is: " + left_alone + "\n";
  std::string text = "schedule " + function + " {\n";
  for (const RuleResult& result : results) {
    text += "  # " + result.block + " (" + result.kind +
            "): " + (result.rule.empty() ? "no rule" : "rule " + result.rule) + "\n";
    for (const std::string& other : result.passed_over) text += "  #   not " + other + "\n";
    for (const Step& step : result.steps.steps) text += "  " + step.str() + "\n";
  }
  return text + "}\n";
}

PrimFunc ApplyDefaultSchedule(const PrimFunc& function, Explanation* explanation) {
  Explanation own;
  Explanation& told = explanation ? *explanation : own;
  told.left_alone = WhyNot(function);
  if (!told.left_alone.empty()) return function;
  auto facts = MachineFacts::Of(function->attrs.at(attr::kTarget).As<target::Target>());
  Schedule schedule(function);
  if (!facts.is_device) InlineProducers(&schedule, &told.results);
  ApplyToBlocks(&schedule, facts, &told.results);
  if (schedule.trace().steps.empty()) return function;
  return facts.is_device ? BindOtherThreads(schedule.function()) : schedule.function();
}

}  // namespace tern::schedule
