// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/check_arith.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "tern/arith/fold.h"
#include "tern/arith/int_set.h"
#include "tern/tir/text.h"
#include "test/fuzz/random_index.h"

namespace tern::fuzz {
namespace {

using namespace tern::ir;  // the node classes
using arith::IterMap;
using arith::IterRange;

ArithCounts counts;

std::string Describe(const RandomScope& scope, const VarValues& values) {
  std::ostringstream text;
  for (const IterRange& loop : scope.loops())
    text << "  " << loop.var.name() << ": " << loop.var.dtype().str() << " in "
         << tir::Print(loop.range.min) << "..+" << tir::Print(loop.range.extent) << "\n";
  for (const auto& [var, value] : values) text << "  " << var->name << " = " << value << "\n";
  return text.str();
}
std::string Show(const std::optional<int64_t>& value) {
  return value ? std::to_string(*value) : "a fault";
}

bool InSet(const arith::ModularSet& set, int64_t value) {
  if (set.coefficient == 0) return value == set.base;
  return arith::FloorModInt(value, set.coefficient) == set.base;
}

}  // namespace

const ArithCounts& arith_counts() { return counts; }

// ---- Expressions.

std::string CheckSimplify(uint64_t seed) {
  Random random(seed);
  RandomScope scope(&random);
  arith::Analyzer analyzer = scope.Inside();
  int depth = static_cast<int>(random.Between(2, 5));
  Expr expr = random.OneIn(3)   ? scope.Index(depth - 1)
              : random.OneIn(3) ? scope.Bool(depth - 1)
                                : scope.Int(DataType::Int(random.OneIn(3) ? 32 : 64), depth);
  Expr condition = random.OneIn(3) ? scope.Bool(2) : ConstTrue();
  analyzer.Assume(condition);
  Expr simple = analyzer.Simplify(expr);
  arith::ConstBounds bounds = analyzer.Bounds(expr);
  arith::ModularSet modular = analyzer.Modular(expr);
  for (int trial = 0; trial < 6; ++trial) {
    VarValues values;
    if (!scope.Draw(&values) || Evaluate(condition, values) != 1) continue;
    std::optional<int64_t> expected = Evaluate(expr, values);
    if (!expected) continue;
    ++counts.values;
    std::optional<int64_t> actual = Evaluate(simple, values);
    bool inside = bounds.lo <= *expected && *expected <= bounds.hi && InSet(modular, *expected);
    if (actual == expected && inside) continue;
    return "  " + tir::Print(expr) + "\n  is simplified to\n  " + tir::Print(simple) +
           "\n  where " + tir::Print(condition) + "\n" + Describe(scope, values) +
           "  before: " + Show(expected) + ", after: " + Show(actual) +
           (inside ? "" : ", the bounds or remainders are wrong");
  }
  return "";
}

// ---- Iteration maps.

namespace {

// Loops, split and fused at random; sometimes something else is done to them.
struct RandomMap {
  explicit RandomMap(Random* random) : random(random) {
    static const std::vector<int64_t> extents{1, 2, 3, 4, 6, 8, 12};
    const char* names[] = {"i", "j", "k"};
    int64_t count = random->Between(1, 3);
    for (int64_t v = 0; v < count; ++v) {
      Expr extent = Expr(random->Pick(extents));
      if (random->OneIn(4)) extent = random->OneIn(2) ? Expr(n) : n * Expr(random->Pick(extents));
      loops.push_back({Var(names[v]), {Expr(random->OneIn(4) ? 3 : 0), extent}});
      parts.push_back({loops.back().var - loops.back().range.min, extent});
    }
    for (int64_t step = random->Below(5); step > 0; --step) random->OneIn(2) ? Split() : FuseTwo();
    if (random->OneIn(4)) Spoil();
    for (const auto& [expr, extent] : parts)
      bindings.push_back(random->OneIn(6) ? expr * Expr(2) + Expr(5) : expr);
  }

  void Split() {
    size_t at = random->Below(static_cast<int64_t>(parts.size()));
    auto [expr, extent] = parts[at];
    Expr factor = Expr(random->Between(2, 4));
    if (random->OneIn(6)) factor = Expr(n);
    parts[at] = {FloorDiv(expr, factor), CeilDiv(extent, factor)};
    parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                 {FloorMod(expr, factor), factor});
  }
  void FuseTwo() {
    if (parts.size() < 2) return;
    size_t a = random->Below(static_cast<int64_t>(parts.size()) - 1);
    if (random->OneIn(2)) std::swap(parts[a], parts[a + 1]);
    Expr extent = parts[a].second * parts[a + 1].second;
    parts[a] = {parts[a].first * parts[a + 1].second + parts[a + 1].first, extent};
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(a) + 1);
    if (random->OneIn(3)) {
      predicate = parts[a].first < Expr(random->Between(1, 20));
    }
  }
  void Spoil() {
    size_t at = random->Below(static_cast<int64_t>(parts.size()));
    switch (random->Below(4)) {
      case 0:
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        parts.push_back(parts[at]);
        break;
      case 2:
        parts[at].first = parts[at].first + loops[0].var;
        break;
      default:
        parts[at].first = MinNode::Make(parts[at].first, Expr(2));
    }
  }

  Random* random;
  Var n{"n"};
  std::vector<IterRange> loops;
  std::vector<std::pair<Expr, Expr>> parts;  // with their extents
  std::vector<Expr> bindings;
  Expr predicate;
};

std::string DescribeMap(const RandomMap& random) {
  std::string text;
  for (const IterRange& loop : random.loops)
    text += "  " + loop.var.name() + " in " + tir::Print(loop.range.min) + "..+" +
            tir::Print(loop.range.extent) + "\n";
  if (random.predicate.get()) text += "  where " + tir::Print(random.predicate) + "\n";
  for (const Expr& binding : random.bindings) text += "  binding " + tir::Print(binding) + "\n";
  return text;
}

std::vector<VarValues> IterationsOf(const RandomMap& random, int64_t n) {
  std::vector<VarValues> all{{{random.n.node(), n}}};
  for (const IterRange& loop : random.loops) {
    std::vector<VarValues> next;
    for (const VarValues& outer : all) {
      int64_t min = *Evaluate(loop.range.min, outer), extent = *Evaluate(loop.range.extent, outer);
      for (int64_t step = 0; step < extent; ++step) {
        next.push_back(outer);
        next.back()[loop.var.node()] = min + step;
      }
    }
    all = std::move(next);
  }
  if (random.predicate.get())
    std::erase_if(all, [&](const VarValues& v) { return Evaluate(random.predicate, v) != 1; });
  return all;
}

// What is claimed of a map, over its iterations.
std::string CheckMap(const RandomMap& random, const IterMap& map, const arith::Analyzer& analyzer,
                     int64_t n) {
  std::set<std::vector<int64_t>> seen;
  std::vector<VarValues> iterations = IterationsOf(random, n);
  bool injective = map.not_injective.empty();
  std::vector<Var> outputs;
  for (size_t b = 0; b < map.bindings.size(); ++b) outputs.emplace_back("y" + std::to_string(b));
  std::vector<Expr> inverse;
  if (injective) inverse = arith::InverseIterMap(map, {outputs.begin(), outputs.end()}, analyzer);
  for (const VarValues& values : iterations) {
    std::vector<int64_t> point;
    VarValues out{{random.n.node(), n}};
    for (size_t b = 0; b < map.bindings.size(); ++b) {
      int64_t value = *Evaluate(random.bindings[b], values);
      if (Evaluate(arith::ToExpr(map.bindings[b], map, arith::Analyzer()), values) != value)
        return "a binding is not what its map says";
      point.push_back(value);
      out[outputs[b].node()] = value;
    }
    bool is_new = seen.insert(point).second;
    if (injective && !is_new) return "two iterations have the same bindings";
    for (size_t v = 0; v < inverse.size(); ++v)
      if (Evaluate(inverse[v], out) != values.at(random.loops[v].var.node()))
        return "the inverse is wrong: " + tir::Print(inverse[v]);
  }
  if (iterations.empty()) return "";
  int64_t combinations = 1;
  for (size_t b = 0; b < map.bindings.size(); ++b)
    combinations *= *Evaluate(map.Extent(b), {{random.n.node(), n}});
  if (static_cast<int64_t>(seen.size()) != combinations)
    return "there are " + std::to_string(seen.size()) + " combinations of values, not " +
           std::to_string(combinations);
  std::vector<Expr> extents;
  for (size_t b = 0; b < map.bindings.size(); ++b) extents.push_back(map.Extent(b));
  if (!IsBijective(map, extents, analyzer)) return "";
  for (const std::vector<int64_t>& point : seen)
    for (size_t b = 0; b < point.size(); ++b)
      if (point[b] < 0 || point[b] >= *Evaluate(extents[b], {{random.n.node(), n}}))
        return "a value is beyond its extent";
  return "";
}

}  // namespace

std::string CheckIterMap(uint64_t seed) {
  Random random(seed);
  RandomMap map(&random);
  arith::Analyzer analyzer;
  analyzer.Bind(map.n, {1, arith::ConstBounds::kPosInf});
  arith::IterMapResult result =
      arith::DetectIterMap(map.bindings, map.loops, map.predicate, analyzer);
  if (!result.map) return "";
  ++counts.maps;
  for (int64_t n : {1, 2, 3, 4}) {
    std::string wrong = CheckMap(map, *result.map, analyzer, n);
    if (!wrong.empty()) return DescribeMap(map) + "  n = " + std::to_string(n) + ": " + wrong;
  }
  return "";
}

// ---- Sets.

std::string CheckIntSet(uint64_t seed) {
  Random random(seed);
  RandomScope scope(&random);
  arith::Analyzer analyzer = scope.Outside();
  Expr expr = random.OneIn(2) ? scope.Index(2) : scope.Int(DataType::Int(64), 3);
  Expr condition = random.OneIn(3) ? scope.Bool(1) : Expr();
  auto covered = arith::Cover(expr, scope.loops(), condition, analyzer);
  auto other = arith::Cover(scope.Index(1), scope.loops(), {}, analyzer);
  if (!covered) return "";
  VarValues extents;
  scope.DrawExtents(&extents);
  std::set<int64_t> seen;
  for (const VarValues& values : scope.Iterations(extents, 2000)) {
    auto holds = condition.get() ? Evaluate(condition, values) : 1;
    if (!holds) return "";  // a program that asks it faults
    if (*holds != 1) continue;
    auto value = Evaluate(expr, values);
    if (!value) return "";
    seen.insert(*value);
  }
  if (seen.empty()) return "";
  ++counts.ranges;
  auto wrong = [&](const std::string& what) {
    return "  " + tir::Print(expr) + " covers " + tir::Print(covered->range.min) + "..+" +
           tir::Print(covered->range.extent) + (covered->exact ? ", all of it" : "") +
           (condition.get() ? "\n  where " + tir::Print(condition) : "") + "\n" +
           Describe(scope, extents) + "  " + what;
  };
  auto min = Evaluate(covered->range.min, extents),
       extent = Evaluate(covered->range.extent, extents);
  if (!min || !extent) return "";  // the ends may overflow where the values do not
  if (*seen.begin() < *min || static_cast<__int128>(*seen.rbegin()) - *min >= *extent)
    return wrong(std::to_string(*seen.begin()) + " and " + std::to_string(*seen.rbegin()));
  if (covered->exact && static_cast<int64_t>(seen.size()) != *extent)
    return wrong(std::to_string(seen.size()) + " values");
  if (!other) return "";
  // Operations on two sets, element by element.
  auto range_of = [&](const arith::Range& range) {
    return std::pair(Evaluate(range.min, extents), Evaluate(range.extent, extents));
  };
  arith::Range hull = Hull(covered->range, other->range, analyzer),
               both = Intersection(covered->range, other->range, analyzer);
  auto a = range_of(covered->range), b = range_of(other->range), h = range_of(hull),
       i = range_of(both);
  if (!a.second || !b.first || !b.second || !h.first || !h.second || !i.first || !i.second)
    return "";
  auto in = [](const auto& range, int64_t x) {
    return *range.first <= x && static_cast<__int128>(x) - *range.first < *range.second;
  };
  bool contains = Contains(covered->range, other->range, analyzer),
       disjoint = AreDisjoint(covered->range, other->range, analyzer);
  int64_t first = std::min(*a.first, *b.first) - 2, count = 60;
  for (int64_t x = first; x < first + count; ++x) {
    if ((in(a, x) && !in(h, x) && *b.second > 0) || (in(b, x) && !in(h, x) && *a.second > 0))
      return wrong("the hull lacks " + std::to_string(x));
    if ((in(a, x) && in(b, x)) != in(i, x))
      return wrong("the intersection is wrong at " + std::to_string(x));
    if (contains && in(b, x) && !in(a, x)) return wrong("does not contain " + std::to_string(x));
    if (disjoint && in(a, x) && in(b, x)) return wrong("is not disjoint at " + std::to_string(x));
  }
  return "";
}

}  // namespace tern::fuzz
