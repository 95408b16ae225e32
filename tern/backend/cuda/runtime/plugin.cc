// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/runtime/plugin.h"

#include "tern/runtime/plugin_sdk.h"

TERN_PLUGIN(host, registrar) {
  tern::plugin::Check(registrar->add_device(registrar, "cuda", &tern::backend::cuda::kDeviceApi));
  tern::plugin::Check(
      registrar->add_kernel_loader(registrar, "cuda", &tern::backend::cuda::kKernelLoader));
}
