// SPDX-License-Identifier: Apache-2.0
//
// Code generators from outside of the tree, libtern_codegen_<name>.so, found and loaded as the
// runtime's plugins are (tern/runtime/plugin/plugin_search.h, plugin_loader.h). They use the
// compiler's C++ interface (tern/codegen/plugin_sdk.h), and are refused unless they were built with
// the same headers and compiler.
#ifndef TERN_CODEGEN_PLUGIN_H_
#define TERN_CODEGEN_PLUGIN_H_

#include <string>
#include <string_view>
#include <vector>

namespace tern::codegen {

// As those of tern/runtime/plugin/plugin.h.
bool TryLoadCodegen(std::string_view name);
void LoadCodegen(std::string_view name);
bool IsCodegenLoaded(std::string_view name);
std::vector<std::string> LoadAllCodegens();
// A library by its path, DIR/libtern_codegen_<name>.so. Throws where it is absent or broken.
void LoadCodegenFile(const std::string& path);

// Has names of kinds, tags and intrinsics that are not known looked for in such libraries.
void LookOutside();

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_PLUGIN_H_
