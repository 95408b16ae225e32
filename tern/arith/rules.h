// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_ARITH_RULES_H_
#define TERN_ARITH_RULES_H_

#include "tern/ir/expr.h"

namespace tern::arith {

// What the first rewrite rule that matches makes of an expression; null where none does. The rules
// are about integers whose overflow is undefined, and bools; they need no facts.
ir::Expr ApplyRules(const ir::Expr& expr);

}  // namespace tern::arith

#endif  // TERN_ARITH_RULES_H_
