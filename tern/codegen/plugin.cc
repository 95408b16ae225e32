// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/plugin.h"

#include "tern/codegen/backend_registrar.h"
#include "tern/codegen/plugin_interface.h"
#include "tern/runtime/plugin/plugin_boundary.h"
#include "tern/runtime/plugin/plugin_loader.h"

namespace tern::codegen {
namespace {

using Entry = void (*)(BackendRegistrar&);

void LoadLibrary(const std::string& name, const std::string& path) {
  runtime::PluginLibrary library(path);
  const auto* interface = static_cast<const char*>(library.Find("tern_codegen_interface"));
  auto entry = reinterpret_cast<Entry>(library.Find("tern_codegen_plugin"));
  TERN_CHECK(interface && entry)
      << "not a code generator for Tern: it lacks tern_codegen_interface or tern_codegen_plugin";
  TERN_CHECK(std::string_view(interface) == TERN_CODEGEN_INTERFACE)
      << "built with another Tern (" << interface << "; this one is " << TERN_CODEGEN_INTERFACE
      << "): build it again";
  // Even if it fails: its code may have made what is thrown.
  library.Keep();
  BackendRegistrar registrar(name);
  try {
    entry(registrar);
  } catch (const Error&) {
    throw;
  } catch (...) {
    runtime::ThrowForeign("tern_codegen_plugin");
  }
  registrar.Commit();
}

// Leaked, as plugins are never unloaded.
runtime::PluginLoader& Loader() {
  static auto* loader =
      new runtime::PluginLoader(runtime::PluginPart::kCodegen, "code generator", LoadLibrary);
  return *loader;
}

}  // namespace

bool TryLoadCodegen(std::string_view name) { return Loader().TryLoad(name); }
void LoadCodegen(std::string_view name) { Loader().Load(name); }
bool IsCodegenLoaded(std::string_view name) { return Loader().IsLoaded(name); }
void LoadCodegenFile(const std::string& path) { Loader().LoadPath(path); }
std::vector<std::string> LoadAllCodegens() { return Loader().LoadAll(); }

void LookOutside() {
  ir::SetNamespaceFinder([](std::string_view prefix) { TryLoadCodegen(prefix); });
  target::SetKindFinder([](std::string_view name) {
    TryLoadCodegen(name);
    // A tag, or a kind that has not its backend's name.
    if (!target::HasTargetKindOrTag(name)) LoadAllCodegens();
  });
}

}  // namespace tern::codegen
