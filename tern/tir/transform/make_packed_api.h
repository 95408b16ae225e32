// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MAKE_PACKED_API_H_
#define TERN_TIR_TRANSFORM_MAKE_PACKED_API_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Before: a host function with tensor and scalar parameters, buffers flat, kernels split off.
// After: the packed calling convention (docs/lowered_tir.md): the arguments are unpacked and
// checked (number, types, ranks, extents, strides, device, overlap), launches go through the
// environment, large or symbolic allocations come from it (lower_allocations.h), and the target is
// the host. Kernels stay as they are, but for offsets of their tensors where memory has handles
// (kernel_offsets.h).
ir::IRModule MakePackedApi(const ir::IRModule& module);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MAKE_PACKED_API_H_
