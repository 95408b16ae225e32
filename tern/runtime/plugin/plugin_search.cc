// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/plugin/plugin_search.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <mutex>

#include "tern/ffi/environment.h"
#include "tern/ffi/escape_text.h"
#include "tern/ffi/json.h"
#include "tern/ffi/text.h"
#include "tern/runtime/artifact/file_bytes.h"

namespace tern::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".so";
constexpr int64_t kManifestVersion = 1;

std::string_view PrefixOf(PluginPart part) {
  return part == PluginPart::kRuntime ? "libtern_runtime_" : "libtern_codegen_";
}

const std::string& PathIn(const PluginManifest& manifest, PluginPart part) {
  return part == PluginPart::kRuntime ? manifest.runtime : manifest.codegen;
}

bool Exists(const std::string& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

void AddOnce(std::string directory, std::vector<std::string>* path) {
  if (directory.empty() || std::find(path->begin(), path->end(), directory) != path->end()) return;
  path->push_back(std::move(directory));
}

// These say which code is loaded.
std::string Variable(const char* name) { return environment::TrustedText(name).value_or(""); }

std::string RuntimeDirectory() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&PluginFileName), &info) || !info.dli_fname) return {};
  std::error_code failed;
  fs::path path = fs::canonical(info.dli_fname, failed);
  return failed ? std::string() : path.parent_path().string();
}

// Files of a directory, sorted: directories have no order.
std::set<std::string> FilesIn(const std::string& directory) {
  std::set<std::string> files;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(directory, failed))
    files.insert(entry.path().filename().string());
  return files;
}

std::string TextMember(const ffi::Map& manifest, const char* key) {
  const ffi::Any* value = manifest->Find(key);
  if (!value) return {};
  auto text = value->TryAs<std::string>();
  TERN_CHECK(text && !text->empty()) << "\"" << key << "\" is not a text";
  return *text;
}

void WarnOnce(const std::string& file, const std::string& reason) {
  static std::mutex mutex;
  static auto* warned = new std::set<std::string>;
  std::lock_guard lock(mutex);
  if (warned->insert(file).second) WarnOfPlugin(file + ": " + reason);
}

std::vector<PluginManifest> ReadManifests() {
  std::vector<PluginManifest> manifests;
  for (const std::string& directory : ManifestPath())
    for (const std::string& name : FilesIn(directory)) {
      if (!name.ends_with(".json")) continue;
      std::string file = (fs::path(directory) / name).string();
      try {
        manifests.push_back(ReadPluginManifest(file));
      } catch (const Error& error) {
        WarnOnce(file, ffi::Escaped(error.message()));
      }
    }
  return manifests;
}

}  // namespace

std::string PluginFileName(PluginPart part, std::string_view name) {
  return std::string(PrefixOf(part)) + std::string(name) + std::string(kSuffix);
}

bool IsPluginName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::vector<std::string> PluginSearchPath() {
  std::vector<std::string> path;
  for (std::string& directory : environment::SplitList(Variable("TERN_BACKEND_PATH")))
    AddOnce(std::move(directory), &path);
  AddOnce(RuntimeDirectory(), &path);
  return path;
}

std::vector<std::string> ManifestPath() {
  std::string user = Variable("XDG_DATA_HOME"), home = Variable("HOME"),
              system = Variable("XDG_DATA_DIRS");
  if (user.empty() && !home.empty()) user = home + "/.local/share";
  if (system.empty()) system = "/usr/local/share:/usr/share";
  std::vector<std::string> bases = environment::SplitList(system), path;
  bases.insert(bases.begin(), user);
  for (const std::string& base : bases)
    if (base.starts_with("/")) AddOnce((fs::path(base) / "tern/backends").string(), &path);
  return path;
}

PluginManifest ReadPluginManifest(const std::string& file) {
  ffi::Any json = ffi::ParseJson(ReadFile(file, kMostTextBytes));
  auto map = json.TryAs<ffi::Map>();
  TERN_CHECK(map) << "a manifest is an object";
  const ffi::Any* version = (*map)->Find("version");
  auto number = version ? version->TryAs<int64_t>() : std::nullopt;
  TERN_CHECK(number) << "the manifest has no \"version\"; " << kManifestVersion << " is expected";
  TERN_CHECK(*number == kManifestVersion)
      << "a manifest of version " << *number << "; this runtime reads version " << kManifestVersion;
  PluginManifest manifest{file, TextMember(*map, "name"), TextMember(*map, "runtime"),
                          TextMember(*map, "codegen")};
  TERN_CHECK(IsPluginName(manifest.name))
      << "\"name\" is not a backend's name: letters a-z, digits and _ are";
  TERN_CHECK(!manifest.runtime.empty() || !manifest.codegen.empty())
      << "the manifest names no library: \"runtime\" or \"codegen\" is expected";
  for (std::string* path : {&manifest.runtime, &manifest.codegen})
    if (!path->empty()) *path = (fs::path(file).parent_path() / *path).lexically_normal().string();
  return manifest;
}

std::vector<std::string> FindPlugins(PluginPart part, std::string_view name) {
  std::vector<std::string> found;
  for (const std::string& directory : PluginSearchPath()) {
    std::string path = (fs::path(directory) / PluginFileName(part, name)).string();
    if (Exists(path)) AddOnce(std::move(path), &found);
  }
  for (const PluginManifest& manifest : ReadManifests())
    if (manifest.name == name && Exists(PathIn(manifest, part)))
      AddOnce(PathIn(manifest, part), &found);
  return found;
}

std::set<std::string> PluginNames(PluginPart part) {
  std::set<std::string> names;
  std::string_view prefix = PrefixOf(part);
  for (const std::string& directory : PluginSearchPath())
    for (const std::string& file : FilesIn(directory))
      if (file.starts_with(prefix) && file.ends_with(kSuffix) &&
          file.size() > prefix.size() + kSuffix.size())
        names.insert(file.substr(prefix.size(), file.size() - prefix.size() - kSuffix.size()));
  for (const PluginManifest& manifest : ReadManifests())
    if (!PathIn(manifest, part).empty()) names.insert(manifest.name);
  return names;
}

std::string PluginNotFound(PluginPart part, std::string_view name) {
  for (const PluginManifest& manifest : ReadManifests())
    if (manifest.name == name && !PathIn(manifest, part).empty())
      return PathIn(manifest, part) + ", which " + manifest.file + " names, does not exist";
  return PluginFileName(part, name) + " was not found in " + ffi::Join(PluginSearchPath()) +
         ", nor a manifest of " + std::string(name) + " in " + ffi::Join(ManifestPath());
}

void WarnOfPlugin(const std::string& message) {
  std::fprintf(stderr, "tern: warning: %s\n", message.c_str());
}

}  // namespace tern::runtime
