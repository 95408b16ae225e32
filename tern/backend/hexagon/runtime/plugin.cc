// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/hexagon/runtime/plugin.h"

#include "tern/runtime/plugin_sdk.h"

TERN_PLUGIN(host, registrar) {
  tern::plugin::Check(
      registrar->add_device(registrar, "hexagon", &tern::backend::hexagon::kDeviceApi));
  tern::plugin::Check(
      registrar->add_kernel_loader(registrar, "hexagon", &tern::backend::hexagon::kKernelLoader));
}
