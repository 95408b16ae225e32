// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_CODEGEN_KERNEL_INFO_H_
#define TERN_CODEGEN_KERNEL_INFO_H_

#include "tern/runtime/kernel/device_artifact.h"
#include "tern/tir/function.h"

namespace tern::codegen {

// How a function of calling convention "kernel" is launched; shared memory is its code generator's
// to count.
runtime::KernelInfo DescribeKernel(const tir::PrimFunc& function);

// The threads of a block; 0 where it is not constant.
int64_t BlockThreads(const tir::PrimFunc& kernel);

// Whether a kernel has more than `most` bytes of scope shared, with each allocation at a multiple
// of `alignment`, so that the launch has to give them. Throws where it has memory of scope
// shared.dynamic besides: a launch gives one piece.
bool SharedAtLaunch(const tir::PrimFunc& kernel, int64_t alignment, int64_t most);

// The memory of scope shared.dynamic that a kernel allocates; null where it does not.
ir::Buffer DynamicShared(const tir::PrimFunc& kernel);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_KERNEL_INFO_H_
