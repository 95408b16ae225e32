// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/runtime/plugin.h"

#include "tern/runtime/plugin_sdk.h"

TERN_PLUGIN(host, registrar) {
  tern::plugin::Check(
      registrar->add_device(registrar, "vulkan", &tern::backend::vulkan::kDeviceApi));
  tern::plugin::Check(
      registrar->add_kernel_loader(registrar, "vulkan", &tern::backend::vulkan::kKernelLoader));
}
