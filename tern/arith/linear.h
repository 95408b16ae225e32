// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_ARITH_LINEAR_H_
#define TERN_ARITH_LINEAR_H_

#include <optional>

#include "tern/ir/expr.h"

namespace tern::arith {

// Signed types whose overflow is undefined, so that sums may be regrouped.
bool IsIndexType(DataType dtype);

// Whether it has one value wherever its variables are in scope: it reads no memory and calls
// nothing.
bool IsFixed(const ir::Expr& expr);

// The variable that an expression is, perhaps widened; null otherwise.
const ir::VarNode* AsWidenedVar(const ir::Expr& expr);

// var * coefficient + rest
struct LinearForm {
  int64_t coefficient = 0;
  ir::Expr rest;  // simplified, free of the variable
};

// `expr`, of an index type, as a linear form in `var` (whose own type may be narrower than the
// expression's, never wider); nullopt where it is none with a constant coefficient.
std::optional<LinearForm> AsLinear(const ir::Expr& expr, const ir::VarNode* var);

}  // namespace tern::arith

#endif  // TERN_ARITH_LINEAR_H_
