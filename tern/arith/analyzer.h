// SPDX-License-Identifier: Apache-2.0
//
// What can be said about integer expressions: bounds by constants, and simpler equal forms. Buffer
// loads and calls are opaque leaves. Floating point is left alone: no rounding is changed.
#ifndef TERN_ARITH_ANALYZER_H_
#define TERN_ARITH_ANALYZER_H_

#include <limits>
#include <unordered_map>

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

// Knows facts about variables in scope.
class Analyzer {
 public:
  // From here on min <= var < min + extent; extents are at least 1 where the variable is seen.
  void BindRange(const ir::Var& var, const ir::Expr& min, const ir::Expr& extent);
  void Bind(const ir::Var& var, ConstBounds bounds) { bounds_[var.node()] = bounds; }

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

  // An equal expression, as small as the rules make it.
  ir::Expr Simplify(const ir::Expr& expr) const;

  // Whether the condition surely holds.
  bool CanProve(const ir::Expr& condition) const;

 private:
  template <class F>
  ConstBounds BoundsFrom(const ir::Expr& expr, const F& bounds_of) const;

  std::unordered_map<const ir::VarNode*, ConstBounds> bounds_;
};

}  // namespace tern::arith

#endif  // TERN_ARITH_ANALYZER_H_
