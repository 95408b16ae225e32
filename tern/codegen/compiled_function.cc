// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/compiled_function.h"

#include "tern/ffi/registry.h"

namespace tern::codegen {

std::string CacheKeyOf(const target::Target& target) {
  ffi::Function key = ffi::FindGlobal("target.cache_key." + target->kind->name);
  return key ? key(target).As<std::string>() : "";
}

const CompiledFunctionNode* AsCompiledFunction(const ir::BaseFunc& function) {
  return function->type_index() == CompiledFunctionNode::TypeIndex()
             ? static_cast<const CompiledFunctionNode*>(function.get())
             : nullptr;
}

}  // namespace tern::codegen
