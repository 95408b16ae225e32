// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOOPS_CANONICALIZE_LOOPS_H_
#define TERN_TIR_TRANSFORM_LOOPS_CANONICALIZE_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Makes loops start at 0 and replaces loops of one iteration by their body.
//
// Before:  for i in 4..n { A[i] = 0 }           for j in 0..1 { S(j) }
// After:   for i in 0..n - 4 { A[i + 4] = 0 }   S(0)
//
// Thread loops, and loop variables other than int32 and int64, stay. A vectorized loop of one
// iteration stays a loop. A loop that surely never runs is removed.
PrimFunc CanonicalizeLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOOPS_CANONICALIZE_LOOPS_H_
