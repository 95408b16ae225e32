// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/schedule_steps.h"

#include "tern/target/target.h"

namespace tern::tir {

std::vector<ScheduleStepsNode::Other> SchedulesOf(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kSchedule);
  if (it == function->attrs.end()) return {};
  auto first = it->second.As<ScheduleSteps>();
  auto targets = function->attrs.find(attr::kScheduleFor);
  bool for_all = targets == function->attrs.end();
  std::vector<ScheduleStepsNode::Other> all = {
      {for_all ? "" : targets->second.As<std::string>(), first}};
  all.insert(all.end(), first->others.begin(), first->others.end());
  return all;
}

PrimFunc WithFurtherSchedule(const PrimFunc& function, const std::string& targets,
                             const ScheduleSteps& schedule) {
  std::vector<ScheduleStepsNode::Other> before = SchedulesOf(function);
  for (const ScheduleStepsNode::Other& other : before)
    TERN_CHECK(other.targets != targets)
        << function->name << " has a schedule already"
        << (targets.empty() ? "; another one is for some targets, as in schedule " +
                                  function->name + " for host"
                            : " for " + targets);
  if (before.empty()) {
    PrimFunc result = function.WithAttr(attr::kSchedule, schedule);
    return targets.empty() ? result : result.WithAttr(attr::kScheduleFor, targets);
  }
  auto first = ffi::Make<ScheduleStepsNode>(*before[0].schedule);
  first->others.push_back({targets, schedule});
  return function.WithAttr(attr::kSchedule, ScheduleSteps(first.get()));
}

ScheduleSteps ChosenSchedule(const PrimFunc& function) {
  auto target = function->attrs.find(attr::kTarget);
  ScheduleSteps chosen;
  int best = -1;  // how narrow the chosen one's targets are
  for (const auto& [targets, schedule] : SchedulesOf(function)) {
    int narrow = targets.empty() ? 0 : targets == "host" || targets == "device" ? 1 : 2;
    if (target == function->attrs.end()) {
      if (!chosen || targets.empty()) chosen = schedule;
      continue;
    }
    auto machine = target->second.As<target::Target>();
    bool fits = targets.empty() || targets == machine->kind->name ||
                targets == (machine->is_device() ? "device" : "host");
    if (!fits || narrow <= best) continue;
    best = narrow;
    chosen = schedule;
  }
  return chosen;
}

}  // namespace tern::tir
