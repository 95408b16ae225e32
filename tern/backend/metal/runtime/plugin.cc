// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/metal/runtime/plugin.h"

#include "tern/runtime/plugin_sdk.h"

TERN_PLUGIN(host, registrar) {
  tern::plugin::Check(registrar->add_device(registrar, "metal", &tern::backend::metal::kDeviceApi));
  tern::plugin::Check(
      registrar->add_kernel_loader(registrar, "metal", &tern::backend::metal::kKernelLoader));
}
