// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_ALIGNED_SIZES_H_
#define TERN_SCHEDULE_RULES_ALIGNED_SIZES_H_

#include <optional>

#include "tern/schedule/rules/function_view.h"
#include "tern/schedule/rules/target_info.h"
#include "tern/tir/function.h"

namespace tern::schedule {

// Rows of a dynamic length may start anywhere, and are then copied element by element. A device's
// function with such a GEMM, softmax or normalization has a version for lengths that are multiples
// of a vector:
//
//   if k % 8 == 0 && n % 8 == 0 && is_aligned(A, 16) && ... {
//     let k_8 = k // 8                 what can be proven of k_8 * 8 cannot be of k
//     decl A: float16[m, k_8 * 8] ...
//     scheduled with these
//   } else { scheduled for any }
struct AlignedSizes : FunctionView {
  tir::Expr when;  // of the function's own extents and tensors
};
// Nothing where no such block of the function has rows of a dynamic length.
std::optional<AlignedSizes> AlignSizes(const tir::PrimFunc& function, const TargetInfo& target);
// The same where the rows of results, and of what is added to them, may have any length: of few
// rows or columns the time is that of an operand's vectors. Nothing where that is no difference, or
// where single elements of the operands can be copied while others are computed with.
std::optional<AlignedSizes> AlignOperands(const tir::PrimFunc& function, const TargetInfo& target);
// The same for memory alone. Nothing where all of it is known to be aligned.
std::optional<AlignedSizes> AlignMemory(const tir::PrimFunc& function, const TargetInfo& target);
// The same for operands whose rows are a multiple of what an asynchronous copy has at least: they
// are not copied first. Of GEMMs in which K alone is dynamic, which have few versions.
std::optional<AlignedSizes> AlignCopies(const tir::PrimFunc& function, const TargetInfo& target);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_ALIGNED_SIZES_H_
