// SPDX-License-Identifier: Apache-2.0
//
// What the plugin registers.
#ifndef TERN_BACKEND_CUDA_RUNTIME_PLUGIN_H_
#define TERN_BACKEND_CUDA_RUNTIME_PLUGIN_H_

#include "tern/runtime/plugin_api.h"

namespace tern::backend::cuda {

extern const TernDeviceApi kDeviceApi;
// Formats: "cuda", CUDA C++ source; "ptx"; "cubin".
extern const TernKernelLoader kKernelLoader;

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_RUNTIME_PLUGIN_H_
