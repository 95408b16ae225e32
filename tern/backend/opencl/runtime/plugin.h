// SPDX-License-Identifier: Apache-2.0
//
// What the plugin registers.
#ifndef TERN_BACKEND_OPENCL_RUNTIME_PLUGIN_H_
#define TERN_BACKEND_OPENCL_RUNTIME_PLUGIN_H_

#include "tern/runtime/plugin_api.h"

namespace tern::backend::opencl {

extern const TernDeviceApi kDeviceApi;
// Formats: "cl", OpenCL C source; "clbin", a program binary of the very device it runs on;
// "xclbin", "awsxclbin" and "aocx", those of FPGAs.
extern const TernKernelLoader kKernelLoader;

}  // namespace tern::backend::opencl

#endif  // TERN_BACKEND_OPENCL_RUNTIME_PLUGIN_H_
