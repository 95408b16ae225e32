// SPDX-License-Identifier: Apache-2.0
//
// Host code in this process, by address: what the library loader and the compiler's JIT share.
#ifndef TERN_RUNTIME_HOST_HOST_MODULE_H_
#define TERN_RUNTIME_HOST_HOST_MODULE_H_

#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "tern/ffi/module.h"

namespace tern::runtime {

// The environment table for the functions of `module`, which owns it; its calls search the module's
// imports, then the registry.
class ModuleEnv : public TernEnv {
 public:
  explicit ModuleEnv(ffi::ModuleObj* module);
  ~ModuleEnv();
  ModuleEnv(const ModuleEnv&) = delete;

 private:
  static int Call(const TernEnv* env, const char* name, const TernAny* args, int32_t num_args,
                  TernAny* result);

  // What was called before is found by the address of its name, which is a constant of the code;
  // the name itself is compared too.
  struct Callee {
    const char* address;
    std::string name;
    ffi::Function function;
  };
  // A hash table that only grows: what finds no place near its hash is looked up at every call.
  static constexpr size_t kPlaces = 512, kProbes = 8;
  std::atomic<const Callee*>& Place(const char* name, size_t probe) const {
    return places_[(reinterpret_cast<uintptr_t>(name) / 4 + probe) % kPlaces];
  }
  const Callee* Find(const char* name) const {
    for (size_t probe = 0; probe < kProbes; ++probe) {
      const Callee* callee = Place(name, probe).load(std::memory_order_acquire);
      if (!callee) return nullptr;
      if (callee->address == name && std::strcmp(callee->name.c_str(), name) == 0) return callee;
    }
    return nullptr;
  }
  // Functions of the registry are not remembered: they may be replaced.
  void Remember(const char* name, const ffi::Function& function) const;

  mutable std::array<std::atomic<const Callee*>, kPlaces> places_{};
};

// A symbol of host code that uses the tile registers of x86 (AMX).
inline constexpr const char* kUsesTiles = "__tern.uses_tiles";
// Linux gives them to a process that asks. Throws where it does not.
void AskForTiles();

// What the code of a module calls by that name, loading the plugin that may have it. Throws where
// there is nothing.
ffi::Function FindCallee(ffi::ModuleObj* module, const char* name);
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

#endif  // TERN_RUNTIME_HOST_HOST_MODULE_H_
