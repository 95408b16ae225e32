// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_REDUCTION_UPDATE_H_
#define TERN_TIR_ANALYSIS_REDUCTION_UPDATE_H_

#include <optional>
#include <vector>

#include "tern/tir/stmt.h"

namespace tern::tir {

// What a reduction does at each step: S[indices] = S[indices] op value, behind definitions. The
// operator is that of an Add, Mul, Min, Max, And or Or.
struct ReductionUpdate {
  std::vector<const LetStmtNode*> lets;
  const BufferStoreNode* store = nullptr;
  ExprKind op = ExprKind::kAdd;
  Expr value;
};
std::optional<ReductionUpdate> FindReductionUpdate(const Stmt& body);

// a op b
Expr CombineValues(ExprKind op, const Expr& a, const Expr& b);
// The value that leaves any other as it is.
Expr IdentityOf(ExprKind op, DataType dtype);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_REDUCTION_UPDATE_H_
