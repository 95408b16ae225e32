// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_THREADS_INSERT_BARRIERS_H_
#define TERN_TIR_TRANSFORM_THREADS_INSERT_BARRIERS_H_

#include "tern/tir/function.h"

namespace tern::tir {

namespace attr {
// Bool, of a function: threads write different elements between the barriers that are written, and
// what they do under conditions that depend on the thread needs no others.
inline constexpr const char* kRaceFree = "race_free";
}  // namespace attr

// Inserts thread block barriers between conflicting accesses of different threads.
//
// Before:  for t bind(threadIdx.x) { T[t] = A[t]   B[t] = T[63 - t] }
// After:   for t bind(threadIdx.x) { T[t] = A[t]   barrier("shared")   B[t] = T[63 - t] }
//
// Two accesses conflict where one writes and they are not proven to touch different elements; in
// global memory, where a write precedes a read. Existing barriers stay and count.
//
// A barrier goes before the outermost statement that threads of a block execute differently. Where
// that does not help, shared memory is an error, unless the function says race_free; global memory,
// whose elements are often the thread's own in ways that cannot be proven, is left alone. An
// existing barrier under a condition or in a loop that depends on the thread index is an error.
PrimFunc InsertBarriers(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_INSERT_BARRIERS_H_
