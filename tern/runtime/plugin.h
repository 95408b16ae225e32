// SPDX-License-Identifier: Apache-2.0
//
// Finding and loading backend plugins, libtern_runtime_<name>.so.
//
// Looked for, in this order: the directories of TERN_BACKEND_PATH (separated by ':'), the directory
// of libtern_runtime.so. Loaded by need, once, under a lock, RTLD_LOCAL, and never unloaded. An
// absent plugin is silent; one that is broken, of another version or for another architecture gives
// one warning with its path and the reason.
#ifndef TERN_RUNTIME_PLUGIN_H_
#define TERN_RUNTIME_PLUGIN_H_

#include <string>
#include <string_view>
#include <vector>

namespace tern::runtime {

// "libtern_runtime_<name>.so"
std::string PluginFileName(std::string_view name);
std::vector<std::string> PluginSearchPath();

// By need: returns whether the plugin is loaded now. With TERN_BACKEND_AUTOLOAD=0 only tells
// whether it is.
bool TryLoadPlugin(std::string_view name);
// On request, whatever TERN_BACKEND_AUTOLOAD says: throws where it is absent or broken.
void LoadPlugin(std::string_view name);
bool IsPluginLoaded(std::string_view name);
// Loads every plugin in the search path and returns the names of all that are loaded.
std::vector<std::string> LoadAllPlugins();

// "the NAME runtime is not loaded: libtern_runtime_NAME.so was not found in DIR, DIR", or why it
// was refused.
std::string WhyPluginAbsent(std::string_view name);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_PLUGIN_H_
