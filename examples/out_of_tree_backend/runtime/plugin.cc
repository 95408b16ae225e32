// SPDX-License-Identifier: Apache-2.0
#include "runtime/plugin.h"

#include "tern/runtime/plugin_sdk.h"

TERN_PLUGIN(host, registrar) {
  using tern::plugin::Check;
  Check(registrar->add_device(registrar, "emu", &emu::kDeviceApi));
  Check(registrar->add_kernel_loader(registrar, "emu", &emu::kKernelLoader));
}
