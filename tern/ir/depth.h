// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_IR_DEPTH_H_
#define TERN_IR_DEPTH_H_

#include "tern/ir/expr.h"

namespace tern::ir {

// How many operators of an expression may stand inside of each other. Nearly everything that is
// done to expressions is recursive.
inline constexpr int kMaxExprDepth = 1000;

// A part of the expression that is deeper inside than that; null where there is none. Not
// recursive itself.
const ExprNode* FindTooDeep(const Expr& expr);

// What to say of it.
std::string TooDeepMessage();

}  // namespace tern::ir

#endif  // TERN_IR_DEPTH_H_
