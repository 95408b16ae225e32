// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_ARITH_LINEAR_SUM_H_
#define TERN_ARITH_LINEAR_SUM_H_

#include <optional>
#include <vector>

#include "tern/arith/analyzer.h"
#include "tern/ir/expr.h"

namespace tern::arith {

ir::Expr AsInt64(const ir::Expr& expr);

// constant + coefficient * expr + ..., in int64. The expressions are no sums themselves, and no two
// of them are equal, so that equal sums of the same terms cancel.
struct LinearSum {
  struct Term {
    ir::Expr expr;  // int64
    int64_t coefficient;
  };

  std::vector<Term> terms;  // in the order in which they were met; no coefficient is 0
  int64_t constant = 0;

  // Of an expression of an index type; nullopt for another one, and where a coefficient overflows.
  static std::optional<LinearSum> Of(const ir::Expr& expr);

  // Adds `other` times `factor`; false where that overflows, and then nothing is to be said of it.
  bool Add(const LinearSum& other, int64_t factor = 1);
  bool AddTerm(const ir::Expr& expr, int64_t coefficient);
  int64_t CoefficientOf(const ir::VarNode* var) const;
  ir::Expr ToExpr() const;
};

// Whether a <= b surely holds, by the bounds of what is left when equal terms cancel, and by
// x - c < (x // c) * c <= x.
bool ProveLessEqual(const Analyzer& analyzer, const ir::Expr& a, const ir::Expr& b);

// a - b, of index types, equal terms cancelled.
ir::Expr SubtractSums(const Analyzer& analyzer, const ir::Expr& a, const ir::Expr& b);

}  // namespace tern::arith

#endif  // TERN_ARITH_LINEAR_SUM_H_
