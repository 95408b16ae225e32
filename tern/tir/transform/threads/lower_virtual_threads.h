// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_THREADS_LOWER_VIRTUAL_THREADS_H_
#define TERN_TIR_TRANSFORM_THREADS_LOWER_VIRTUAL_THREADS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Interleaves virtual threads (loops bound to vthread.x, .y, .z).
//
// Before:  for v in 0..2 bind(vthread.x) { S(v)   barrier("shared")   T(v) }
// After:   for v in 0..2 { S(v) }   barrier("shared")   for v in 0..2 { T(v) }
//
// Memory and values of a virtual thread become arrays over them. Throws where a barrier depends on
// the virtual thread.
PrimFunc LowerVirtualThreads(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_LOWER_VIRTUAL_THREADS_H_
