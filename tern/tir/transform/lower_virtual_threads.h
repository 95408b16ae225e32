// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOWER_VIRTUAL_THREADS_H_
#define TERN_TIR_TRANSFORM_LOWER_VIRTUAL_THREADS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Afterwards no loop is bound to vthread.x, .y or .z: each statement in one runs for all virtual
// threads before the next statement does. A barrier is run once for all of them, and what each has
// of its own memory and values is an array over them. Throws where a barrier depends on the virtual
// thread.
PrimFunc LowerVirtualThreads(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOWER_VIRTUAL_THREADS_H_
