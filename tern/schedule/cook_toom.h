// SPDX-License-Identifier: Apache-2.0
//
// Winograd's F(m, r): m outputs of a filter of r taps, at stride 1, by m + r - 1 multiplications.
#ifndef TERN_SCHEDULE_COOK_TOOM_H_
#define TERN_SCHEDULE_COOK_TOOM_H_

#include <cstdint>
#include <vector>

#include "tern/ir/expr.h"

namespace tern::schedule {

// A fraction in lowest terms; the denominator is positive.
struct Rational {
  int64_t numerator = 0, denominator = 1;

  static Rational Make(int64_t numerator, int64_t denominator = 1);
  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
  bool is_zero() const { return numerator == 0; }
  bool operator==(const Rational&) const = default;
};
Rational operator+(Rational a, Rational b);
Rational operator-(Rational a, Rational b);
Rational operator*(Rational a, Rational b);
Rational operator/(Rational a, Rational b);

using Matrix = std::vector<std::vector<Rational>>;  // rows

// y = At ((G w) * (Bt x)), where * multiplies element by element.
struct WinogradTransforms {
  Matrix input;    // Bt, of the input: m + r - 1 rows of as many
  Matrix weights;  // G: m + r - 1 rows of r
  Matrix result;   // At: m rows of m + r - 1
};

// There are points for so many multiplications.
inline constexpr int64_t kMostPoints = 8;
// By Cook and Toom: polynomials are multiplied by way of their values at points, of which the last
// is infinity. The finite ones are chosen for small errors: those of F(4, 3) are half of what they
// are with 2 and -2.
WinogradTransforms MakeWinogradTransforms(int64_t m, int64_t r);

// The sum of `terms`, each times its coefficient in a row. Terms of the same coefficient are added
// first, so that rows share such sums; terms times 0 and multiplications by 1 are left out.
ir::Expr WeightedSum(const std::vector<Rational>& row, const std::vector<ir::Expr>& terms);
// How many additions and multiplications that is, of the rows of a matrix.
int64_t CountOperations(const Matrix& matrix);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_COOK_TOOM_H_
