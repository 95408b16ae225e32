// SPDX-License-Identifier: Apache-2.0
//
// What a plugin registers while it is initialised: held back, checked, and put in place all at once
// or not at all.
#ifndef TERN_RUNTIME_PLUGIN_PLUGIN_REGISTRAR_H_
#define TERN_RUNTIME_PLUGIN_PLUGIN_REGISTRAR_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tern/ffi/function.h"
#include "tern/runtime/plugin/plugin_boundary.h"

namespace tern::runtime {

class StagedRegistrations {
 public:
  StagedRegistrations();
  StagedRegistrations(const StagedRegistrations&) = delete;

  // What the plugin's entry receives.
  TernRegistrar* registrar() { return &registrar_; }
  // Throws where something was refused (even if the plugin did not care) or a name was taken
  // meanwhile, and then leaves nothing behind.
  void Commit();

 private:
  static StagedRegistrations& Self(TernRegistrar* registrar) {
    return *static_cast<StagedRegistrations*>(registrar->self);
  }
  // Runs `stage`; remembers the first failure.
  template <class Stage>
  int Try(Stage&& stage);
  void AddDevice(const char* kind, const TernDeviceApi* api);
  void AddKernelLoader(const char* kind, const TernKernelLoader* loader);
  void AddFunction(const char* name, TernSafeCall call, void* handle);

  struct Device {
    std::string kind;
    const TernDeviceApi* api;
  };
  struct Loader {
    std::string kind;
    const TernKernelLoader* loader;
  };
  struct Named {
    std::string name;
    ffi::Function function;
  };

  TernRegistrar registrar_{};
  const DriverRef driver_ = std::make_shared<DriverProcess>();
  std::vector<Device> devices_;
  std::vector<Loader> loaders_;
  std::vector<Named> functions_;
  std::set<std::string> function_names_;
  std::optional<Error> refusal_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_PLUGIN_PLUGIN_REGISTRAR_H_
