// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are given as code of their device: a source text or a binary.
#ifndef TERN_TIR_EXTERN_KERNEL_H_
#define TERN_TIR_EXTERN_KERNEL_H_

#include <string>
#include <vector>

#include "tern/tir/function.h"

namespace tern::tir {

// Functions launch it by its name, with launch_kernel. Tensors are passed as pointers to elements,
// scalars as values. Passes leave it alone; Compile makes a device module of it.
struct ExternKernelNode : ir::BaseFuncNode {
  std::vector<Param> params;
  std::vector<std::string> launch_tags;  // the thread axes, in the order of the launch's extents
  std::vector<bool> writes;              // per parameter; false for a scalar
  std::string kind;                      // of the device module
  std::string format;                    // of the code
  std::string code;
  std::string file;  // where the code was read from, as written in the text form, or ""

  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("tir.ExternKernel");
    return index;
  }

  // A function of the same name and parameters that does nothing.
  PrimFunc Signature() const;
};
using ExternKernel = ffi::Ref<const ExternKernelNode>;

// Null where the function is not an external kernel.
const ExternKernelNode* AsExternKernel(const ir::BaseFunc& function);

bool StructuralEqual(const ExternKernelNode& a, const ExternKernelNode& b);

}  // namespace tern::tir

#endif  // TERN_TIR_EXTERN_KERNEL_H_
