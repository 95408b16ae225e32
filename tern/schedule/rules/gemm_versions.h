// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_GEMM_VERSIONS_H_
#define TERN_SCHEDULE_RULES_GEMM_VERSIONS_H_

#include <set>
#include <vector>

#include "tern/schedule/rules/function_view.h"
#include "tern/schedule/rules/target_info.h"
#include "tern/tir/function.h"

namespace tern::schedule {

// A schedule of a GEMM with many rows and columns wastes most of its tiles on one with few. Where M
// or N is dynamic, a function therefore has versions:
//
//   if m == 1 && n <= 8192 && k > 512 { scheduled with 1 for m: a GEMV whose sums are in parts }
//   else if m == 1 && k <= 512 { a warp for each of its results }
//   else if m == 1 { a thread block }
//   else if n == 1 { the same }
//   else if m <= 32 { scheduled for few rows; where k >= 2048 and n <= 2048, K is split }
//   else if n <= 32 { for few columns; the same }
//   else if m * n <= 262144 && k >= 1024 { for few tiles: K is split }
//   else if m * n <= 524288 { small tiles }
//   else if m * n <= 2097152 { medium ones }
//   else if m * n <= 3145728 { where m or n is static: for as many of the other }
//   else if m * n <= 4194304 { the same }
//   else if k <= 64 { of float32: what is stored counts }
//   else { for many }
//
// and where K alone is dynamic, one for k <= 512, for which K is not split.
//
// On a host: n == 1, n <= 7, m == 1, m == 2 .. m == 8 (low precision, attention, and rows that are
// several extents: m <= 3, m <= 8), m <= 16, n <= 64 (attention: n <= 16), and others; those of up
// to 7 where K is not dynamic, or long enough for dot products. One that others have taken is left
// out. Where K alone is dynamic: k <= 256, k > 1024. Where the batch b is: b == 1, b <= 3.
struct FunctionVersion {
  tir::Expr when;        // of the function's own extents and scalars
  TargetInfo target;     // with other guesses of M, N and K
  tir::Var fixed;        // an extent that has one value there; null: none
  bool is_rare = false;  // worth no kernel for sizes that are not aligned
  bool is_few = false;   // for few rows or columns, so that the other operand is read once
  bool bounds = false;   // the condition stands around the loops when rules see them
  int64_t value = 1;     // of the extent that is fixed
};
// All but the last one. None where no GEMM of the function has a dynamic M or N, or where what it
// depends on is not known before the loops.
std::vector<FunctionVersion> FindGemmVersions(const tir::PrimFunc& function,
                                              const TargetInfo& target);

// On hosts, the batch of a GEMM or convolution, where that alone is dynamic and no operand is
// constant; else null. A batch of one has a version, and so have those below `least_batch`, whose
// threads share each of them: of others each has its own.
inline constexpr int64_t kLeastBatchOfHosts = 4;
tir::Var FindVersionedBatch(const tir::PrimFunc& function, const TargetInfo& target);

// The function with a number for an extent.
FunctionView WithFixedExtent(const tir::PrimFunc& function, const tir::Var& extent, int64_t value);

// The variables that a caller's tensors and scalars define.
std::set<const tir::VarNode*> CallersVars(const tir::PrimFunc& function);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_GEMM_VERSIONS_H_
