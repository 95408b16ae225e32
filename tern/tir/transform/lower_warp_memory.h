// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LOWER_WARP_MEMORY_H_
#define TERN_TIR_TRANSFORM_LOWER_WARP_MEMORY_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Afterwards no memory is of scope warp or a fragment, unless the target has no warps: each lane
// has a part of it in local memory, and reads the others' parts by shuffles. Where one index is the
// lane in every access, a lane has that slice, and there are no shuffles. Otherwise, of the
// elements in row-major order, lane l of L has every L-th one from l on, or a block of them in a
// row, whichever way each lane writes only elements of its own. Throws where neither is proven, or
// where lanes read what is not theirs while not all of them come there.
PrimFunc LowerWarpMemory(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOWER_WARP_MEMORY_H_
