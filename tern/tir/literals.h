// SPDX-License-Identifier: Apache-2.0
//
// Untyped literals of the text form. `1`, `0.5` and what is computed from such alone, as
// `1.0 / 3.0` or `select(c, 0, 1)`, take the type of what they meet.
#ifndef TERN_TIR_LITERALS_H_
#define TERN_TIR_LITERALS_H_

#include <functional>

#include "tern/ir/expr.h"

namespace tern::tir {

// Whether the text of the expression is an untyped literal: all its leaves are constants of int64,
// or all are of float32, and every operator has the type of its operands.
bool IsLiteral(const ir::Expr& expr);

// The same computation in the scalar type `dtype`. Null where the type has no such operators: the
// literal has floats and the type is of integers, or it has operators of integers and the type is
// of floats. `exact` gives the value of a float with all its digits. Throws where a constant does
// not fit in the type.
ir::Expr RetypeLiteral(const ir::Expr& expr, DataType dtype,
                       const std::function<double(const ir::FloatImmNode*)>& exact);

}  // namespace tern::tir

#endif  // TERN_TIR_LITERALS_H_
