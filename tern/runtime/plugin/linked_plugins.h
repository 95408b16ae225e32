// SPDX-License-Identifier: Apache-2.0
//
// The plugins that are part of this library (TERN_STATIC_RUNTIME); none in a shared one.
#ifndef TERN_RUNTIME_PLUGIN_LINKED_PLUGINS_H_
#define TERN_RUNTIME_PLUGIN_LINKED_PLUGINS_H_

#include <map>
#include <string>

#include "tern/runtime/plugin_api.h"

namespace tern::runtime {

// By name, with the entry of each. Defined in a generated file.
std::map<std::string, TernPluginEntry> LinkedPlugins();

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_PLUGIN_LINKED_PLUGINS_H_
