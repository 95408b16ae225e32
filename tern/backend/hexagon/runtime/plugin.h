// SPDX-License-Identifier: Apache-2.0
//
// What the plugin registers.
#ifndef TERN_BACKEND_HEXAGON_RUNTIME_PLUGIN_H_
#define TERN_BACKEND_HEXAGON_RUNTIME_PLUGIN_H_

#include "tern/runtime/plugin_api.h"

namespace tern::backend::hexagon {

extern const TernDeviceApi kDeviceApi;
// Format: "so", a shared object that exports its kernels (codegen/llvm/codegen_hexagon.h).
extern const TernKernelLoader kKernelLoader;

}  // namespace tern::backend::hexagon

#endif  // TERN_BACKEND_HEXAGON_RUNTIME_PLUGIN_H_
