// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_ARITH_SYMBOLIC_BOUNDS_H_
#define TERN_ARITH_SYMBOLIC_BOUNDS_H_

#include <unordered_map>
#include <vector>

#include "tern/arith/analyzer.h"
#include "tern/arith/linear_sum.h"
#include "tern/ir/mutator.h"

namespace tern::arith {

// lo <= x <= hi, in int64; null where nothing is known.
struct SymbolicBounds {
  ir::Expr lo, hi;
  bool known() const { return lo.get() && hi.get(); }
};

// Bounds of integer expressions by expressions free of some variables, the inner ones. The bounds
// can be evaluated wherever the variables that are left are in scope: they read no memory and do
// not fault.
class SymbolicAnalyzer {
 public:
  explicit SymbolicAnalyzer(Analyzer analyzer) : analyzer_(std::move(analyzer)) {}

  // ---- inner variables, each within what was entered before it. Leave restores a mark.
  struct Mark {
    size_t vars, facts;
  };
  Mark Enter() const { return {inner_.size(), facts_.size()}; }
  void Leave(Mark mark);
  // min <= var < min + extent wherever the variable is seen.
  void EnterRange(const ir::Var& var, const ir::Expr& min, const ir::Expr& extent);
  void EnterLet(const ir::Var& var, const ir::Expr& value);
  // The condition holds.
  void Assume(const ir::Expr& condition);

  // The expression with inner variables that are lets written out.
  ir::Expr Resolve(const ir::Expr& expr) const { return ir::Substitute(expr, lets_); }
  bool UsesInner(const ir::Expr& expr) const;
  const Analyzer& analyzer() const { return analyzer_; }

  SymbolicBounds Bounds(const ir::Expr& expr) const;

  // Whether a resolved expression, as the inner variables run over their ranges, takes every value
  // between its bounds. Adds the variables that it runs with.
  bool IsDense(const ir::Expr& expr, std::vector<const ir::VarNode*>* vars) const;

 private:
  enum class End { kLo, kHi };
  struct Inner {
    const ir::VarNode* var;
    ir::Expr lo, hi;  // over variables entered before it; null: unknown
    ir::Expr extent;
  };

  ir::Expr Bound(const LinearSum& sum, End end) const;
  ir::Expr Eliminate(LinearSum sum, End end) const;
  ir::Expr BoundOfTerm(const ir::Expr& term, End end) const;
  ir::Expr BoundOf(const ir::Expr& expr, End end) const;
  ir::Expr ConstantBound(const ir::Expr& expr, End end) const;
  ir::Expr Tighter(const ir::Expr& a, const ir::Expr& b, End end) const;
  void Push(Inner inner);
  const Inner* InnermostIn(const LinearSum& sum) const;
  const Inner* Find(const ir::VarNode* var) const;
  void AssumeLessEqual(const ir::Expr& a, const ir::Expr& b, int64_t plus);

  Analyzer analyzer_;
  std::vector<Inner> inner_;  // outermost first
  // Places in inner_. A variable can be entered again where a part of the program occurs twice.
  std::unordered_map<const ir::VarNode*, std::vector<size_t>> places_;
  std::vector<LinearSum> facts_;  // each is <= 0
  ir::VarMap lets_;
  mutable bool uses_fact_ = false;  // while the rest of a fact is bounded
};

}  // namespace tern::arith

#endif  // TERN_ARITH_SYMBOLIC_BOUNDS_H_
