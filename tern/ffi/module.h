// SPDX-License-Identifier: Apache-2.0
//
// Modules: compiled code, on the host or for a device, with the modules it imports.
#ifndef TERN_FFI_MODULE_H_
#define TERN_FFI_MODULE_H_

#include <map>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/function.h"

namespace tern::ffi {

class ModuleObj;
class Module : public Ref<ModuleObj> {
 public:
  Module() = default;
  Module(Ref<ModuleObj> ref) : Ref(std::move(ref)) {}
};

class ModuleObj : public Object {
 public:
  // What can be done with a module.
  enum Property : uint32_t {
    kRunnable = 1,      // GetFunction gives functions that can be called in this process
    kSerializable = 2,  // SaveToBytes works
    kLinkable = 4,      // it becomes host code of an exported file
  };

  virtual ~ModuleObj() = default;
  static int32_t TypeIndex() { return kTernModule; }

  virtual std::string kind() const = 0;
  virtual uint32_t properties() const = 0;

  // The function of that name, or a null one; throws where the module has it but cannot give it.
  // Imports are not searched. The function keeps the module alive.
  virtual Function GetFunction(std::string_view name) = 0;
  virtual std::vector<std::string> FunctionNames() const = 0;

  // Without kSerializable: throws.
  virtual std::string SaveToBytes() const;
  // The code in a readable form; an empty format asks for the natural one. Throws with the formats
  // there are.
  virtual std::string InspectSource(std::string_view format) const;
  virtual std::vector<std::string> SourceFormats() const { return {}; }

  const std::vector<Module>& imports() const { return imports_; }
  // Refuses cycles.
  void Import(Module module);
  // The function of that name here or in the imports, depth first; a null one where there is none.
  Function FindFunction(std::string_view name);
  // What the code of this module calls by that name: a function of the imports, or else of the
  // global registry; a null one where there is none. What the imports gave is remembered. Safe from
  // many threads, once the imports are complete.
  Function FindCallee(std::string_view name);

 private:
  std::vector<Module> imports_;
  std::shared_mutex callees_mutex_;
  std::map<std::string, Function, std::less<>> callees_;
};

template <>
struct AnyTraits<Module> : AnyTraits<Ref<ModuleObj>> {
  static std::optional<Module> From(const TernAny& value) {
    auto ref = AnyTraits<Ref<ModuleObj>>::From(value);
    return ref ? std::optional<Module>(*std::move(ref)) : std::nullopt;
  }
};

}  // namespace tern::ffi

#endif  // TERN_FFI_MODULE_H_
