// SPDX-License-Identifier: Apache-2.0
//
// The global table of named functions, where the compiler, the runtime and its plugins meet. Safe
// from many threads; leaked at exit.
#ifndef TERN_FFI_REGISTRY_H_
#define TERN_FFI_REGISTRY_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/function.h"

namespace tern::ffi {

// Throws if the name is taken.
void RegisterGlobal(const std::string& name, Function function);
// Returns whether it was there.
bool RemoveGlobal(std::string_view name);
// The function, or a null one.
Function FindGlobal(std::string_view name);
// The function; throws an error that lists near names.
Function GetGlobal(std::string_view name);
std::vector<std::string> GlobalNames();

}  // namespace tern::ffi

#endif  // TERN_FFI_REGISTRY_H_
