// SPDX-License-Identifier: Apache-2.0
//
// The schedules that a function carries (attr::kSchedule), as text with places.
#ifndef TERN_TIR_SCHEDULE_STEPS_H_
#define TERN_TIR_SCHEDULE_STEPS_H_

#include <string>
#include <vector>

#include "tern/ffi/any.h"
#include "tern/ir/span.h"
#include "tern/tir/function.h"

namespace tern::tir {

struct ScheduleStep {
  std::string text;  // "io, ii = split(i, 8)"
  ir::Span span{};   // none where the step was not read from a file
};

struct ScheduleStepsNode : ffi::Object {
  ScheduleStepsNode() = default;
  explicit ScheduleStepsNode(std::vector<ScheduleStep> steps) : steps(std::move(steps)) {}
  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("tir.ScheduleSteps");
    return index;
  }
  std::vector<ScheduleStep> steps;
  // Further schedules of the function, each for other targets than those before it
  // (attr::kScheduleFor has those of this one).
  struct Other {
    std::string targets;  // as attr::kScheduleFor; empty: all
    ffi::Ref<const ScheduleStepsNode> schedule;
  };
  std::vector<Other> others;
};
using ScheduleSteps = ffi::Ref<const ScheduleStepsNode>;

inline ScheduleSteps MakeScheduleSteps(std::vector<ScheduleStep> steps) {
  return ffi::Make<ScheduleStepsNode>(std::move(steps));
}

// All schedules of a function, each with its targets, in the order written.
std::vector<ScheduleStepsNode::Other> SchedulesOf(const PrimFunc& function);
// The function with one more. Throws where it has one for these targets.
PrimFunc WithFurtherSchedule(const PrimFunc& function, const std::string& targets,
                             const ScheduleSteps& schedule);
// The schedule for the target that the function is compiled for: of several, the one for the fewest
// targets. Null where it has none. Of a function without a target: the one for all targets, or the
// first.
ScheduleSteps ChosenSchedule(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_SCHEDULE_STEPS_H_
