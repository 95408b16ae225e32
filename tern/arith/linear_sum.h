// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_ARITH_LINEAR_SUM_H_
#define TERN_ARITH_LINEAR_SUM_H_

#include <optional>
#include <vector>

#include "tern/ir/expr.h"

namespace tern::arith {

class Analyzer;

ir::Expr AsInt64(const ir::Expr& expr);

// The canonical form of an integer expression: constant + coefficient * expr + ... The expressions
// are no sums themselves, and no two of them are equal (products in any order), so that equal sums
// of the same terms cancel. The numbers are exact: nothing is said about overflow.
struct LinearSum {
  struct Term {
    ir::Expr expr;  // of the sum's type
    int64_t coefficient;
  };

  std::vector<Term> terms;  // in the order in which they were met; no coefficient is 0
  int64_t constant = 0;
  DataType dtype = DataType::Int(64);

  // Of an expression of an index type; nullopt for another one, and where a coefficient overflows.
  static std::optional<LinearSum> Of(const ir::Expr& expr);
  // The same, with terms of the expression's own type instead of int64.
  static std::optional<LinearSum> OfSameType(const ir::Expr& expr);
  // The same as Of, with products of sums multiplied out: (m - 1) * n is m * n - n. nullopt also
  // where that makes many terms.
  static std::optional<LinearSum> Expanded(const ir::Expr& expr);

  // Adds `other` times `factor`; false where that overflows, and then nothing is to be said of it.
  bool Add(const LinearSum& other, int64_t factor = 1);
  bool AddTerm(const ir::Expr& expr, int64_t coefficient);
  bool AddConstant(int64_t value);
  int64_t CoefficientOf(const ir::VarNode* var) const;
  int64_t CoefficientOf(const ir::Expr& term) const;
  // Null where a number does not fit the type.
  ir::Expr ToExpr() const;
};

// A product: coefficient * factor * ... No factor is a product or a constant.
struct Product {
  int64_t coefficient = 1;
  std::vector<ir::Expr> factors;

  // nullopt where the coefficient overflows.
  static std::optional<Product> Of(const ir::Expr& expr);
  // Without the factors of `other`; nullopt where these are not all here.
  std::optional<Product> Without(const Product& other) const;
  // Of this type, the coefficient left out; 1 without factors.
  ir::Expr FactorsToExpr(DataType dtype) const;
};

// Whether a <= b surely holds.
bool ProveLessEqual(const Analyzer& analyzer, const ir::Expr& a, const ir::Expr& b);

// a - b, of index types, equal terms cancelled.
ir::Expr SubtractSums(const Analyzer& analyzer, const ir::Expr& a, const ir::Expr& b);

}  // namespace tern::arith

#endif  // TERN_ARITH_LINEAR_SUM_H_
