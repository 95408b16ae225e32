// SPDX-License-Identifier: Apache-2.0
//
// Tensors whose first element is not where their memory starts, on devices whose memory has handles
// and no addresses: kernels take beside such a tensor the place of its first element.
#ifndef TERN_TIR_TRANSFORM_CALLS_KERNEL_OFFSETS_H_
#define TERN_TIR_TRANSFORM_CALLS_KERNEL_OFFSETS_H_

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tern/tir/function.h"

namespace tern::tir {

// The parameters of a kernel that some launch gives a tensor of its caller. These get an offset
// each, in elements, behind the other parameters.
struct OffsetParams {
  std::set<size_t> tensors;  // their numbers
  size_t num_params = 0;     // without the offsets
};
using KernelOffsets = std::map<std::string, OffsetParams>;  // by kernel
KernelOffsets FindKernelOffsets(const ir::IRModule& module);

// The kernel with the parameters, and its accesses moved by them.
PrimFunc WithOffsets(const PrimFunc& kernel, const std::set<size_t>& params);

// The values for these parameters in a launch_kernel call; `offsets` has them by the address of the
// tensor, memory of the caller's own starts with its first element.
std::vector<Expr> OffsetArguments(const ir::CallNode* launch, const std::set<size_t>& params,
                                  const std::unordered_map<const VarNode*, Expr>& offsets);

// Tensors of the function that it gives to kernels which are code from elsewhere. They know of no
// offsets.
std::set<const VarNode*> GivenToExternKernels(const ir::IRModule& module, const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_CALLS_KERNEL_OFFSETS_H_
