// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_HOIST_THREAD_LOOPS_H_
#define TERN_TIR_TRANSFORM_HOIST_THREAD_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// A thread loop only says where a thread finds its index, so it may stand anywhere in its kernel.
// Afterwards all of a kernel stand around the rest of it, one for each axis: what is allocated in
// the kernel may depend on the thread. Kernels in which an axis has several extents stay as they
// are, as do virtual threads.
PrimFunc HoistThreadLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_HOIST_THREAD_LOOPS_H_
