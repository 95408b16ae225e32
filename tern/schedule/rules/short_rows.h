// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_SHORT_ROWS_H_
#define TERN_SCHEDULE_RULES_SHORT_ROWS_H_

#include "tern/schedule/rules/gemm_versions.h"

namespace tern::schedule {

// A row of a dynamic length has thread blocks of its own, most threads of which have nothing to do
// where it is short. An elementwise function for a device therefore has a version:
//
//   if p <= 128 { all rows are one, whose elements are divided by p } else { rows }
//
// and so have transpositions, whose tiles are empty but for few elements of a short side, and of a
// very long one are more than a grid may have. Vectors along a short row of a host are mostly empty
// in the same way: a broadcast has a version for rows of up to 8 elements, whose vectors may run
// along the number of rows (host_elementwise.cc).
std::vector<FunctionVersion> FindShortRowVersions(const tir::PrimFunc& function,
                                                  const TargetInfo& target);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_SHORT_ROWS_H_
