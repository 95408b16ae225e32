// SPDX-License-Identifier: Apache-2.0
//
// Random integer expressions over loops, as schedules make them and as nobody would write them;
// they may overflow and divide by zero.
#ifndef TEST_FUZZ_RANDOM_INDEX_H_
#define TEST_FUZZ_RANDOM_INDEX_H_

#include <vector>

#include "tern/arith/iter_map.h"
#include "test/fuzz/evaluate_expr.h"
#include "test/fuzz/random.h"

namespace tern::fuzz {

// Extents, and loops whose ranges may be over extents and other loops.
class RandomScope {
 public:
  explicit RandomScope(Random* random);

  arith::Analyzer Outside() const;  // knows the extents
  arith::Analyzer Inside() const;   // and the loops
  // Values in the ranges; false where a loop does not run.
  bool Draw(VarValues* values) const;
  // Values of the extents alone.
  void DrawExtents(VarValues* values) const;
  // All iterations for these extents, at most `limit`; empty where there are more.
  std::vector<VarValues> Iterations(const VarValues& extents, size_t limit) const;

  ir::Expr Int(DataType dtype, int depth) const;
  ir::Expr Bool(int depth) const;
  // A sum of loops times constants, split and fused.
  ir::Expr Index(int depth) const;

  const std::vector<arith::IterRange>& loops() const { return loops_; }

 private:
  ir::Expr Leaf(DataType dtype) const;
  int64_t Constant() const;

  Random* random_;
  std::vector<ir::Var> extents_;
  std::vector<arith::ConstBounds> extent_bounds_;
  std::vector<arith::IterRange> loops_;
};

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_RANDOM_INDEX_H_
