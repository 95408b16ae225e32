// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_CALLS_SPLIT_HOST_DEVICE_H_
#define TERN_TIR_TRANSFORM_CALLS_SPLIT_HOST_DEVICE_H_

#include "tern/ir/module.h"

namespace tern::tir {

// Outlines the outermost thread loops of device functions as kernels.
//
// Before:  func f(..) { for b bind(blockIdx.x) { for t bind(threadIdx.x) { S } } }
// After:   func f(..) { launch_kernel("f_kernel", .., extents) }
//          func f_kernel(..) { S }                  calling convention "kernel", with launch tags
//
// Needs flat buffers. Throws where what is left would touch a tensor's memory.
ir::IRModule SplitHostDevice(const ir::IRModule& module);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_CALLS_SPLIT_HOST_DEVICE_H_
