// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_SCAN_UPDATE_H_
#define TERN_TIR_ANALYSIS_SCAN_UPDATE_H_

#include <optional>
#include <vector>

#include "tern/tir/stmt.h"

namespace tern::tir {

// What a prefix sum, or a scan by another operator of a reduction, does at each step:
//
//   Y[.., v, ..] = value op select(v > 0, Y[.., v - 1, ..], start)
//
// behind definitions, for the one scan axis v of a block. The operator is that of an Add, Mul, Min,
// Max, And or Or.
struct ScanUpdate {
  size_t axis = 0;  // of the block
  Buffer result;
  std::vector<Expr> indices;  // of the result
  ExprKind op = ExprKind::kAdd;
  Expr value, start;  // without definitions; neither reads the result
};
std::optional<ScanUpdate> FindScanUpdate(const BlockNode* block);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_SCAN_UPDATE_H_
