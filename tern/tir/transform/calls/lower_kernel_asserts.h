// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_CALLS_LOWER_KERNEL_ASSERTS_H_
#define TERN_TIR_TRANSFORM_CALLS_LOWER_KERNEL_ASSERTS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Lowers asserts in the thread loops of device functions: the first thread that fails one leaves
// its number and values in memory, which the host looks at after the launch.
//
// Before:  for t bind(threadIdx.x) { assert c, ValueError, "i is ", i    S }
// After:   alloc failure: int32[3]
//          for group in 0..1 bind(blockIdx.x) { failure[0] = 0 }
//          for t bind(threadIdx.x) { if c { S } else { if failure[0] was 0 { it is 1, and i } } }
//          call_packed("runtime.check_kernel", tensor_in("int32", failure, 3), "ValueError: i ..")
//
// The statements behind a failed assert are skipped, up to the end of its braces or the first that
// has a barrier or a warp operation, to which all threads must come.
//
// Needs flat buffers; before split_host_device.
PrimFunc LowerKernelAsserts(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_CALLS_LOWER_KERNEL_ASSERTS_H_
