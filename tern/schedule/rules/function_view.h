// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_FUNCTION_VIEW_H_
#define TERN_SCHEDULE_RULES_FUNCTION_VIEW_H_

#include <utility>
#include <vector>

#include "tern/tir/function.h"

namespace tern::schedule {

// A function whose tensors have other shapes than those of its caller, for the rules to schedule:
// more is known of its extents.
struct FunctionView {
  tir::PrimFunc function;
  std::vector<std::pair<tir::Var, tir::Expr>> lets;  // scalars of its own, of the caller's extents
  std::vector<tir::Buffer> tensors;                  // as it sees them

  // What was made of its body, to stand in the function as written.
  tir::Stmt Around(tir::Stmt body) const;
};

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_FUNCTION_VIEW_H_
