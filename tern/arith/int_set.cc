// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/int_set.h"

#include <algorithm>

#include "tern/arith/linear_sum.h"
#include "tern/arith/symbolic_bounds.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes

Expr Past(const Range& range) { return range.min + range.extent; }

Expr Smaller(const Expr& a, const Expr& b, const Analyzer& analyzer) {
  if (ProveLessEqual(analyzer, a, b)) return a;
  return ProveLessEqual(analyzer, b, a) ? b : MinNode::Make(a, b);
}
Expr Larger(const Expr& a, const Expr& b, const Analyzer& analyzer) {
  if (ProveLessEqual(analyzer, a, b)) return b;
  return ProveLessEqual(analyzer, b, a) ? a : MaxNode::Make(a, b);
}

template <class F>
Box ForEachDimension(const Box& a, const Box& b, F&& combine) {
  Box result;
  for (size_t d = 0; d < a.size(); ++d) result.push_back(combine(a[d], b[d]));
  return result;
}

}  // namespace

std::optional<CoveredRange> Cover(const Expr& expr, const std::vector<IterRange>& loops,
                                  const Expr& condition, const Analyzer& analyzer) {
  SymbolicAnalyzer symbolic(analyzer);
  for (const IterRange& loop : loops)
    symbolic.EnterRange(loop.var, loop.range.min, loop.range.extent);
  std::vector<const VarNode*> vars;
  bool dense = symbolic.IsDense(expr, &vars);
  // A loop that the expression does not depend on may not run at all, for some iterations of
  // others.
  for (const IterRange& loop : loops) {
    bool used = std::find(vars.begin(), vars.end(), loop.var.node()) != vars.end();
    dense = dense && (used || symbolic.analyzer().Bounds(loop.range.extent).lo >= 1);
  }
  bool conditional = condition.get() && !symbolic.analyzer().CanProve(condition);
  if (conditional) symbolic.Assume(condition);
  SymbolicBounds bounds = symbolic.Bounds(expr);
  if (!bounds.known()) return {};
  Range range{analyzer.Simplify(bounds.lo),
              analyzer.Simplify(SubtractSums(analyzer, bounds.hi + Expr(1), bounds.lo))};
  return CoveredRange{range, dense && !conditional};
}

Expr Last(const Range& range, const Analyzer& analyzer) {
  return SubtractSums(analyzer, Past(range), 1);
}

bool Contains(const Range& a, const Range& b, const Analyzer& analyzer) {
  return ProveLessEqual(analyzer, a.min, b.min) &&
         ProveLessEqual(analyzer, Last(b, analyzer), Last(a, analyzer));
}
bool Contains(const Box& a, const Box& b, const Analyzer& analyzer) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Range& x, const Range& y) { return Contains(x, y, analyzer); });
}

bool AreDisjoint(const Range& a, const Range& b, const Analyzer& analyzer) {
  return ProveLessEqual(analyzer, Past(a), b.min) || ProveLessEqual(analyzer, Past(b), a.min);
}
bool AreDisjoint(const Box& a, const Box& b, const Analyzer& analyzer) {
  return !std::equal(a.begin(), a.end(), b.begin(), b.end(),
                     [&](const Range& x, const Range& y) { return !AreDisjoint(x, y, analyzer); });
}

Range Hull(const Range& a, const Range& b, const Analyzer& analyzer) {
  Expr lo = Smaller(a.min, b.min, analyzer),
       hi = Larger(Last(a, analyzer), Last(b, analyzer), analyzer);
  return {analyzer.Simplify(lo), SubtractSums(analyzer, hi + Expr(1), lo)};
}
Box Hull(const Box& a, const Box& b, const Analyzer& analyzer) {
  return ForEachDimension(a, b,
                          [&](const Range& x, const Range& y) { return Hull(x, y, analyzer); });
}

bool FillHull(const Box& a, const Box& b, const Analyzer& analyzer) {
  int different = 0;
  for (size_t d = 0; d < a.size(); ++d) {
    if (Contains(a[d], b[d], analyzer) && Contains(b[d], a[d], analyzer)) continue;
    bool touch = ProveLessEqual(analyzer, a[d].min, Past(b[d])) &&
                 ProveLessEqual(analyzer, b[d].min, Past(a[d]));
    if (!touch || ++different > 1) return false;
  }
  return true;
}

Range Intersection(const Range& a, const Range& b, const Analyzer& analyzer) {
  Expr lo = Larger(a.min, b.min, analyzer), past = Smaller(Past(a), Past(b), analyzer);
  Expr extent = Larger(SubtractSums(analyzer, past, lo), Expr(0), analyzer);
  return {analyzer.Simplify(lo), analyzer.Simplify(extent)};
}
Box Intersection(const Box& a, const Box& b, const Analyzer& analyzer) {
  return ForEachDimension(
      a, b, [&](const Range& x, const Range& y) { return Intersection(x, y, analyzer); });
}

}  // namespace tern::arith
