// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/c_header.h"

#include <cctype>

namespace tern::codegen {
namespace {

std::string GuardOf(const std::string& name) {
  std::string guard = "TERN_MODULE_";
  for (char c : name) {
    bool spelled = std::isalnum(static_cast<unsigned char>(c));
    guard += spelled ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : '_';
  }
  return guard + "_H_";
}

}  // namespace

std::string WriteHeader(const LinkableModule& module, const runtime::ArtifactMeta& meta,
                        const std::string& name) {
  std::string guard = GuardOf(name);
  std::string text = "// Written by Tern.\n#ifndef " + guard + "\n#define " + guard +
                     "\n\n#include <stdbool.h>\n#include <stdint.h>\n\n"
                     "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" +
                     module.HeaderStart();
  for (const runtime::FunctionInfo& function : meta.functions)
    text += "\n// " + runtime::SignatureText(function) + "\n" +
            module.DeclarationOf(function.name) + "\n";
  return text + "\n#ifdef __cplusplus\n}  // extern \"C\"\n#endif\n\n#endif  // " + guard + "\n";
}

}  // namespace tern::codegen
