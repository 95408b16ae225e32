// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/integer_system.h"

#include <gtest/gtest.h>

namespace tern::arith {
namespace {

using namespace tern::ir;

// Variables of extent 16.
std::optional<IntegerSystem::Range> Sixteen(const VarNode*) {
  return IntegerSystem::Range{Expr(0), Expr(16)};
}

TEST(IntegerSystem, UsesRanges) {
  Var x("x"), y("y"), u("u"), v("v");
  IntegerSystem rows(Sixteen);  // 16 x + u = 16 y + v, x < y
  rows.AddEqual(x * 16 + u, y * 16 + v);
  EXPECT_FALSE(rows.IsInfeasible());
  rows.AddLess(x, y);
  EXPECT_TRUE(rows.IsInfeasible());
  IntegerSystem overlapping(Sixteen);  // rows of 15
  overlapping.AddEqual(x * 15 + u, y * 15 + v);
  overlapping.AddLess(x, y);
  EXPECT_FALSE(overlapping.IsInfeasible());
}

TEST(IntegerSystem, DividesByConstants) {
  Var k("k");
  IntegerSystem parity({});
  parity.AddEqual(FloorMod(k + 1, 2), FloorMod(k, 2));
  EXPECT_TRUE(parity.IsInfeasible());
  IntegerSystem same({});
  same.AddEqual(FloorMod(k + 2, 2), FloorMod(k, 2));
  EXPECT_FALSE(same.IsInfeasible());
  IntegerSystem quotient(Sixteen);
  quotient.AddEqual(FloorDiv(k, 4), 4);
  EXPECT_TRUE(quotient.IsInfeasible());
}

// Two lanes of a warp do not store the same element of a fragment: (i // 4 + 8 g, i % 4 * 2 + 8 h).
TEST(IntegerSystem, SplitsEqualitiesByMultiples) {
  Var i("i"), j("j"), g("g"), h("h"), a("a"), b("b");
  auto ranges = [&](int64_t steps) {
    return [=](const VarNode* var) {
      return IntegerSystem::Range{Expr(0),
                                  Expr(int64_t{var->name == "i" || var->name == "j" ? 32 : steps})};
    };
  };
  auto meet = [&](int64_t apart) {
    IntegerSystem system(ranges(2));
    system.AddEqual(FloorDiv(i, 4) + g * apart, FloorDiv(j, 4) + a * apart);
    system.AddEqual(FloorMod(i, 4) * 2 + h * 8, FloorMod(j, 4) * 2 + b * 8);
    system.AddLess(i, j);
    return !system.IsInfeasible();
  };
  EXPECT_FALSE(meet(8));
  EXPECT_TRUE(meet(7));
  IntegerSystem between({});  // no multiple of 8 is between 1 and 7
  between.AddCondition(h >= 1 && h < 8);
  between.AddEqual(g * 8, h);
  EXPECT_TRUE(between.IsInfeasible());
}

TEST(IntegerSystem, TakesOtherExpressionsAsUnknowns) {
  Var n("n"), x("x"), y("y");
  IntegerSystem system(Sixteen);
  system.AddEqual(x * n + 1, x * n);  // whatever x * n is
  EXPECT_TRUE(system.IsInfeasible());
  IntegerSystem products(Sixteen);
  products.AddEqual(x * n, y * n);
  products.AddLess(x, y);
  EXPECT_FALSE(products.IsInfeasible());  // n may be 0
}

TEST(IntegerSystem, ReadsConditions) {
  Var x("x"), y("y"), w("w");
  IntegerSystem halves([](const VarNode*) { return IntegerSystem::Range{Expr(0), Expr(256)}; });
  halves.AddCondition(x < w && y < w);
  halves.AddEqual(x + w, y);
  EXPECT_TRUE(halves.IsInfeasible());
  IntegerSystem otherwise({});
  otherwise.AddCondition(x < y || x >= 5, false);
  otherwise.AddCondition(y >= 5);
  EXPECT_TRUE(otherwise.IsInfeasible());
  IntegerSystem bounded({});
  bounded.AddLess(MaxNode::Make(x, y), x);
  EXPECT_TRUE(bounded.IsInfeasible());
}

TEST(IntegerSystem, ProvesNothingFromWhatOverflows) {
  Var x("x");
  int64_t large = std::numeric_limits<int64_t>::max();
  IntegerSystem system({});
  system.AddEqual(x * large * 2 + 1, x * large * 4);
  EXPECT_FALSE(system.IsInfeasible());
}

}  // namespace
}  // namespace tern::arith
