// SPDX-License-Identifier: Apache-2.0
//
// Temporary memory of compiled functions. Each thread has its own: on the host a stack that grows
// and is kept between calls, on a device pieces that are used again.
#ifndef TERN_RUNTIME_WORKSPACE_H_
#define TERN_RUNTIME_WORKSPACE_H_

#include <cstddef>
#include <cstdint>

#include "tern/ffi/c_abi.h"

namespace tern::runtime {

// Null where there is none: no memory, no such device, a size below 0, an alignment that is no
// power of two.
void* AllocWorkspace(TernDevice device, int64_t bytes, int64_t alignment) noexcept;
// Gives back `memory` and, on the host, all that this thread allocated after it.
void FreeWorkspace(TernDevice device, void* memory) noexcept;

// A call in progress. At its end, whatever was allocated in it is given back: a function that
// returns with an error frees nothing itself.
class WorkspaceFrame {
 public:
  WorkspaceFrame();
  ~WorkspaceFrame();
  WorkspaceFrame(const WorkspaceFrame&) = delete;
  WorkspaceFrame& operator=(const WorkspaceFrame&) = delete;

 private:
  size_t block_, used_, pieces_;  // where the thread's stack, and its pieces in use, began
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_WORKSPACE_H_
