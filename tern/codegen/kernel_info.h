// SPDX-License-Identifier: Apache-2.0
//
// What every generator of kernels asks of a function of calling convention "kernel".
#ifndef TERN_CODEGEN_KERNEL_INFO_H_
#define TERN_CODEGEN_KERNEL_INFO_H_

#include "tern/runtime/device_artifact.h"
#include "tern/tir/function.h"

namespace tern::codegen {

// How the kernel is called: arguments and launch tags. Its shared memory is the generator's to say.
runtime::KernelInfo DescribeKernel(const tir::PrimFunc& function);

// The threads of a block; 0 where it is not constant.
int64_t BlockThreads(const tir::PrimFunc& function);

// The most bytes of shared memory that its allocations take, each at a multiple of `alignment`.
int64_t SharedBytes(const tir::PrimFunc& function, int64_t alignment);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_KERNEL_INFO_H_
