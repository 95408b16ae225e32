// SPDX-License-Identifier: Apache-2.0
//
// Host code in this process, by address: what the library loader and the compiler's JIT share.
#ifndef TERN_RUNTIME_HOST_MODULE_H_
#define TERN_RUNTIME_HOST_MODULE_H_

#include "tern/ffi/module.h"

namespace tern::runtime {

// The environment table for the functions of `module`; its calls search the module's imports, then
// the registry.
TernEnv MakeEnv(ffi::ModuleObj* module);

// A symbol of host code that uses the tile registers of x86 (AMX).
inline constexpr const char* kUsesTiles = "__tern.uses_tiles";
// Linux gives them to a process that asks. Throws where it does not.
void AskForTiles();

// What those calls do.
void CallFromModule(ffi::ModuleObj* module, const char* name, const TernAny* args, int32_t num_args,
                    TernAny* result);

// A function of compiled code at `entry`. Keeps `module`, whose environment is `*env` (owned by the
// module), alive.
ffi::Function FunctionFromEntry(ffi::Module module, const TernEnv* env, TernEntry entry);

// Opens a shared object that exports TERN_SYMBOL_PREFIX functions.
ffi::Module OpenLibrary(const std::string& path, std::vector<std::string> function_names);
// The same from bytes in memory: they are what is mapped, whatever becomes of the file they were
// read from.
ffi::Module OpenLibraryFromMemory(std::string_view bytes, std::vector<std::string> function_names);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_HOST_MODULE_H_
