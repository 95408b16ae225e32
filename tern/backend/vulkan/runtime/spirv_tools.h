// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_BACKEND_VULKAN_RUNTIME_SPIRV_TOOLS_H_
#define TERN_BACKEND_VULKAN_RUNTIME_SPIRV_TOOLS_H_

#include <cstdint>
#include <span>

namespace tern::backend::vulkan {

// Validates a module with the machine's SPIRV-Tools, the validator that drivers are written for.
// Throws ValueError with its diagnostic. Returns whether there is one: libSPIRV-Tools-shared.so is
// opened when it is needed first, and it is no error where it is missing (CheckModule stands).
bool ValidateWithSpirvTools(std::span<const uint32_t> words);

}  // namespace tern::backend::vulkan

#endif  // TERN_BACKEND_VULKAN_RUNTIME_SPIRV_TOOLS_H_
