// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_INJECT_BOUNDS_CHECKS_H_
#define TERN_TIR_TRANSFORM_INJECT_BOUNDS_CHECKS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Before every statement that accesses memory stand asserts that its indices are inside of the
// buffers' shapes, and before one that divides integers that this neither divides by zero nor
// overflows, except where that is provable. They raise the errors that the interpreter raises.
// Thread loops, which have no asserts, stay as they are. Runs on functions without blocks,
// while buffers have their shapes.
PrimFunc InjectBoundsChecks(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_INJECT_BOUNDS_CHECKS_H_
