// SPDX-License-Identifier: Apache-2.0
//
// Sets of integers, and boxes of them, with symbolic ends: what an expression covers as loops run,
// and proofs about such sets.
#ifndef TERN_ARITH_INT_SET_H_
#define TERN_ARITH_INT_SET_H_

#include <optional>
#include <vector>

#include "tern/arith/analyzer.h"
#include "tern/arith/iter_map.h"
#include "tern/arith/range.h"

namespace tern::arith {

// One range per dimension, in int64.
using Box = std::vector<Range>;

// The values of an expression.
struct CoveredRange {
  Range range;         // all of them are in it
  bool exact = false;  // and each number in it is one of them
};

// What an expression covers as variables, outermost first, run over their ranges, where the
// condition (null: none) holds. The analyzer knows the other variables; the range is over them, and
// can be evaluated where they are in scope. nullopt: no range is known.
std::optional<CoveredRange> Cover(const ir::Expr& expr, const std::vector<IterRange>& loops,
                                  const ir::Expr& condition, const Analyzer& analyzer);

// The last number in a range.
ir::Expr Last(const Range& range, const Analyzer& analyzer);

// Whether a surely contains b.
bool Contains(const Range& a, const Range& b, const Analyzer& analyzer);
bool Contains(const Box& a, const Box& b, const Analyzer& analyzer);
// Whether they surely have nothing in common.
bool AreDisjoint(const Range& a, const Range& b, const Analyzer& analyzer);
bool AreDisjoint(const Box& a, const Box& b, const Analyzer& analyzer);

// The smallest range, or box, that surely contains both.
Range Hull(const Range& a, const Range& b, const Analyzer& analyzer);
Box Hull(const Box& a, const Box& b, const Analyzer& analyzer);
// Whether everything in the hull is surely in one of them: they differ in one dimension at most,
// and touch or overlap there.
bool FillHull(const Box& a, const Box& b, const Analyzer& analyzer);

// What both have; its extent is not negative.
Range Intersection(const Range& a, const Range& b, const Analyzer& analyzer);
Box Intersection(const Box& a, const Box& b, const Analyzer& analyzer);

}  // namespace tern::arith

#endif  // TERN_ARITH_INT_SET_H_
