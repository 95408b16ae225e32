// SPDX-License-Identifier: Apache-2.0
//
// What can be said about integer expressions: bounds by constants, remainders, proofs over symbolic
// shapes, and simpler equal forms. Buffer loads and calls are opaque leaves. Floating point is left
// alone: no rounding is changed. docs/arithmetic.md has examples.
#ifndef TERN_ARITH_ANALYZER_H_
#define TERN_ARITH_ANALYZER_H_

#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tern/arith/linear_sum.h"
#include "tern/ir/expr.h"

namespace tern::arith {

// lo <= x <= hi; the extreme values stand for "no bound".
struct ConstBounds {
  static constexpr int64_t kNegInf = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kPosInf = std::numeric_limits<int64_t>::max();
  int64_t lo = kNegInf, hi = kPosInf;

  bool is_single() const { return lo == hi && lo != kNegInf && hi != kPosInf; }
  friend bool operator==(const ConstBounds&, const ConstBounds&) = default;
};

// base + coefficient * k for some integer k; coefficient 0: base alone. 0 <= base < coefficient
// otherwise.
struct ModularSet {
  int64_t coefficient = 1, base = 0;

  // Whether x % divisor is the same for all x in the set, for a divisor > 0: it is base % divisor.
  bool knows_remainder(int64_t divisor) const { return coefficient % divisor == 0; }
  friend bool operator==(const ModularSet&, const ModularSet&) = default;
};

// Whether a + b, a - b or a * b is within the type for all such operands.
bool FitsType(ir::ExprKind kind, ConstBounds a, ConstBounds b, DataType dtype);

// Knows facts about variables in scope.
class Analyzer {
 public:
  // From here on min <= var < min + extent; extents are at least 1 where the variable is seen.
  void BindRange(const ir::Var& var, const ir::Expr& min, const ir::Expr& extent);
  void Bind(const ir::Var& var, ConstBounds bounds);
  void BindModular(const ir::Var& var, ModularSet set) { modular_[var.node()] = set; }

  // ---- Conditions. Leave forgets what was assumed, or bound, since the mark.
  using Mark = size_t;
  Mark Enter();
  void Leave(Mark mark);
  // The condition holds.
  void Assume(const ir::Expr& condition);
  // Whether one that was assumed is the same expression, or the opposite.
  bool Assumed(const ir::Expr& condition) const;

  // Of a scalar integer or bool expression; sound whenever the expression does not overflow.
  ConstBounds Bounds(const ir::Expr& expr) const;
  // The same, remembering what was found about its parts: for many questions about one large
  // expression, between which no variable is bound.
  class BoundsCache {
    friend class Analyzer;
    // The expression is kept, so that its address stays its own.
    std::unordered_map<const ir::ExprNode*, std::pair<ir::Expr, ConstBounds>> known_;
  };
  ConstBounds Bounds(const ir::Expr& expr, BoundsCache* cache) const;

  ConstBounds Bounds(const LinearSum& sum, BoundsCache* cache = nullptr) const;

  // Of a scalar integer expression; sound whenever the expression does not overflow.
  ModularSet Modular(const ir::Expr& expr) const;

  // An equal expression, as small as the rules make it. Where the expression can be evaluated
  // without a fault or an overflow, so can the new one.
  ir::Expr Simplify(const ir::Expr& expr) const;

  // Whether the condition surely holds.
  bool CanProve(const ir::Expr& condition) const;
  // Whether the sum is surely >= 0: by its bounds, by symbolic ranges (j < n), by what was assumed,
  // and by x - c < (x // c) * c <= x.
  bool ProveNonNegative(const LinearSum& sum) const;

 private:
  friend class Prover;
  // lo <= var <= hi, over variables bound before it.
  struct SymbolicRange {
    ir::Expr lo, hi;  // int64; null: nothing but constants is known
    size_t order = 0;
  };
  // What a variable was known as before it was bound or something was assumed of it.
  struct Undo {
    const ir::VarNode* var = nullptr;  // null: something was assumed
    std::optional<ConstBounds> bounds;
    std::optional<SymbolicRange> range;
    std::optional<ModularSet> modular;
    size_t facts = 0, conditions = 0;
  };

  template <class F>
  ConstBounds BoundsFrom(const ir::Expr& expr, const F& bounds_of) const;
  void Save(const ir::VarNode* var);
  void AssumeComparison(const ir::Expr& condition, bool holds);
  void AssumeNotPositive(LinearSum sum);
  void Tighten(const LinearSum& not_positive);

  std::unordered_map<const ir::VarNode*, ConstBounds> bounds_;
  std::unordered_map<const ir::VarNode*, SymbolicRange> ranges_;
  std::unordered_map<const ir::VarNode*, ModularSet> modular_;
  std::vector<LinearSum> facts_;      // each is <= 0
  std::vector<ir::Expr> conditions_;  // each holds
  std::vector<Undo> undo_;            // since the first mark
  int marks_ = 0;                     // that are not left yet
  size_t order_ = 0;
};

}  // namespace tern::arith

#endif  // TERN_ARITH_ANALYZER_H_
