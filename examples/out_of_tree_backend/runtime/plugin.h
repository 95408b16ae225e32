// SPDX-License-Identifier: Apache-2.0
//
// What the plugin registers.
#ifndef EXAMPLES_OUT_OF_TREE_BACKEND_RUNTIME_PLUGIN_H_
#define EXAMPLES_OUT_OF_TREE_BACKEND_RUNTIME_PLUGIN_H_

#include "runtime/machine.h"
#include "tern/runtime/plugin_api.h"

namespace emu {

inline constexpr int32_t kDeviceType = 12;  // DLPack's for extension devices
inline constexpr uint32_t kMaxThreads = 1024;
inline constexpr int64_t kMaxSharedMemory = 65536;

extern const TernDeviceApi kDeviceApi;
extern const TernKernelLoader kKernelLoader;

Memory& DeviceMemory();

}  // namespace emu

#endif  // EXAMPLES_OUT_OF_TREE_BACKEND_RUNTIME_PLUGIN_H_
