// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_ARITH_OVERFLOW_H_
#define TERN_ARITH_OVERFLOW_H_

#include <functional>

#include "tern/arith/analyzer.h"

namespace tern::arith {

// Calls `f` on every subexpression that is surely evaluated with the whole.
void ForEachEvaluated(const ir::Expr& expr, const std::function<void(const ir::Expr&)>& f);

// Whether no part of `candidate`, which equals `original`, is beyond its type, wherever the
// original was evaluated and none of its parts was: sums may be regrouped only then. By bounds, or
// because a part lies between values that the original has computed.
bool StaysInType(const ir::Expr& candidate, const ir::Expr& original, const Analyzer& analyzer,
                 Analyzer::BoundsCache* cache);

}  // namespace tern::arith

#endif  // TERN_ARITH_OVERFLOW_H_
