// SPDX-License-Identifier: Apache-2.0
//
// Where the libraries of backends lie. A backend has up to two: libtern_runtime_<name>.so, which
// runs its kernels, and, where it is not part of the compiler, libtern_codegen_<name>.so, which
// makes them.
//
// Looked for, in this order: the directories of TERN_BACKEND_PATH (separated by ':'), the directory
// of libtern_runtime.so, and the manifests <any>.json in tern/backends of the user's data directory
// (XDG_DATA_HOME, else ~/.local/share) and of the system's (XDG_DATA_DIRS, else /usr/local/share
// and /usr/share):
//
//   {"version": 1, "name": "x", "runtime": "libtern_runtime_x.so", "codegen": "..."}
//
// A relative path is one from the manifest's directory; either library may be left out.
#ifndef TERN_RUNTIME_PLUGIN_PLUGIN_SEARCH_H_
#define TERN_RUNTIME_PLUGIN_PLUGIN_SEARCH_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tern::runtime {

enum class PluginPart { kRuntime, kCodegen };

// "libtern_runtime_<name>.so" or "libtern_codegen_<name>.so"
std::string PluginFileName(PluginPart part, std::string_view name);
// Letters a-z, digits and _: a name becomes part of a file's name.
bool IsPluginName(std::string_view name);

// The directories of libraries, and of manifests.
std::vector<std::string> PluginSearchPath();
std::vector<std::string> ManifestPath();

struct PluginManifest {
  std::string file, name;
  std::string runtime, codegen;  // absolute paths, or ""
};
// Throws the mistake, without the file's name.
PluginManifest ReadPluginManifest(const std::string& file);

// The libraries of that name that exist, in the order of the search. Manifests that cannot be read
// are warned about, once each.
std::vector<std::string> FindPlugins(PluginPart part, std::string_view name);
// The names of all libraries that FindPlugins would find, for every name.
std::set<std::string> PluginNames(PluginPart part);
// "libtern_runtime_x.so was not found in DIR, DIR, nor a manifest of x in DIR, DIR"
std::string PluginNotFound(PluginPart part, std::string_view name);

// Prints "tern: warning: MESSAGE" to standard error.
void WarnOfPlugin(const std::string& message);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_PLUGIN_PLUGIN_SEARCH_H_
