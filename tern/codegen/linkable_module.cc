// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/linkable_module.h"

namespace tern::codegen {

std::string LinkableModule::SymbolOf(const std::string& function) const {
  return TERN_SYMBOL_PREFIX + function;
}

std::string LinkableModule::DeclarationOf(const std::string& function) const {
  return "int32_t " + SymbolOf(function) +
         "(const struct TernEnv* env, const struct TernAny* args, int32_t num_args, struct "
         "TernAny* "
         "result);";
}

std::string LinkableModule::HeaderStart() const {
  return "// Called with an environment and values as tern/ffi/c_abi.h defines them.\n"
         "struct TernEnv;\n"
         "struct TernAny;\n";
}

}  // namespace tern::codegen
