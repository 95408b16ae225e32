// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_CALLS_MAKE_PACKED_API_H_
#define TERN_TIR_TRANSFORM_CALLS_MAKE_PACKED_API_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Gives host functions the packed calling convention (docs/lowered_tir.md).
//
// Before:  func f(A: float32[n], x: int32) { ... launch_kernel("f_kernel", A, x, n) }
// After:   func f(self, args, num_args, result) {
//            alloc slots
//            check_arguments(env, args, num_args, slots, table of what f takes)
//            let x = slots[0], n = slots[2], A = slots[1]
//            ... call_import(env, "f_kernel", A, x, n) }
//
// Checks number, types, ranks, extents, strides, device and overlap of arguments, by one routine
// for all functions (argument_table.h). Launches, and allocations that are large or of dynamic
// size, go through the environment (lower_allocations.h). Kernels stay, but for tensor offsets
// where memory has handles (kernel_offsets.h). Needs flat buffers, after split_host_device.
ir::IRModule MakePackedApi(const ir::IRModule& module);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_CALLS_MAKE_PACKED_API_H_
