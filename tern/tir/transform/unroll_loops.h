// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_UNROLL_LOOPS_H_
#define TERN_TIR_TRANSFORM_UNROLL_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Unrolls loops marked `unrolled`.
//
// Before:  for i in 0..2 unrolled { A[i] = x }
// After:   A[0] = x   A[1] = x
//
// Throws where an extent is not constant, and where a nest would become more than `max_copies`
// copies of its body.
inline constexpr int64_t kMaxUnrolledCopies = 1024;
PrimFunc UnrollLoops(const PrimFunc& function, int64_t max_copies = kMaxUnrolledCopies);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_UNROLL_LOOPS_H_
