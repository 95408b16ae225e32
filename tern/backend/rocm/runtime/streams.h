// SPDX-License-Identifier: Apache-2.0
//
// The streams, events and graphs of the plugin's table.
#ifndef TERN_BACKEND_ROCM_RUNTIME_STREAMS_H_
#define TERN_BACKEND_ROCM_RUNTIME_STREAMS_H_

#include "tern/backend/rocm/runtime/driver.h"
#include "tern/runtime/stream_table.h"

namespace tern::backend::rocm {

struct StreamApi {
  using Result = hip::Result;
  using Stream = hip::Stream;
  using Event = hip::Event;
  using Graph = hip::Graph;
  using GraphExec = hip::GraphExec;
  using Current = rocm::Current;

  static constexpr const char* kPrefix = "hip";
  static constexpr Result kSuccess = hip::kSuccess, kInvalidHandle = hip::kInvalidHandle,
                          kGraphUpdateFailure = hip::kGraphUpdateFailure;
  static constexpr unsigned kStreamNonBlocking = hip::kStreamNonBlocking;
  static constexpr int kCaptureThreadLocal = hip::kCaptureThreadLocal,
                       kCaptureRelaxed = hip::kCaptureRelaxed;

  static const hip::Functions& functions() { return Hip(); }
  static void Check(Result result, const char* call) {
    if (result != kSuccess) rocm::Check(result, (std::string(kPrefix) + call).c_str());
  }
  static hip::Result EventCreate(Event* event) { return Hip().EventCreate(event); }
  static hip::Result GraphExecUpdate(GraphExec executable, Graph graph, int* reason) {
    void* node = nullptr;
    return Hip().GraphExecUpdate(executable, graph, &node, reason);
  }
  static std::string WhyNoGraphs(int32_t device) {
    return "graphs are not supported by HIP " + Driver::Get().version() +
           " on rocm:" + std::to_string(device) + ": it lacks their functions";
  }
};
using Streams = plugin::StreamTable<StreamApi>;
using BesideCaptures = Streams::BesideCaptures;

}  // namespace tern::backend::rocm

#endif  // TERN_BACKEND_ROCM_RUNTIME_STREAMS_H_
