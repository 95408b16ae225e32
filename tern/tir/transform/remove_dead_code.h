// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_REMOVE_DEAD_CODE_H_
#define TERN_TIR_TRANSFORM_REMOVE_DEAD_CODE_H_

#include "tern/tir/function.h"

namespace tern::tir {

// What nobody can observe is gone: definitions without a use, stores to an allocation that is not
// read afterwards, allocations without an access, loops and branches without a statement. Asserts
// and calls made for their effect stay, and so do the thread loops of a launch that does anything.
// A value that is not needed is not computed: a load out of bounds or a division by zero in it is
// no longer reported. A loop without an effect is taken to end.
PrimFunc RemoveDeadCode(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_REMOVE_DEAD_CODE_H_
