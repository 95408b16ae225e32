// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_CALLS_MAKE_PLAIN_API_H_
#define TERN_TIR_TRANSFORM_CALLS_MAKE_PLAIN_API_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Gives host functions a plain C signature, for code that runs without Tern's runtime.
//
// Before:  func f(A: float32[n, m], x: int32) { ... }
// After:   func f(A: handle, x: int32, n: int64, m: int64) { ... }
//
// In place of make_packed_api, where target::HasPlainApi. Shapes and strides become parameters;
// they cannot be checked. Large allocations are static (lower_allocations.h). Throws on functions
// for a device, calls that need the runtime, and large allocations of dynamic size.
PrimFunc MakePlainApi(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_CALLS_MAKE_PLAIN_API_H_
