// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOWER_THREAD_REDUCTIONS_H_
#define TERN_TIR_TRANSFORM_LOWER_THREAD_REDUCTIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Before, a block's reduction axes may be bound to the threads of a block. Afterwards none is: each
// thread reduces its own part in local memory, the threads combine their parts by warp shuffles
// where the target has warps and their lanes lie right, or as a tree in shared memory, and one of
// them updates the result. The kernels that it changes have the barriers they need.
//
// Updates are S = S op f or S = f op S with op one of + * min max && ||. Integers are combined
// without overflow where the order as written has none. Floats are combined in another order than
// written, so the function or one of the thread loops must say `reassociate = true`.
PrimFunc LowerThreadReductions(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOWER_THREAD_REDUCTIONS_H_
