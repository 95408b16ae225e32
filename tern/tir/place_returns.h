// SPDX-License-Identifier: Apache-2.0
//
// The body of a function that returns a value, as it is parsed: a return is a store to element 0 of
// `result`, and means that nothing follows.
#ifndef TERN_TIR_PLACE_RETURNS_H_
#define TERN_TIR_PLACE_RETURNS_H_

#include <optional>

#include "tern/tir/expr_parser.h"

namespace tern::tir {

// The body with each return last on its path. Reports paths without one, returns that others
// follow, and returns in loops.
//
// Before:                        After:
//   if x < 0 { return 0 }          if x < 0 { result[0] = 0 } else {
//   let y = sqrt(x)                  let y = sqrt(x)
//   return y + 1                     result[0] = y + 1
//                                  }
Stmt PlaceReturns(const Stmt& body, const Buffer& result, ExprParser* parser);

// The value that a body with its returns placed computes, where it is made of lets and conditions
// alone.
std::optional<Expr> AsExpression(const Stmt& body, const Buffer& result);

}  // namespace tern::tir

#endif  // TERN_TIR_PLACE_RETURNS_H_
