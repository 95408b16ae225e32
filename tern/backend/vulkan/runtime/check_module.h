// SPDX-License-Identifier: Apache-2.0
//
// Drivers trust what they get: what is no valid SPIR-V ends the process in some of them. So modules
// are checked before.
#ifndef TERN_BACKEND_VULKAN_RUNTIME_CHECK_MODULE_H_
#define TERN_BACKEND_VULKAN_RUNTIME_CHECK_MODULE_H_

#include <cstdint>
#include <span>

namespace tern::backend::vulkan {

// Throws ValueError with the instruction that is wrong. Of a module by Tern (generator 0) all is
// checked that codegen/spirv_builder.h makes: which instructions and numbers there are, that ids
// are defined once and before they are used, types of operands, blocks nested as statements are,
// and that decorations say where memory is. Of a module by another compiler it is the header, the
// length of instructions, and the ids of those that are known here.
void CheckModule(std::span<const uint32_t> words);

}  // namespace tern::backend::vulkan

#endif  // TERN_BACKEND_VULKAN_RUNTIME_CHECK_MODULE_H_
