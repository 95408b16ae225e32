// SPDX-License-Identifier: Apache-2.0
//
// The one module class of all device kinds. With a plugin's kernel loader it runs; without, it is
// the fallback: same kind, same bytes, same sources, and a GetFunction that says which file is
// missing.
#ifndef TERN_RUNTIME_KERNEL_DEVICE_MODULE_H_
#define TERN_RUNTIME_KERNEL_DEVICE_MODULE_H_

#include <string>
#include <string_view>

#include "tern/ffi/module.h"
#include "tern/runtime/kernel/device_artifact.h"
#include "tern/runtime/kernel/kernel_loader.h"

namespace tern::runtime {

// For code generators: `ffi.Module.create.<kind>`, after trying the kind's plugin; the fallback
// where there is none or TERN_FORCE_FALLBACK=1. Compiles and probes nothing.
ffi::Module CreateDeviceModule(DeviceArtifact artifact);

// For loaders: a module of saved bytes. It looks for the plugin at the first GetFunction, and
// throws there if it is absent.
ffi::Module LoadDeviceModule(std::string kind, std::string_view bytes);

// Makes the programs and kernels of a module and of its imports for that device, as far as they are
// not there: the first launches compile nothing then, and can be recorded (graph.h). Modules for
// other devices, and without a plugin, are left alone.
void LoadKernels(const ffi::Module& module, TernDevice device);
// The part of it that takes long: plugins that compile kernels do so for all of them, in parallel.
void PrepareKernels(const ffi::Module& module, TernDevice device);

// For the plugin loader: makes `ffi.Module.create.<kind>` and `ffi.Module.load_from_bytes.<kind>`.
// A function of either name that is already there stays: a backend may bring its own.
void RegisterKernelLoader(const std::string& kind, const TernKernelLoader* loader,
                          DriverRef driver);
void UnregisterKernelLoader(const std::string& kind);
// Null where no loaded plugin has one.
const KernelLoader* FindKernelLoader(std::string_view kind);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_KERNEL_DEVICE_MODULE_H_
