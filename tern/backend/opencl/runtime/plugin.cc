// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/opencl/runtime/plugin.h"

#include "tern/runtime/plugin_sdk.h"

TERN_PLUGIN(host, registrar) {
  tern::plugin::Check(
      registrar->add_device(registrar, "opencl", &tern::backend::opencl::kDeviceApi));
  tern::plugin::Check(
      registrar->add_kernel_loader(registrar, "opencl", &tern::backend::opencl::kKernelLoader));
}
