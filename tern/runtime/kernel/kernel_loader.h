// SPDX-License-Identifier: Apache-2.0
//
// A plugin's kernel loader behind the C table of plugin_api.h.
#ifndef TERN_RUNTIME_KERNEL_KERNEL_LOADER_H_
#define TERN_RUNTIME_KERNEL_KERNEL_LOADER_H_

#include <map>
#include <string>

#include "tern/runtime/plugin/plugin_boundary.h"

namespace tern::runtime {

// The calls check their results and throw what the driver side raised.
class KernelLoader {
 public:
  // The table may be older than ours.
  KernelLoader(std::string kind, const TernKernelLoader* table, DriverRef driver)
      : kind_(std::move(kind)), table_(WholeTable(table)), driver_(std::move(driver)) {}

  // Throws where the driver is a parent's. For callers that take a lock before they call: what
  // another thread held when the process was forked stays locked.
  void CheckProcess() const;
  // A program of a payload, which is blobs by name.
  void* Load(int32_t device_id, const std::string& fmt,
             const std::map<std::string, std::string, std::less<>>& payload) const;
  // A program that a parent has loaded is left to it.
  void Unload(void* program) const noexcept;
  // All kernels of a program are wanted: plugins that compile do so in parallel.
  void Prepare(void* program) const;
  void* GetKernel(void* program, const std::string& name) const;
  // Refuses what the plugin does not know: an older one takes it for a plain launch.
  void Launch(void* kernel, const TernLaunch& launch) const {
    if (uint64_t unknown = launch.flags & ~table_.launch_flags) [[unlikely]]
      Refuse(unknown);
    CallPlugin(kind_, driver_, "launch", table_.launch, kernel, &launch);
  }

 private:
  [[noreturn]] void Refuse(uint64_t flags) const;

  std::string kind_;
  TernKernelLoader table_;
  DriverRef driver_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_KERNEL_KERNEL_LOADER_H_
