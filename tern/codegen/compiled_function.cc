// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/compiled_function.h"

namespace tern::codegen {

const CompiledFunctionNode* AsCompiledFunction(const ir::BaseFunc& function) {
  return function->type_index() == CompiledFunctionNode::TypeIndex()
             ? static_cast<const CompiledFunctionNode*>(function.get())
             : nullptr;
}

}  // namespace tern::codegen
