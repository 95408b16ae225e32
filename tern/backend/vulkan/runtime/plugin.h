// SPDX-License-Identifier: Apache-2.0
//
// What the plugin registers.
#ifndef TERN_BACKEND_VULKAN_RUNTIME_PLUGIN_H_
#define TERN_BACKEND_VULKAN_RUNTIME_PLUGIN_H_

#include "tern/runtime/plugin_api.h"

namespace tern::backend::vulkan {

extern const TernDeviceApi kDeviceApi;
// Format: "spv", SPIR-V modules as shader.h says.
extern const TernKernelLoader kKernelLoader;

// The stream, if it is not null, was given work that is done at that value of the timeline.
void NoteSubmission(void* stream, uint64_t value);

}  // namespace tern::backend::vulkan

#endif  // TERN_BACKEND_VULKAN_RUNTIME_PLUGIN_H_
