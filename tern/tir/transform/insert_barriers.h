// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_INSERT_BARRIERS_H_
#define TERN_TIR_TRANSFORM_INSERT_BARRIERS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Before, kernels may lack barriers. Afterwards one lies between any two accesses to shared memory
// by different threads of a block of which one writes, unless it is proven that they touch
// different elements; and between a write and a read of global memory. Barriers that are there stay
// and count.
//
// No barrier is put where the threads of a block may not all come: it goes before the outermost
// statement that they run differently. Where that does not help, shared memory is an error; global
// memory, whose elements are often the thread's own in ways that cannot be proven, is left alone.
// A barrier that is there already, under a condition or in a loop that follows from the index of
// the thread, is an error.
PrimFunc InsertBarriers(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_INSERT_BARRIERS_H_
