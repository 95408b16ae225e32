// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/ffi_host.h"

#include <fmt/format.h>

#include "tern/backend/cpu/codegen/host_abi.h"
#include "tern/ffi/c_abi.h"

namespace tern::backend::cpu {

std::string WriteFfiHostC(const std::vector<std::string>& functions) {
  constexpr const char* kParams = "const TernAny* args, int32_t num_args, TernAny* result";
  std::string source = fmt::format("#include <stdint.h>\n{}\n{}", kHostAbi, kFfiHostC);
  for (const std::string& name : functions) {
    source +=
        fmt::format("\nint {}{}(const TernEnv* env, {});\n", TERN_SYMBOL_PREFIX, name, kParams);
    source += fmt::format("int {0}{1}(void* handle, {2});\nint {0}{1}(void* handle, {2}) {{\n",
                          kFfiSymbolPrefix, name, kParams);
    source += fmt::format("  (void)handle;\n  return {}({}{}, args, num_args, result);\n}}\n",
                          kFfiEnter, TERN_SYMBOL_PREFIX, name);
  }
  return source;
}

}  // namespace tern::backend::cpu
