// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_CONJUNCTS_H_
#define TERN_TIR_ANALYSIS_CONJUNCTS_H_

#include <functional>
#include <vector>

#include "tern/ir/expr.h"

namespace tern::tir {

// The parts of a condition, which may be null, that are joined by "and".
std::vector<ir::Expr> Conjuncts(const ir::Expr& condition);
// Those that `kept` holds for, joined again; null where there is none.
ir::Expr KeepConjuncts(const ir::Expr& condition, const std::function<bool(const ir::Expr&)>& kept);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_CONJUNCTS_H_
