// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_REDUCTION_STEP_H_
#define TERN_TIR_ANALYSIS_REDUCTION_STEP_H_

#include <optional>
#include <vector>

#include "tern/tir/analysis/reduction_update.h"
#include "tern/tir/analysis/selection_update.h"

namespace tern::tir {

// A step of a reduction of either kind: what it writes, and how two of its results are combined.
struct ReductionStep {
  explicit ReductionStep(const ReductionUpdate& update);
  explicit ReductionStep(const SelectionUpdate& update);

  // target[at] = target[at] combined with others, all of one type.
  Stmt Combine(const std::vector<Buffer>& targets, const std::vector<std::vector<Expr>>& at,
               const std::vector<Expr>& others) const;

  std::optional<ReductionUpdate> plain;  // one result
  std::optional<SelectionUpdate> selection;
  std::vector<Buffer> results;
  std::vector<std::vector<Expr>> indices;  // of the results
  std::vector<Expr> values;                // of the step; of a plain one behind its definitions
};

// What an init stores to each of the results; empty where it does anything else.
std::vector<Expr> StoredValues(const Stmt& init, const std::vector<Buffer>& results);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_REDUCTION_STEP_H_
