// SPDX-License-Identifier: Apache-2.0
//
// The graphs of the plugin's table: streams are captured by HIP.
#ifndef TERN_BACKEND_ROCM_RUNTIME_GRAPH_H_
#define TERN_BACKEND_ROCM_RUNTIME_GRAPH_H_

#include "tern/backend/rocm/runtime/driver.h"

namespace tern::backend::rocm {

int BeginCapture(int32_t device_id, void* stream);
int EndCapture(int32_t device_id, void* stream, void** graph);
int DestroyGraph(int32_t device_id, void* graph);
int InstantiateGraph(int32_t device_id, void* graph, void** executable);
int UpdateGraph(int32_t device_id, void* executable, void* graph);
int LaunchGraph(int32_t device_id, void* executable, void* stream);
int DestroyExecutable(int32_t device_id, void* executable);

// While this lives, calls of this thread that HIP refuses to threads that capture are
// allowed, and no part of a capture.
class BesideCaptures {
 public:
  // Throws where the driver fails. Where `may_fail`, what follows is tried nevertheless: to give
  // something back.
  explicit BesideCaptures(bool may_fail = false);
  ~BesideCaptures();
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  int mode_ = hip::kCaptureRelaxed;
  bool is_exchanged_ = false;
};

}  // namespace tern::backend::rocm

#endif  // TERN_BACKEND_ROCM_RUNTIME_GRAPH_H_
