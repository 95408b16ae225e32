// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_HOST_CPU_DEVICE_H_
#define TERN_RUNTIME_HOST_CPU_DEVICE_H_

#include "tern/runtime/plugin_api.h"

namespace tern::runtime {

// The host as a device: the same table that a plugin supplies. Its streams are always idle.
const TernDeviceApi* CpuDeviceApi();

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_HOST_CPU_DEVICE_H_
