// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_CODEGEN_KERNEL_INFO_H_
#define TERN_CODEGEN_KERNEL_INFO_H_

#include "tern/runtime/device_artifact.h"
#include "tern/tir/function.h"

namespace tern::codegen {

// How a function of calling convention "kernel" is launched; shared memory is its code generator's
// to count.
runtime::KernelInfo DescribeKernel(const tir::PrimFunc& function);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_KERNEL_INFO_H_
