// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_ARITH_COMBINE_SPLITS_H_
#define TERN_ARITH_COMBINE_SPLITS_H_

#include "tern/arith/analyzer.h"

namespace tern::arith {

// source // lower % extent: some of the digits of a number.
struct SplitTerm {
  ir::Expr source;
  int64_t lower = 1, extent = 0;  // extent 0: all upper digits, no remainder is taken

  // What // and % by constants an expression is made of; at least itself // 1.
  static SplitTerm Of(const ir::Expr& expr);
  ir::Expr ToExpr() const;
};

// Puts together what was taken apart, where that makes fewer terms: x // 4 * 4 + x % 4 is x,
// x - x // 4 * 4 is x % 4, x // 4 % 3 * 4 + x % 4 is x % 12. Whether the sum has changed.
bool CombineSplits(LinearSum* sum, const Analyzer& analyzer);

}  // namespace tern::arith

#endif  // TERN_ARITH_COMBINE_SPLITS_H_
