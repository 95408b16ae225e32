// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_COMPACT_ALLOCATIONS_H_
#define TERN_TIR_TRANSFORM_COMPACT_ALLOCATIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Every dimension of an allocation is as long as what is accessed of it while it exists, where that
// is provably less, and indices count from there. No dimension is dropped, and a constant extent
// stays one. Memory that is also seen through another buffer or as a pointer stays as it is.
PrimFunc CompactAllocations(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_COMPACT_ALLOCATIONS_H_
