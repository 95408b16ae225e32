// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_SPLIT_HOST_DEVICE_H_
#define TERN_TIR_TRANSFORM_SPLIT_HOST_DEVICE_H_

#include "tern/ir/module.h"

namespace tern::tir {

// Before: functions for a device target, their outermost thread loops in place; buffers are flat.
// After: each outermost thread loop is a function of its own ("kernel" calling convention, with its
// launch tags), and a launch_kernel call stands where it was. What is left touches no tensor's
// memory; throws where it would.
ir::IRModule SplitHostDevice(const ir::IRModule& module);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_SPLIT_HOST_DEVICE_H_
