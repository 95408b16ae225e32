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

LinkableModule& HostCode(const ffi::Module& module) {
  auto* host = dynamic_cast<LinkableModule*>(module.get());
  TERN_CHECK(host && (host->properties() & ffi::ModuleObj::kLinkable))
      << "a module of kind " << module->kind()
      << " is no host code, so it cannot be exported by itself";
  return *host;
}

}  // namespace tern::codegen
