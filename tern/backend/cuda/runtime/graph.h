// SPDX-License-Identifier: Apache-2.0
//
// The graphs of the plugin's table: streams are captured by the driver.
#ifndef TERN_BACKEND_CUDA_RUNTIME_GRAPH_H_
#define TERN_BACKEND_CUDA_RUNTIME_GRAPH_H_

#include "tern/backend/cuda/runtime/driver.h"

namespace tern::backend::cuda {

int BeginCapture(int32_t device_id, void* stream);
int EndCapture(int32_t device_id, void* stream, void** graph);
int DestroyGraph(int32_t device_id, void* graph);
int InstantiateGraph(int32_t device_id, void* graph, void** executable);
int UpdateGraph(int32_t device_id, void* executable, void* graph);
int LaunchGraph(int32_t device_id, void* executable, void* stream);
int DestroyExecutable(int32_t device_id, void* executable);

// While this lives, calls of this thread that the driver refuses to threads that capture are
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
  int mode_ = cu::kCaptureRelaxed;
  bool is_exchanged_ = false;
};

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_RUNTIME_GRAPH_H_
