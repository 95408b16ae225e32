// SPDX-License-Identifier: Apache-2.0
//
// Whether integers exist for which several linear conditions hold at once.
#ifndef TERN_ARITH_INTEGER_SYSTEM_H_
#define TERN_ARITH_INTEGER_SYSTEM_H_

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "tern/arith/range.h"

namespace tern::arith {

// A set of conditions on integers that are to hold together. What is not linear is taken as an
// unknown of its own, one for equal expressions; // and % by a constant are exact.
class IntegerSystem {
 public:
  using Range = arith::Range;
  // What is known of a variable, asked for where it first occurs; nullopt: nothing.
  using RangeOf = std::function<std::optional<Range>(const ir::VarNode*)>;
  explicit IntegerSystem(RangeOf range_of) : range_of_(std::move(range_of)) {}

  // Of integers whose overflow is undefined; others are unknowns.
  void AddEqual(const ir::Expr& a, const ir::Expr& b);
  void AddLess(const ir::Expr& a, const ir::Expr& b);
  // Comparisons and conjunctions of them; what it cannot express it leaves out.
  void AddCondition(const ir::Expr& condition, bool holds = true);

  // Proves that no integers fulfil all conditions; false says nothing.
  bool IsInfeasible() const;

 private:
  // The sum of unknowns times coefficients, plus a constant.
  struct Sum {
    std::map<int, int64_t> terms;  // none is 0
    int64_t constant = 0;
  };
  struct Solver;

  Sum Convert(const ir::Expr& expr);
  Sum Unknown(const ir::Expr& expr);
  Sum Divide(const ir::Expr& value, int64_t divisor, bool remainder);
  int NewUnknown() { return next_++; }
  void AddZero(Sum sum) { equalities_.push_back(std::move(sum)); }
  void AddNotNegative(Sum sum) { inequalities_.push_back(std::move(sum)); }
  // a + b * factor; an overflow makes the system prove nothing.
  Sum Combine(const Sum& a, const Sum& b, int64_t factor);

  RangeOf range_of_;
  int next_ = 0;
  bool overflows_ = false;
  std::vector<std::pair<ir::Expr, Sum>> known_;  // what expressions stand for
  std::vector<Sum> equalities_, inequalities_;   // = 0, >= 0
};

}  // namespace tern::arith

#endif  // TERN_ARITH_INTEGER_SYSTEM_H_
