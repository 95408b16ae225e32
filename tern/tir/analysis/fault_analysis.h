// SPDX-License-Identifier: Apache-2.0
//
// What can be evaluated where its value is not needed.
#ifndef TERN_TIR_ANALYSIS_FAULT_ANALYSIS_H_
#define TERN_TIR_ANALYSIS_FAULT_ANALYSIS_H_

#include <unordered_map>
#include <unordered_set>

#include "tern/arith/analyzer.h"
#include "tern/tir/function.h"

namespace tern::tir {

class FaultAnalysis {
 public:
  explicit FaultAnalysis(const PrimFunc& function);

  // What is in scope from here on.
  void BindLoop(const ForNode* loop);
  void BindLet(const Var& var, const Expr& value);
  // From here on an iteration of a loop of this extent is running: extents of tensors that are
  // factors of it, also in tiles, are not 0.
  void EnterIteration(const Expr& extent);

  // Whether evaluating `expr` could fault, where `evaluated` (may be null) was evaluated before it.
  // A load does not where it stays inside of a parameter that the function only reads.
  bool MayFault(const Expr& expr, const Expr& evaluated = {}) const;
  // Whether a part of it could be beyond its type, where that is undefined.
  bool MayOverflow(const Expr& expr) const;

  const arith::Analyzer& analyzer() const { return analyzer_; }

 private:
  bool IsSafeLoad(const ir::BufferLoadNode* load) const;
  bool IsInside(const Expr& index, const Expr& extent) const;
  bool DividesSafely(const Expr& dividend, const Expr& divisor) const;

  arith::Analyzer analyzer_;
  std::unordered_set<const BufferNode*> inputs_;
  std::unordered_map<const VarNode*, Expr> extents_;  // of loops that start at 0
};

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_FAULT_ANALYSIS_H_
