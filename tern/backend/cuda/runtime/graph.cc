// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/runtime/graph.h"

namespace tern::backend::cuda {
namespace {

using plugin::Guard;

bool HasGraphs() {
  const cu::Functions& cu = Cu();
  return cu.StreamBeginCapture && cu.StreamEndCapture && cu.ThreadExchangeCaptureMode &&
         cu.GraphInstantiate && cu.GraphExecUpdate && cu.GraphLaunch && cu.GraphExecDestroy &&
         cu.GraphDestroy;
}

cu::Stream AsStream(void* stream) { return static_cast<cu::Stream>(stream); }
cu::Graph AsGraph(void* graph) { return static_cast<cu::Graph>(graph); }
cu::GraphExec AsExec(void* executable) { return static_cast<cu::GraphExec>(executable); }

}  // namespace

// Other threads go on: what they do is none of this thread's captures.
int BeginCapture(int32_t device_id, void* stream) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    if (!HasGraphs())
      TERN_THROW(RuntimeError) << "graphs are not supported by driver " << Driver::Get().version()
                               << " of cuda:" << device_id << "; 12.0 and later have them";
    Current current(device);
    Check(Cu().StreamBeginCapture(AsStream(stream), cu::kCaptureThreadLocal),
          "cuStreamBeginCapture");
  });
}

int EndCapture(int32_t device_id, void* stream, void** out) {
  return Guard([&] {
    Current current(Driver::Get().device(device_id));
    cu::Graph graph = nullptr;
    cu::Result result = Cu().StreamEndCapture(AsStream(stream), &graph);
    if (result != cu::kSuccess && graph) Cu().GraphDestroy(graph);
    Check(result, "cuStreamEndCapture");
    *out = graph;
  });
}

int DestroyGraph(int32_t device_id, void* graph) {
  return Guard([&] {
    Current current(Driver::Get().device(device_id));
    Check(Cu().GraphDestroy(AsGraph(graph)), "cuGraphDestroy");
  });
}

int InstantiateGraph(int32_t device_id, void* graph, void** out) {
  return Guard([&] {
    Current current(Driver::Get().device(device_id));
    cu::GraphExec executable = nullptr;
    Check(Cu().GraphInstantiate(&executable, AsGraph(graph), 0), "cuGraphInstantiateWithFlags");
    *out = executable;
  });
}

int UpdateGraph(int32_t device_id, void* executable, void* graph) {
  return Guard([&] {
    Current current(Driver::Get().device(device_id));
    cu::GraphUpdateInfo info{};
    cu::Result result = Cu().GraphExecUpdate(AsExec(executable), AsGraph(graph), &info);
    if (result == cu::kGraphUpdateFailure)
      TERN_THROW(ValueError) << "cuGraphExecUpdate: the graph has other nodes, or what an update "
                                "cannot change (reason "
                             << info.result << ")";
    Check(result, "cuGraphExecUpdate");
  });
}

int LaunchGraph(int32_t device_id, void* executable, void* stream) {
  return Guard([&] {
    Current current(Driver::Get().device(device_id));
    Check(Cu().GraphLaunch(AsExec(executable), AsStream(stream)), "cuGraphLaunch");
  });
}

// The driver keeps it for launches that are under way.
int DestroyExecutable(int32_t device_id, void* executable) {
  return Guard([&] {
    Current current(Driver::Get().device(device_id));
    Check(Cu().GraphExecDestroy(AsExec(executable)), "cuGraphExecDestroy");
  });
}

BesideCaptures::BesideCaptures(bool may_fail) {
  if (!Cu().ThreadExchangeCaptureMode) return;
  cu::Result result = Cu().ThreadExchangeCaptureMode(&mode_);
  is_exchanged_ = result == cu::kSuccess;
  if (!may_fail) Check(result, "cuThreadExchangeStreamCaptureMode");
}
BesideCaptures::~BesideCaptures() {
  // Once more where it fails: later recordings of this thread would miss what they must not do.
  if (is_exchanged_ && Cu().ThreadExchangeCaptureMode(&mode_) != cu::kSuccess)
    Cu().ThreadExchangeCaptureMode(&mode_);
}

}  // namespace tern::backend::cuda
