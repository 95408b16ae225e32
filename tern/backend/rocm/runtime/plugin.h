// SPDX-License-Identifier: Apache-2.0
//
// What the plugin registers.
#ifndef TERN_BACKEND_ROCM_RUNTIME_PLUGIN_H_
#define TERN_BACKEND_ROCM_RUNTIME_PLUGIN_H_

#include "tern/runtime/plugin_api.h"

namespace tern::backend::rocm {

extern const TernDeviceApi kDeviceApi;
// Format: "hsaco", a code object.
extern const TernKernelLoader kKernelLoader;

}  // namespace tern::backend::rocm

#endif  // TERN_BACKEND_ROCM_RUNTIME_PLUGIN_H_
