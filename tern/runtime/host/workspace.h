// SPDX-License-Identifier: Apache-2.0
//
// Temporary memory of compiled functions. Each thread has its own: on the host a stack that grows
// and is kept between calls, on a device pieces that are used again.
#ifndef TERN_RUNTIME_HOST_WORKSPACE_H_
#define TERN_RUNTIME_HOST_WORKSPACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tern/ffi/c_abi.h"

namespace tern::runtime {

// Null where there is none: no memory, no such device, a size below 0, an alignment that is no
// power of two.
void* AllocWorkspace(TernDevice device, int64_t bytes, int64_t alignment) noexcept;
// Gives back `memory` and, on the host, all that this thread allocated after it.
void FreeWorkspace(TernDevice device, void* memory) noexcept;

// Memory of devices that functions take from it while it is in use; it keeps the memory as long as
// it lives.
class DeviceWorkspace;
std::shared_ptr<DeviceWorkspace> MakeDeviceWorkspace();
// From now on functions that this thread calls take memory of devices from there; null: from the
// thread's own. Returns what it was before.
DeviceWorkspace* UseDeviceWorkspace(DeviceWorkspace* workspace);

// A call in progress. At its end, whatever was allocated in it is given back: a function that
// returns with an error frees nothing itself.
class WorkspaceFrame {
 public:
  WorkspaceFrame();
  ~WorkspaceFrame();
  WorkspaceFrame(const WorkspaceFrame&) = delete;
  WorkspaceFrame& operator=(const WorkspaceFrame&) = delete;

 private:
  struct ThreadWorkspace* thread_;
  DeviceWorkspace* pieces_;
  size_t block_, used_, in_use_;  // where the thread's stack, and the pieces in use, began
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_HOST_WORKSPACE_H_
