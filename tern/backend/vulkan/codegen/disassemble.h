// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_BACKEND_VULKAN_CODEGEN_DISASSEMBLE_H_
#define TERN_BACKEND_VULKAN_CODEGEN_DISASSEMBLE_H_

#include <string>
#include <string_view>

namespace tern::backend::vulkan {

// A module as text, in the syntax of SPIRV-Tools; ids have the names that the module gives them.
// Instructions that are not emitted here are shown by their numbers. Throws ValueError on bytes
// that are no module.
std::string Disassemble(std::string_view bytes);

}  // namespace tern::backend::vulkan

#endif  // TERN_BACKEND_VULKAN_CODEGEN_DISASSEMBLE_H_
