// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_BLOCKS_INFER_BLOCK_REGIONS_H_
#define TERN_TIR_TRANSFORM_BLOCKS_INFER_BLOCK_REGIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Infers the read and write regions of blocks that declare none.
//
// Before:  block b(vi: spatial(n) = i) { C[vi] = A[vi] + A[vi + 1] }
// After:   block b(vi: spatial(n) = i) { reads A[vi..+2]   writes C[vi]   ... }
//
// Regions are boxes, as small as can be proven. Blocks that declare regions, or access memory in
// ways that cannot be followed, stay.
PrimFunc InferBlockRegions(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_BLOCKS_INFER_BLOCK_REGIONS_H_
