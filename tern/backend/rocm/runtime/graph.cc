// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/runtime/graph.h"

namespace tern::backend::rocm {
namespace {

using plugin::Guard;

bool HasGraphs() {
  const hip::Functions& hip = Hip();
  return hip.StreamBeginCapture && hip.StreamEndCapture && hip.ThreadExchangeCaptureMode &&
         hip.GraphInstantiate && hip.GraphExecUpdate && hip.GraphLaunch && hip.GraphExecDestroy &&
         hip.GraphDestroy;
}

hip::Stream AsStream(void* stream) { return static_cast<hip::Stream>(stream); }
hip::Graph AsGraph(void* graph) { return static_cast<hip::Graph>(graph); }
hip::GraphExec AsExec(void* executable) { return static_cast<hip::GraphExec>(executable); }

}  // namespace

// Other threads go on: what they do is none of this thread's captures.
int BeginCapture(int32_t device_id, void* stream) {
  return Guard([&] {
    Current current(device_id);
    if (!HasGraphs())
      TERN_THROW(RuntimeError) << "graphs are not supported by HIP " << Driver::Get().version()
                               << " on rocm:" << device_id << ": it lacks their functions";
    Check(Hip().StreamBeginCapture(AsStream(stream), hip::kCaptureThreadLocal),
          "hipStreamBeginCapture");
  });
}

int EndCapture(int32_t device_id, void* stream, void** out) {
  return Guard([&] {
    Current current(device_id);
    hip::Graph graph = nullptr;
    hip::Result result = Hip().StreamEndCapture(AsStream(stream), &graph);
    if (result != hip::kSuccess && graph) Hip().GraphDestroy(graph);
    Check(result, "hipStreamEndCapture");
    *out = graph;
  });
}

int DestroyGraph(int32_t device_id, void* graph) {
  return Guard([&] {
    Current current(device_id);
    Check(Hip().GraphDestroy(AsGraph(graph)), "hipGraphDestroy");
  });
}

int InstantiateGraph(int32_t device_id, void* graph, void** out) {
  return Guard([&] {
    Current current(device_id);
    hip::GraphExec executable = nullptr;
    Check(Hip().GraphInstantiate(&executable, AsGraph(graph), 0), "hipGraphInstantiateWithFlags");
    *out = executable;
  });
}

int UpdateGraph(int32_t device_id, void* executable, void* graph) {
  return Guard([&] {
    Current current(device_id);
    void* node = nullptr;
    int reason = 0;
    hip::Result result = Hip().GraphExecUpdate(AsExec(executable), AsGraph(graph), &node, &reason);
    if (result == hip::kGraphUpdateFailure)
      TERN_THROW(ValueError) << "hipGraphExecUpdate: the graph has other nodes, or what an update "
                                "cannot change (reason "
                             << reason << ")";
    Check(result, "hipGraphExecUpdate");
  });
}

int LaunchGraph(int32_t device_id, void* executable, void* stream) {
  return Guard([&] {
    Current current(device_id);
    Check(Hip().GraphLaunch(AsExec(executable), AsStream(stream)), "hipGraphLaunch");
  });
}

// HIP keeps it for launches that are under way.
int DestroyExecutable(int32_t device_id, void* executable) {
  return Guard([&] {
    Current current(device_id);
    Check(Hip().GraphExecDestroy(AsExec(executable)), "hipGraphExecDestroy");
  });
}

BesideCaptures::BesideCaptures(bool may_fail) {
  if (!Hip().ThreadExchangeCaptureMode) return;
  hip::Result result = Hip().ThreadExchangeCaptureMode(&mode_);
  is_exchanged_ = result == hip::kSuccess;
  if (!may_fail) Check(result, "hipThreadExchangeStreamCaptureMode");
}
BesideCaptures::~BesideCaptures() {
  // Once more where it fails: later recordings of this thread would miss what they must not do.
  if (is_exchanged_ && Hip().ThreadExchangeCaptureMode(&mode_) != hip::kSuccess)
    Hip().ThreadExchangeCaptureMode(&mode_);
}

}  // namespace tern::backend::rocm
