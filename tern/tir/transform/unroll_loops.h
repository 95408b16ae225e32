// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_UNROLL_LOOPS_H_
#define TERN_TIR_TRANSFORM_UNROLL_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Before: loops may be marked `unrolled`. After: none is; each has become one copy of its body per
// iteration, with definitions of its own. Throws where the extent is not constant, and where a nest
// of such loops would become more than 1024 copies.
PrimFunc UnrollLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_UNROLL_LOOPS_H_
