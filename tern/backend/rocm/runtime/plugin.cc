// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/runtime/plugin.h"

#include "tern/runtime/plugin_sdk.h"

TERN_PLUGIN(host, registrar) {
  tern::plugin::Check(registrar->add_device(registrar, "rocm", &tern::backend::rocm::kDeviceApi));
  tern::plugin::Check(
      registrar->add_kernel_loader(registrar, "rocm", &tern::backend::rocm::kKernelLoader));
}
