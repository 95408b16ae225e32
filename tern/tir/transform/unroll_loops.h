// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_UNROLL_LOOPS_H_
#define TERN_TIR_TRANSFORM_UNROLL_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Before: loops may be marked `unrolled`. After: none is; each has become one copy of its body per
// iteration, with definitions of its own. Throws where the extent is not constant, and where a nest
// of such loops would become more than `max_copies`.
inline constexpr int64_t kMaxUnrolledCopies = 1024;
PrimFunc UnrollLoops(const PrimFunc& function, int64_t max_copies = kMaxUnrolledCopies);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_UNROLL_LOOPS_H_
