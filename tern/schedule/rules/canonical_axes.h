// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_CANONICAL_AXES_H_
#define TERN_SCHEDULE_RULES_CANONICAL_AXES_H_

#include <string>
#include <vector>

#include "tern/schedule/rules/function_view.h"

namespace tern::schedule {

// A function with the axes that the rules want, by which they recognise more: reduced axes of
// one element are dropped, groups are a batch of their own (split_groups.h, on hosts), neighbours
// in memory are one axis (fuse_axes.h), and steps that run in order are spatial axes, where devices
// can find out which of them meet (sort_updates.h, last_writes.h).
struct CanonicalAxes {
  tir::PrimFunc function;
  std::vector<FunctionView> views;  // that it was made by, the caller's first
  std::vector<std::string> notes;   // what was done; none: nothing

  // What was made of its body, to stand in the function as written.
  tir::Stmt Around(tir::Stmt body) const;
};
// Without a target the function is of no host. In a schedule section it is the first step
// (ApplySchedule).
CanonicalAxes CanonicalizeAxes(const tir::PrimFunc& function);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_CANONICAL_AXES_H_
