// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/cook_toom.h"

#include <numeric>

#include "tern/ffi/error.h"

namespace tern::schedule {

using ir::Expr;

namespace {

using Polynomial = std::vector<Rational>;  // the constant first

std::vector<Rational> FinitePoints(size_t count) {
  std::vector<Rational> points = {{0, 1}, {1, 1}, {-1, 1}, {1, 2}, {-2, 1}, {-1, 2}, {2, 1}};
  TERN_ICHECK(count <= points.size()) << "no points for " << count << " products";
  points.resize(count);
  return points;
}

// p * (x - root)
Polynomial TimesRoot(const Polynomial& p, Rational root) {
  Polynomial product(p.size() + 1);
  for (size_t i = 0; i < p.size(); ++i) {
    product[i + 1] = product[i + 1] + p[i];
    product[i] = product[i] - root * p[i];
  }
  return product;
}

std::vector<Rational> Powers(Rational x, int64_t count) {
  std::vector<Rational> powers = {{1, 1}};
  while (static_cast<int64_t>(powers.size()) < count) powers.push_back(powers.back() * x);
  return powers;
}

std::vector<Rational> LastOf(int64_t count) {
  std::vector<Rational> row(count);
  row.back() = {1, 1};
  return row;
}

// Terms with one factor, but for signs.
struct Group {
  Rational factor;
  std::vector<size_t> terms;
  std::vector<bool> minus;  // of each term
};

// The first term, which stands for the point 0, is the last, so that sums of others are shared.
std::vector<Group> GroupsOf(const std::vector<Rational>& row) {
  std::vector<Group> groups;
  for (size_t k = 0; k < row.size(); ++k) {
    size_t i = (k + 1) % row.size();
    if (row[i].is_zero()) continue;
    Rational negated = Rational{0, 1} - row[i];
    bool found = false;
    for (Group& group : groups) {
      if (group.factor != row[i] && group.factor != negated) continue;
      group.terms.push_back(i);
      group.minus.push_back(group.factor == negated);
      found = true;
    }
    if (!found) groups.push_back({row[i], {i}, {false}});
  }
  return groups;
}

bool IsOne(Rational x) { return x.numerator == 1 && x.denominator == 1; }

}  // namespace

Rational Rational::Make(int64_t numerator, int64_t denominator) {
  TERN_ICHECK(denominator != 0) << "a fraction with denominator 0";
  int64_t common = std::gcd(numerator, denominator);
  if (denominator < 0) common = -common;
  return {numerator / common, denominator / common};
}
Rational operator+(Rational a, Rational b) {
  return Rational::Make(a.numerator * b.denominator + b.numerator * a.denominator,
                        a.denominator * b.denominator);
}
Rational operator-(Rational a, Rational b) { return a + Rational{-b.numerator, b.denominator}; }
Rational operator*(Rational a, Rational b) {
  return Rational::Make(a.numerator * b.numerator, a.denominator * b.denominator);
}
Rational operator/(Rational a, Rational b) {
  return Rational::Make(a.numerator * b.denominator, a.denominator * b.numerator);
}

WinogradTransforms MakeWinogradTransforms(int64_t m, int64_t r) {
  int64_t n = m + r - 1;
  std::vector<Rational> points = FinitePoints(n - 1);
  WinogradTransforms filter;
  filter.result.resize(m);
  for (size_t j = 0; j < points.size(); ++j) {
    Polynomial others = {{1, 1}};
    Rational scale{1, 1};
    for (size_t l = 0; l < points.size(); ++l) {
      if (l == j) continue;
      others = TimesRoot(others, points[l]);
      scale = scale * (points[j] - points[l]);
    }
    others.resize(n);
    filter.input.push_back(others);
    filter.weights.push_back(Powers(points[j], r));
    for (Rational& weight : filter.weights.back()) weight = weight / scale;
    std::vector<Rational> powers = Powers(points[j], m);
    for (int64_t i = 0; i < m; ++i) filter.result[i].push_back(powers[i]);
  }
  Polynomial all = {{1, 1}};
  for (Rational point : points) all = TimesRoot(all, point);
  filter.input.push_back(all);
  filter.weights.push_back(LastOf(r));
  for (int64_t i = 0; i < m; ++i) filter.result[i].push_back({i + 1 == m, 1});
  return filter;
}

Expr WeightedSum(const std::vector<Rational>& row, const std::vector<Expr>& terms) {
  DataType dtype = terms[0].dtype();
  auto times = [&](Rational factor, const Expr& sum) {
    return IsOne(factor) ? sum : sum * ir::FloatImmNode::Make(dtype, factor.value());
  };
  Expr all;
  for (const Group& group : GroupsOf(row)) {
    Expr sum = terms[group.terms[0]];
    for (size_t i = 1; i < group.terms.size(); ++i) {
      const Expr& term = terms[group.terms[i]];
      sum = group.minus[i] ? sum - term : sum + term;
    }
    Rational negated = Rational{0, 1} - group.factor;
    if (!all.get())
      all = times(group.factor, sum);
    else
      all = IsOne(negated) ? all - sum : all + times(group.factor, sum);
  }
  return all.get() ? all : ir::FloatImmNode::Make(dtype, 0);
}

int64_t CountOperations(const Matrix& matrix) {
  int64_t operations = 0;
  for (const std::vector<Rational>& row : matrix)
    for (const Group& group : GroupsOf(row)) {
      auto additions = static_cast<int64_t>(group.terms.size());
      // A product is part of the addition.
      operations += additions;
    }
  return operations - static_cast<int64_t>(matrix.size());
}

}  // namespace tern::schedule
