// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/registry.h"

#include "tern/ffi/registry_table.h"

namespace tern::ffi {
namespace {

// Functions may hold modules of unloaded libraries.
RegistryTable<Function>& Functions() {
  static auto* functions = new RegistryTable<Function>("global function");
  return *functions;
}

}  // namespace

void RegisterGlobal(const std::string& name, Function function) {
  TERN_ICHECK(function) << name << " is registered without a function";
  Functions().Add(name, std::move(function));
}

bool RemoveGlobal(std::string_view name) { return Functions().Remove(name).has_value(); }

Function FindGlobal(std::string_view name) { return Functions().Copy(name).value_or(Function()); }

Function GetGlobal(std::string_view name) {
  Function function = FindGlobal(name);
  if (!function)
    TERN_THROW(KeyError) << "no global function is named " << name
                         << DidYouMean(name, GlobalNames());
  return function;
}

std::vector<std::string> GlobalNames() { return Functions().Names(); }

}  // namespace tern::ffi
