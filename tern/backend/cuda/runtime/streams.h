// SPDX-License-Identifier: Apache-2.0
//
// The streams, events and graphs of the plugin's table.
#ifndef TERN_BACKEND_CUDA_RUNTIME_STREAMS_H_
#define TERN_BACKEND_CUDA_RUNTIME_STREAMS_H_

#include "tern/backend/cuda/runtime/driver.h"
#include "tern/runtime/stream_table.h"

namespace tern::backend::cuda {

struct StreamApi {
  using Result = cu::Result;
  using Stream = cu::Stream;
  using Event = cu::Event;
  using Graph = cu::Graph;
  using GraphExec = cu::GraphExec;
  using Current = cuda::Current;

  static constexpr const char* kPrefix = "cu";
  static constexpr Result kSuccess = cu::kSuccess, kInvalidHandle = cu::kInvalidHandle,
                          kGraphUpdateFailure = cu::kGraphUpdateFailure;
  static constexpr unsigned kStreamNonBlocking = cu::kStreamNonBlocking;
  static constexpr int kCaptureThreadLocal = cu::kCaptureThreadLocal,
                       kCaptureRelaxed = cu::kCaptureRelaxed;

  static const cu::Functions& functions() { return Cu(); }
  static void Check(Result result, const char* call) {
    if (result != kSuccess) cuda::Check(result, (std::string(kPrefix) + call).c_str());
  }
  static cu::Result EventCreate(Event* event) { return Cu().EventCreate(event, cu::kEventDefault); }
  static cu::Result GraphExecUpdate(GraphExec executable, Graph graph, int* reason) {
    cu::GraphUpdateInfo info{};
    cu::Result result = Cu().GraphExecUpdate(executable, graph, &info);
    *reason = static_cast<int>(info.result);
    return result;
  }
  static std::string WhyNoGraphs(int32_t device) {
    return "graphs are not supported by driver " + Driver::Get().version() +
           " of cuda:" + std::to_string(device) + "; 12.0 and later have them";
  }
};
using Streams = plugin::StreamTable<StreamApi>;
using BesideCaptures = Streams::BesideCaptures;

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_RUNTIME_STREAMS_H_
