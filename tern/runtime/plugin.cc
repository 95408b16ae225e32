// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/plugin.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "tern/ffi/function.h"
#include "tern/ffi/text.h"
#include "tern/runtime/elf_file.h"
#include "tern/runtime/plugin_registrar.h"

namespace tern::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "libtern_runtime_", kSuffix = ".so";

struct Plugins {
  // Recursive: a plugin's initialisation may look for another device.
  std::recursive_mutex mutex;
  std::set<std::string, std::less<>> loaded;
  // Path -> why it was refused. A refused file is warned about once, and tried again only on
  // explicit request.
  std::map<std::string, std::string> refused;
};

// Leaked, as plugins are never unloaded.
Plugins& Global() {
  static Plugins* plugins = new Plugins;
  return *plugins;
}

void Warn(const std::string& message) {
  std::fprintf(stderr, "tern: warning: %s\n", message.c_str());
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
      .warn = [](const char* message) { Warn(message); },
  };
  return kApi;
}

// A name becomes part of a file name, so it may not hold a path.
bool IsPluginName(std::string_view name) {
  if (name.empty()) return false;
  for (char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  return true;
}

bool AutoloadIsOff() {
  const char* value = std::getenv("TERN_BACKEND_AUTOLOAD");
  return value && std::string_view(value) == "0";
}

std::string RuntimeDirectory() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&PluginFileName), &info) || !info.dli_fname) return {};
  std::error_code failed;
  fs::path path = fs::canonical(info.dli_fname, failed);
  return failed ? std::string() : path.parent_path().string();
}

// The dynamic linker says "cannot open shared object file" of a library for another machine; this
// says which.
void CheckElf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  TERN_CHECK(file) << "cannot be read";
  char buffer[64];
  file.read(buffer, sizeof buffer);
  uint16_t machine = ElfMachine(std::string_view(buffer, static_cast<size_t>(file.gcount())));
  TERN_CHECK(machine == HostElfMachine())
      << "built for " << ElfMachineName(machine) << ", this machine is "
      << ElfMachineName(HostElfMachine());
}

// Throws the reason, without the path.
void LoadFile(const std::string& path) {
  CheckElf(path);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Error("RuntimeError", dlerror());
  try {
    auto entry = reinterpret_cast<TernPluginEntry>(dlsym(library, TERN_PLUGIN_ENTRY));
    TERN_CHECK(entry) << "not a Tern plugin: it has no function " TERN_PLUGIN_ENTRY;
    StagedRegistrations staged;
    ffi::CheckCall(entry(&HostApi(), staged.registrar()));
    staged.Commit();
  } catch (...) {
    dlclose(library);  // nothing of it is referred to
    throw;
  }
}

std::vector<std::string> Candidates(std::string_view name) {
  std::vector<std::string> found;
  for (const std::string& directory : PluginSearchPath()) {
    std::string path = (fs::path(directory) / PluginFileName(name)).string();
    std::error_code failed;
    if (fs::exists(path, failed)) found.push_back(std::move(path));
  }
  return found;
}

std::string NotFound(std::string_view name) {
  return PluginFileName(name) + " was not found in " + ffi::Join(PluginSearchPath());
}

void CheckPluginName(std::string_view name) {
  TERN_CHECK(IsPluginName(name)) << "\"" << name
                                 << "\" is not a backend's name: letters a-z, digits and _ are";
}

}  // namespace

std::string PluginFileName(std::string_view name) {
  return std::string(kPrefix) + std::string(name) + std::string(kSuffix);
}

std::vector<std::string> PluginSearchPath() {
  std::vector<std::string> path;
  auto add = [&](std::string directory) {
    if (directory.empty()) return;
    for (const std::string& known : path)
      if (known == directory) return;
    path.push_back(std::move(directory));
  };
  if (const char* variable = std::getenv("TERN_BACKEND_PATH")) {
    std::string_view rest = variable;
    while (!rest.empty()) {
      size_t end = std::min(rest.find(':'), rest.size());
      add(std::string(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  add(RuntimeDirectory());
  return path;
}

bool TryLoadPlugin(std::string_view name) {
  Plugins& plugins = Global();
  std::lock_guard lock(plugins.mutex);
  if (plugins.loaded.contains(name)) return true;
  if (AutoloadIsOff() || !IsPluginName(name)) return false;
  for (const std::string& path : Candidates(name)) {
    if (plugins.refused.contains(path)) continue;
    try {
      LoadFile(path);
      plugins.loaded.emplace(name);
      return true;
    } catch (const Error& error) {
      plugins.refused[path] = error.message();
      Warn(path + ": " + error.message());
    }
  }
  return false;
}

void LoadPlugin(std::string_view name) {
  CheckPluginName(name);
  Plugins& plugins = Global();
  std::lock_guard lock(plugins.mutex);
  if (plugins.loaded.contains(name)) return;
  std::vector<std::string> candidates = Candidates(name);
  if (candidates.empty()) TERN_THROW(RuntimeError) << NotFound(name);
  try {
    LoadFile(candidates.front());
  } catch (const Error& error) {
    throw Error("RuntimeError", candidates.front() + ": " + error.message());
  }
  plugins.refused.erase(candidates.front());
  plugins.loaded.emplace(name);
}

bool IsPluginLoaded(std::string_view name) {
  Plugins& plugins = Global();
  std::lock_guard lock(plugins.mutex);
  return plugins.loaded.contains(name);
}

std::vector<std::string> LoadAllPlugins() {
  for (const std::string& directory : PluginSearchPath()) {
    std::set<std::string> names;  // sorted: directories have no order
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(directory, failed)) {
      std::string file = entry.path().filename().string();
      if (!file.starts_with(kPrefix) || !file.ends_with(kSuffix) ||
          file.size() <= kPrefix.size() + kSuffix.size())
        continue;
      names.insert(file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size()));
    }
    for (const std::string& name : names) TryLoadPlugin(name);
  }
  Plugins& plugins = Global();
  std::lock_guard lock(plugins.mutex);
  return {plugins.loaded.begin(), plugins.loaded.end()};
}

std::string WhyPluginAbsent(std::string_view name) {
  std::string start = "the " + std::string(name) + " runtime is not loaded: ";
  if (!IsPluginName(name)) return start + "that is not a backend's name";
  Plugins& plugins = Global();
  std::lock_guard lock(plugins.mutex);
  for (const std::string& path : Candidates(name))
    if (auto it = plugins.refused.find(path); it != plugins.refused.end())
      return start + path + ": " + it->second;
  if (AutoloadIsOff()) return start + "TERN_BACKEND_AUTOLOAD=0 turns the search off";
  return start + NotFound(name);
}

}  // namespace tern::runtime
