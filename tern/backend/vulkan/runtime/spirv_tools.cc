// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/runtime/spirv_tools.h"

#include <dlfcn.h>

#include <cstddef>
#include <memory>
#include <string>

#include "tern/ffi/error.h"

namespace tern::backend::vulkan {
namespace {

// As upstream builds it, and as distributions do that have shared libraries alone.
constexpr const char* kLibraries[] = {"libSPIRV-Tools-shared.so", "libSPIRV-Tools.so"};

// From <spirv-tools/libspirv.h>, which promises that these stay.
struct Diagnostic {
  struct {
    size_t line, column, index;
  } position;
  char* error;
  bool is_text_source;
};
enum Environment : int { kVulkan12 = 23, kVulkan13 = 25 };
constexpr uint32_t kVersion16 = 0x10600;

struct SpirvTools {
  void* (*context_create)(int environment) = nullptr;
  void (*context_destroy)(void* context) = nullptr;
  int (*validate)(const void* context, const uint32_t* words, size_t count, Diagnostic**) = nullptr;
  void (*diagnostic_destroy)(Diagnostic* diagnostic) = nullptr;

  SpirvTools() {
    for (const char* name : kLibraries)
      if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL); library && Find(library)) return;
  }

  bool Find(void* library) {
    auto find = [&](auto* function, const char* name) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
      return *function != nullptr;
    };
    is_there =
        find(&context_create, "spvContextCreate") && find(&context_destroy, "spvContextDestroy") &&
        find(&validate, "spvValidateBinary") && find(&diagnostic_destroy, "spvDiagnosticDestroy");
    return is_there;
  }

  bool is_there = false;
};

}  // namespace

bool ValidateWithSpirvTools(std::span<const uint32_t> words) {
  static const SpirvTools tools;
  if (!tools.is_there) return false;
  std::unique_ptr<void, void (*)(void*)> context(
      tools.context_create(words[1] >= kVersion16 ? kVulkan13 : kVulkan12), tools.context_destroy);
  if (!context) return false;  // older than the environment
  Diagnostic* diagnostic = nullptr;
  int code = tools.validate(context.get(), words.data(), words.size(), &diagnostic);
  std::string why = diagnostic && diagnostic->error ? diagnostic->error : "no reason given";
  size_t at = diagnostic ? diagnostic->position.index : 0;
  tools.diagnostic_destroy(diagnostic);  // takes null
  if (code != 0)
    TERN_THROW(ValueError) << "no SPIR-V module: SPIRV-Tools refuse it at word " << at << ": "
                           << why;
  return true;
}

}  // namespace tern::backend::vulkan
