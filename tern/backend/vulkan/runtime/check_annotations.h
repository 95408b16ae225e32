// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_BACKEND_VULKAN_RUNTIME_CHECK_ANNOTATIONS_H_
#define TERN_BACKEND_VULKAN_RUNTIME_CHECK_ANNOTATIONS_H_

#include "tern/backend/vulkan/runtime/module_reader.h"

namespace tern::backend::vulkan {

// Throws ValueError where what a module by Tern says of its ids is wrong: there is one memory
// model, entry point and size of thread blocks, decorations are of what they belong to, and all
// memory has a binding and a layout.
void CheckAnnotations(const Module& module);

}  // namespace tern::backend::vulkan

#endif  // TERN_BACKEND_VULKAN_RUNTIME_CHECK_ANNOTATIONS_H_
