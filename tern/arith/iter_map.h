// SPDX-License-Identifier: Apache-2.0
//
// Iteration maps: whether expressions over loop variables, the bindings, only split and fuse loops,
// and how. A split of an iteration takes some of its digits, as x // 4 % 8 does; a fused iteration
// is a number written with others as its digits, as i * 8 + j with 0 <= j < 8.
//
//   for f in 0..64:         bindings f // 16, f % 16         f split in two
//   for i in 0..4, j in 0..16:  binding i * 16 + j           i and j fused
//   for i in 0..3, j in 0..4 where i * 4 + j < 10:  i * 4 + j   fused, of 10 iterations
//
// Extents and factors may be symbolic, as in i * n + j with 0 <= j < n.
#ifndef TERN_ARITH_ITER_MAP_H_
#define TERN_ARITH_ITER_MAP_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tern/arith/analyzer.h"
#include "tern/arith/range.h"

namespace tern::arith {

struct IterSource;

// scale * (source // lower_factor % extent): digits of an iteration, which run over 0..extent.
// Where it has all the upper digits, nothing is left for the remainder to take off.
struct IterSplit {
  std::shared_ptr<const IterSource> source;
  ir::Expr lower_factor, extent, scale;
};

// base + the sum of splits, which are independent of each other. No loop is in the base.
struct IterSum {
  std::vector<IterSplit> splits;  // the one with the largest scale first
  ir::Expr base;
};

// What splits are of: a loop variable less its minimum, or a fused iteration. 0 <= source < extent.
struct IterSource {
  ir::Var var;  // null: fused
  IterSum
      fused;  // its base is 0, its last scale 1; each scale is that of the next one times extent
  ir::Expr extent;
};

// A loop: min <= var < min + extent.
struct IterRange {
  ir::Var var;
  Range range;
};

struct IterMap {
  // One per binding: base alone, or base and one split.
  std::vector<IterSum> bindings;
  std::vector<IterRange> loops;
  // Empty: different iterations have different bindings. Else which iterations coincide, as in
  // "no binding depends on k".
  std::string not_injective;

  // The number of values of a binding, which are base, base + scale, ...
  ir::Expr Extent(size_t binding) const;
};

struct IterMapResult {
  std::optional<IterMap> map;
  std::string error;  // why there is none
};

// The map, where every binding is the sum of a loop-invariant value and of a split or fused
// iteration times a factor, and the bindings are independent: each combination of their values
// occurs. The predicate (null: none) may bound loops and fused loops from above, as the guards of
// splits with tails do: `i * 4 + j < n && k < m`.
//
// The analyzer knows the variables outside of the loops: with 0 <= j < n and nothing said about n
// it may be 0, and then nothing runs.
IterMapResult DetectIterMap(const std::vector<ir::Expr>& bindings,
                            const std::vector<IterRange>& loops, const ir::Expr& predicate,
                            const Analyzer& analyzer);

// Whether every binding runs over 0..extents[i], each combination of them once: the loops can be
// exchanged for loops over the bindings. Otherwise `reason` (may be null) says what is in the way.
bool IsBijective(const IterMap& map, const std::vector<ir::Expr>& extents, const Analyzer& analyzer,
                 std::string* reason = nullptr);

// The values of the loop variables, in the order of the loops, where the bindings have the values
// `outputs`. A loop that no binding depends on must have one iteration: the map is injective.
std::vector<ir::Expr> InverseIterMap(const IterMap& map, const std::vector<ir::Expr>& outputs,
                                     const Analyzer& analyzer);

// The expression that a sum or a split stands for.
ir::Expr ToExpr(const IterSum& sum, const IterMap& map, const Analyzer& analyzer);

}  // namespace tern::arith

#endif  // TERN_ARITH_ITER_MAP_H_
