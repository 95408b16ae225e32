// SPDX-License-Identifier: Apache-2.0
//
// The functions that the runtime itself puts into the global registry, once, when the library is
// loaded. (Plugins register through TernRegistrar instead: only for them can it fail.)
#include "tern/ffi/json.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/device_artifact.h"

namespace tern::runtime {
namespace {

// Text to fmap, checked.
ffi::Map LoadMetaDataFromJson(const std::string& text) {
  return KernelMapToValue(KernelMapFromValue(ffi::ParseJson(text).As<ffi::Map>()));
}

[[maybe_unused]] const bool registered = [] {
  constexpr const char* kName = "runtime.LoadMetaDataFromJSON";
  ffi::RegisterGlobal(kName, ffi::Function::FromTyped(kName, &LoadMetaDataFromJson));
  return true;
}();

}  // namespace
}  // namespace tern::runtime

// The name by which a program that links the runtime statically asks for this file.
extern "C" {
extern const bool tern_core_functions;
const bool tern_core_functions = true;
}
