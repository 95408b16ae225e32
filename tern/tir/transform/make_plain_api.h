// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MAKE_PLAIN_API_H_
#define TERN_TIR_TRANSFORM_MAKE_PLAIN_API_H_

#include "tern/tir/function.h"

namespace tern::tir {

// For code that is called without a runtime (target::HasPlainApi), in place of make_packed_api.
// Before: a host function with tensor and scalar parameters, buffers flat.
// After: the plain calling convention (docs/lowered_tir.md): tensors are pointers, and what their
// shapes and strides define are parameters behind the others. Shapes cannot be checked; messages of
// asserts are constant. Large allocations are static (lower_allocations.h). Throws on a function
// for a device, on a call that needs the runtime, and on a large allocation without a constant
// size.
PrimFunc MakePlainApi(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MAKE_PLAIN_API_H_
