// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOOPS_UNROLL_LOOPS_H_
#define TERN_TIR_TRANSFORM_LOOPS_UNROLL_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

namespace attr {
// Int, of a target: how many statements an unrolled loop may become.
inline constexpr const char* kUnrolledStatements = "unrolled_statements";
}  // namespace attr

// Unrolls loops marked `unrolled`.
//
// Before:  for i in 0..2 unrolled { A[i] = x }
// After:   A[0] = x   A[1] = x
//
// Where the target's code is compiled once more, by the compiler of a driver (an attribute
// `unrolled_statements`), loops that would become more statements than that stay, marked as they
// are: the code generator asks that compiler to unroll them.
//
// Throws where an extent is not constant, and where a nest would become more than `max_copies`
// copies of its body.
inline constexpr int64_t kMaxUnrolledCopies = 1024;
PrimFunc UnrollLoops(const PrimFunc& function, int64_t max_copies = kMaxUnrolledCopies);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOOPS_UNROLL_LOOPS_H_
