// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_ARITH_COMPARE_SUMS_H_
#define TERN_ARITH_COMPARE_SUMS_H_

#include <optional>

#include "tern/arith/analyzer.h"

namespace tern::arith {

// Whether a comparison of index types surely holds, or surely does not.
std::optional<bool> DecideComparison(ir::ExprKind kind, const ir::Expr& a, const ir::Expr& b,
                                     const Analyzer& analyzer, Analyzer::BoundsCache* cache);

// The same comparison with terms that are on both sides, common factors, and small terms that do
// not matter gone: i * 4 + j < n * 4 is i < n where 0 <= j < 4. Null where there is no such form.
// The caller sees to it that it does not overflow.
ir::Expr ReduceComparison(ir::ExprKind kind, const ir::Expr& a, const ir::Expr& b,
                          const Analyzer& analyzer, Analyzer::BoundsCache* cache);

}  // namespace tern::arith

#endif  // TERN_ARITH_COMPARE_SUMS_H_
