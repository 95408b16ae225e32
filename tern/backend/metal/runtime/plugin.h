// SPDX-License-Identifier: Apache-2.0
//
// What the plugin registers.
#ifndef TERN_BACKEND_METAL_RUNTIME_PLUGIN_H_
#define TERN_BACKEND_METAL_RUNTIME_PLUGIN_H_

#include "tern/runtime/plugin_api.h"

namespace tern::backend::metal {

extern const TernDeviceApi kDeviceApi;
// Formats: "metal", source in the Metal Shading Language; "metallib", what its compiler makes.
extern const TernKernelLoader kKernelLoader;

}  // namespace tern::backend::metal

#endif  // TERN_BACKEND_METAL_RUNTIME_PLUGIN_H_
