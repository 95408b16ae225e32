// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_OPERATION_ESTIMATE_H_
#define TERN_TIR_ANALYSIS_OPERATION_ESTIMATE_H_

#include "tern/tir/analysis/fault_analysis.h"

namespace tern::tir {

// A guess of the operations of a statement on a host, as an int64 of what is known before it, no
// more than a few times `most`^2: one of a scalar, or of 64 bytes of a vector, counts once, one
// that loads or stores what is not in registers four times, and a call more. Null where it cannot
// be told, as of a `while`, of statements that are calls, and of loops as long as something in
// memory says.
//
//   for i in 0..n { for j in 0..min(64, m - i * 64) { B[j] = A[j] + 1 } }   ->   n * (64 * 10 + 1)
Expr EstimateOperations(const Stmt& stmt, int64_t most, const FaultAnalysis& faults);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_OPERATION_ESTIMATE_H_
