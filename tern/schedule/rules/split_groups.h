// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_SPLIT_GROUPS_H_
#define TERN_SCHEDULE_RULES_SPLIT_GROUPS_H_

#include <optional>
#include <string>

#include "tern/schedule/rules/function_view.h"

namespace tern::schedule {

// An axis of which groups share an operand of a GEMM or convolution, as query heads share keys and
// values, becomes two axes: groups, which are a batch, and members, which are rows of M.
//
// Before:  Q: float32[b, 8, n, d], K: float32[b, 2, m, d], S: float32[b, 8, n, m]
//          for .., h in 0..8, .. { block score(.., vh: spatial(8) = h, ..) {
//            S[vb, vh, vi, vj] += Q[vb, vh, vi, vl] * K[vb, vh // 4, vj, vl] } }
// After:   Q: float32[b, 2, 4, n, d], S: float32[b, 2, 4, n, m]
//          for .., h_g in 0..2, h_m in 0..4, .. { block score(.., vh_g: spatial(2) = h_g, ..) {
//            S[vb, vh_g, vh_m, vi, vj] += Q[vb, vh_g, vh_m, vi, vl] * K[vb, vh_g, vj, vl] } }
//
// Channels of a grouped convolution are the same, X[vb, vo // 3 * 2 + vc, ..] * W[vo, vc, ..]: with
// X: float32[b, 4, 2, ..] it is X[vb, vo_g, vc, ..] * W[vo_g, vo_m, vc, ..], where vo_g is a group
// and vo_m is N.
//
// All blocks that use the dimension have it as an axis of its own; a constant tensor has none of
// these dimensions.
struct SplitGroupAxes : FunctionView {
  std::string note;  // "axis vh is two axes, vh_g and vh_m, of 4 members (score, sum)"
};
// Nothing where there are none.
std::optional<SplitGroupAxes> SplitGroups(const tir::PrimFunc& function);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_SPLIT_GROUPS_H_
