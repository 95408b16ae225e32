// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_REDUCTION_VERSIONS_H_
#define TERN_SCHEDULE_RULES_REDUCTION_VERSIONS_H_

#include "tern/schedule/rules/gemm_versions.h"

namespace tern::schedule {

// Few results of a reduction are split in parts, so that all of a device is busy. Where their
// number is dynamic, a function for a device has versions for few results and for many:
//
//   if n <= 16 { many parts } else if n <= 512 { some } ... else { none }
//
// All but the last one, the fewest results first. None where the results of all reductions are
// static, or where their number is not known before the loops. The same for few steps, unless
// there are products too:
//
//   if m <= 512 { several rows of a thread block } else { one }
//
// And for rows of softmax and norms, and of scans, that are short enough to be kept by the thread
// block: rules see the condition around the loops, and what follows from it.
//
//   if m <= 128 && m >= 1 { rows in registers } else if m <= 512 ... else { read again }
//
// And for few results that are neighbours in memory, of which others are far away:
//
//   if q <= 16 { 8 threads along q, the others along what is reduced } else { 32 along q }
//
// On hosts with masked vectors rows of a dynamic length, and sums along them, have versions for a
// few lengths, which are static there, and for as many elements as a few vectors have:
//
//   if m == 1 { a static length } else if m <= 16 { one vector } else if m <= 32 { two } ...
//
// and without masks for more such lengths.
std::vector<FunctionVersion> FindReductionVersions(const tir::PrimFunc& function,
                                                   const TargetInfo& target);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_REDUCTION_VERSIONS_H_
