// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/cook_toom.h"

#include <gtest/gtest.h>

#include "tern/tir/text.h"

namespace tern::schedule {
namespace {

// A row of a matrix times a vector.
Rational Dot(const std::vector<Rational>& row, const std::vector<Rational>& vector) {
  Rational sum{0, 1};
  for (size_t i = 0; i < row.size(); ++i) sum = sum + row[i] * vector[i];
  return sum;
}

// All that fit into the points are exact.
TEST(CookToom, ComputesTheFilter) {
  for (int64_t r = 2; r < kMostPoints; ++r)
    for (int64_t m = 2; m + r - 1 <= kMostPoints; ++m) {
      WinogradTransforms filter = MakeWinogradTransforms(m, r);
      std::vector<Rational> input, weights;
      for (int64_t i = 0; i < m + r - 1; ++i) input.push_back(Rational::Make(3 * i * i - 7, 2));
      for (int64_t i = 0; i < r; ++i) weights.push_back(Rational::Make(5 - 2 * i, 3));
      ASSERT_EQ(filter.input.size(), input.size());
      std::vector<Rational> products;
      for (size_t i = 0; i < input.size(); ++i)
        products.push_back(Dot(filter.input[i], input) * Dot(filter.weights[i], weights));
      for (int64_t y = 0; y < m; ++y) {
        std::vector<Rational> window(input.begin() + y, input.begin() + y + r);
        EXPECT_EQ(Dot(filter.result[y], products), Dot(window, weights)) << m << " " << r;
      }
    }
}

TEST(CookToom, FractionsAreInLowestTerms) {
  EXPECT_EQ(Rational::Make(6, -4), (Rational{-3, 2}));
  EXPECT_EQ(Rational::Make(1, 2) / Rational::Make(-1, 6), (Rational{-3, 1}));
}

TEST(CookToom, SumsHaveNoZerosAndNoProductsWithOne) {
  std::vector<ir::Expr> terms;
  for (const char* name : {"a", "b", "c", "d"})
    terms.emplace_back(ir::Var(name, DataType::Float(32)));
  auto text = [&](const std::vector<Rational>& row) { return tir::Print(WeightedSum(row, terms)); };
  EXPECT_EQ(text({{0, 1}, {1, 1}, {0, 1}, {-1, 1}}), "b - d");
  EXPECT_EQ(text({{1, 1}, {-2, 1}, {0, 1}, {2, 1}}), "(b - d) * -2.0 + a");
  EXPECT_EQ(text({{-1, 1}, {1, 2}, {0, 1}, {0, 1}}), "b * 0.5 - a");
  EXPECT_EQ(text({{0, 1}, {0, 1}, {0, 1}, {0, 1}}), "0.0");
  EXPECT_EQ(CountOperations({{{0, 1}, {1, 1}, {0, 1}, {-1, 1}}, {{1, 1}, {-2, 1}, {0, 1}, {2, 1}}}),
            3);
}

}  // namespace
}  // namespace tern::schedule
