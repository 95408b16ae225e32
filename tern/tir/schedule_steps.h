// SPDX-License-Identifier: Apache-2.0
//
// The schedule that a function carries (attr::kSchedule), as text with places.
#ifndef TERN_TIR_SCHEDULE_STEPS_H_
#define TERN_TIR_SCHEDULE_STEPS_H_

#include <string>
#include <vector>

#include "tern/ffi/any.h"
#include "tern/ir/span.h"

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
};
using ScheduleSteps = ffi::Ref<const ScheduleStepsNode>;

inline ScheduleSteps MakeScheduleSteps(std::vector<ScheduleStep> steps) {
  return ffi::Make<ScheduleStepsNode>(std::move(steps));
}

}  // namespace tern::tir

#endif  // TERN_TIR_SCHEDULE_STEPS_H_
