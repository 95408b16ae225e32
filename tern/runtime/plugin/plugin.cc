// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/plugin/plugin.h"

#include "tern/ffi/function.h"
#include "tern/runtime/kernel/program_cache.h"
#include "tern/runtime/plugin/linked_plugins.h"
#include "tern/runtime/plugin/plugin_loader.h"
#include "tern/runtime/plugin/plugin_registrar.h"

namespace tern::runtime {
namespace {

std::string KeyOf(const char* kind, const TernBlob* parts, int32_t num_parts) {
  ProgramCache::Parts named;
  for (int32_t i = 0; i < num_parts; ++i)
    named.emplace_back(parts[i].name, std::string_view(parts[i].data, parts[i].size));
  return ProgramCache::KeyOf(kind, named);
}

// Nothing may be thrown through the plugin, and without a cache it goes as well. What is wrong with
// the environment was said when the kernel loader was called.
std::optional<std::string> FindCached(const char* kind, const TernBlob* parts,
                                      int32_t num_parts) noexcept {
  try {
    auto cache = ProgramCache::FromEnvironment();
    return cache ? cache->Find(KeyOf(kind, parts, num_parts)) : std::nullopt;
  } catch (...) {
    return std::nullopt;
  }
}

int FindProgram(const char* kind, const TernBlob* parts, int32_t num_parts, void* sink,
                void (*emit)(void* sink, const char* data, uint64_t size)) {
  std::optional<std::string> found = FindCached(kind, parts, num_parts);
  if (found) emit(sink, found->data(), found->size());
  return found.has_value();
}

void StoreProgram(const char* kind, const TernBlob* parts, int32_t num_parts, const char* data,
                  uint64_t size) noexcept {
  try {
    if (auto cache = ProgramCache::FromEnvironment())
      cache->Store(KeyOf(kind, parts, num_parts), {data, size});
  } catch (...) {
    return;  // as in FindCached
  }
}

const TernHostApi& HostApi() {
  static constexpr TernHostApi kApi = {
      .size = sizeof(TernHostApi),
      .version = TERN_PLUGIN_API_VERSION,
      .set_error =
          [](const char* kind, const char* message) {
            ffi::SetRaised(
                Error(kind ? kind : "RuntimeError", message ? message : "unknown error"));
          },
      .warn = [](const char* message) { WarnOfPlugin(message); },
      .find_program = FindProgram,
      .store_program = StoreProgram,
  };
  return kApi;
}

void Initialise(TernPluginEntry entry) {
  StagedRegistrations staged;
  int code = 0;
  try {
    code = entry(&HostApi(), staged.registrar());
  } catch (...) {
    ThrowForeign(TERN_PLUGIN_ENTRY);
  }
  ffi::CheckCall(code);
  staged.Commit();
}

void LoadFile(const std::string&, const std::string& path) {
  PluginLibrary library(path);
  auto entry = reinterpret_cast<TernPluginEntry>(library.Find(TERN_PLUGIN_ENTRY));
  TERN_CHECK(entry) << "not a Tern plugin: it has no function " TERN_PLUGIN_ENTRY;
  Initialise(entry);
  library.Keep();
}

// Leaked, as plugins are never unloaded.
PluginLoader& Loader() {
  static auto* loader = [] {
    PluginLoader::LinkedIn linked_in;
    for (const auto& [name, entry] : LinkedPlugins())
      linked_in[name] = [entry = entry] { Initialise(entry); };
    return new PluginLoader(PluginPart::kRuntime, "runtime", LoadFile, std::move(linked_in));
  }();
  return *loader;
}

}  // namespace

bool TryLoadPlugin(std::string_view name) { return Loader().TryLoad(name); }
void LoadPlugin(std::string_view name) { Loader().Load(name); }
bool IsPluginLoaded(std::string_view name) { return Loader().IsLoaded(name); }
std::vector<std::string> LoadAllPlugins() { return Loader().LoadAll(); }
std::string WhyPluginAbsent(std::string_view name) { return Loader().WhyAbsent(name); }

}  // namespace tern::runtime
