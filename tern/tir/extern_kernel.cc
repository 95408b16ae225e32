// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/extern_kernel.h"

namespace tern::tir {

PrimFunc ExternKernelNode::Signature() const {
  return PrimFunc::Make(name, params, SeqNode::Make({}), attrs, span);
}

const ExternKernelNode* AsExternKernel(const ir::BaseFunc& function) {
  return function->type_index() == ExternKernelNode::TypeIndex()
             ? static_cast<const ExternKernelNode*>(function.get())
             : nullptr;
}

bool StructuralEqual(const ExternKernelNode& a, const ExternKernelNode& b) {
  return StructuralEqual(a.Signature(), b.Signature()) && a.launch_tags == b.launch_tags &&
         a.writes == b.writes && a.kind == b.kind && a.format == b.format && a.code == b.code;
}

}  // namespace tern::tir
