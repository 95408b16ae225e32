// SPDX-License-Identifier: Apache-2.0
//
// The plugins of the runtime, libtern_runtime_<name>.so: which are looked for where is in
// plugin_search.h, and how they are loaded in plugin_loader.h.
#ifndef TERN_RUNTIME_PLUGIN_PLUGIN_H_
#define TERN_RUNTIME_PLUGIN_PLUGIN_H_

#include <string>
#include <string_view>
#include <vector>

namespace tern::runtime {

// By need: returns whether the plugin is loaded now. With TERN_BACKEND_AUTOLOAD=0 only tells
// whether it is.
bool TryLoadPlugin(std::string_view name);
// On request, whatever TERN_BACKEND_AUTOLOAD says: throws where it is absent or broken.
void LoadPlugin(std::string_view name);
bool IsPluginLoaded(std::string_view name);
// Loads every plugin there is and returns the names of all that are loaded.
std::vector<std::string> LoadAllPlugins();

// "the NAME runtime is not loaded: libtern_runtime_NAME.so was not found in DIR, DIR...", or why it
// was refused, or that it is loaded and has not what was looked for.
std::string WhyPluginAbsent(std::string_view name);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_PLUGIN_PLUGIN_H_
