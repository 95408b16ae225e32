// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_INFER_BLOCK_REGIONS_H_
#define TERN_TIR_TRANSFORM_INFER_BLOCK_REGIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Gives a block that says nothing of what it reads and writes the boxes that hold all of it, as
// small as can be proven. Blocks that do say something, or that access memory in ways that are not
// followed, stay as they are.
PrimFunc InferBlockRegions(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_INFER_BLOCK_REGIONS_H_
