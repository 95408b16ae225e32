// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_CANONICALIZE_LOOPS_H_
#define TERN_TIR_TRANSFORM_CANONICALIZE_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Every loop but those of threads starts at 0, where its variable is an int32 or int64; one that
// surely runs once is its body (a vectorized one stays), one that surely never runs is gone.
PrimFunc CanonicalizeLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_CANONICALIZE_LOOPS_H_
