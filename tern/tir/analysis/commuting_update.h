// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_COMMUTING_UPDATE_H_
#define TERN_TIR_ANALYSIS_COMMUTING_UPDATE_H_

#include <optional>

#include "tern/tir/atomics.h"
#include "tern/tir/stmt.h"

namespace tern::tir {

// A body whose one effect is an update of one element, behind definitions and conditions:
//
//   A[i] = A[i] op value          op: + - min max & | ^
//   atomic_op(A[i], value)        that keeps no old value
//
// Nothing else in the body reads A, so that updates may come in any order; floats are rounded
// otherwise then. A difference is the sum with the negated value.
struct CommutingUpdate {
  const StmtNode* stmt = nullptr;
  Buffer buffer;
  std::vector<Expr> indices;
  AtomicKind op = AtomicKind::kAdd;
  Expr value;

  bool is_atomic() const { return stmt->kind == StmtKind::kEvaluate; }
  // Why the type of the elements has no atomic update by the operator, or "".
  std::string WhyNotAtomic() const;
  // The value that leaves any other as it is.
  Expr Identity() const;
  // The same update of an element of another buffer, with another value.
  Stmt Plain(const Buffer& to, const std::vector<Expr>& at, const Expr& by) const;
  Stmt AsAtomic(const Buffer& to, const std::vector<Expr>& at, const Expr& by) const;
};
std::optional<CommutingUpdate> FindCommutingUpdate(const Stmt& body);

// The body with another statement in the place of its update.
Stmt ReplaceUpdate(const Stmt& body, const CommutingUpdate& update, const Stmt& by);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_COMMUTING_UPDATE_H_
