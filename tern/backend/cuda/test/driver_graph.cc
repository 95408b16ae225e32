// SPDX-License-Identifier: Apache-2.0
//
// Captured graphs of the stand-in driver.
#include "tern/backend/cuda/test/driver_state.h"

using namespace tern::backend::cuda;
using namespace tern::backend::cuda::standin;

namespace {

Graph* CheckGraph(Driver& driver, cu::Graph handle) {
  auto* graph = reinterpret_cast<Graph*>(handle);
  if (driver.graphs.contains(graph)) return graph;
  Misuse(kErrorInvalidHandle, "the graph is not one, or was destroyed");
  return nullptr;
}

GraphExec* CheckExec(Driver& driver, Context* context, cu::GraphExec handle) {
  auto* exec = reinterpret_cast<GraphExec*>(handle);
  if (!driver.graph_execs.contains(exec)) {
    Misuse(kErrorInvalidHandle, "the executable graph is not one, or was destroyed");
    return nullptr;
  }
  if (exec->device == context->device) return exec;
  Misuse(kErrorInvalidHandle, "the executable graph is of another device than the current context");
  return nullptr;
}

}  // namespace

TERN_STANDIN_API cuStreamBeginCapture_v2(cu::Stream handle, int mode) {
  return Call("cuStreamBeginCapture", kInit | kCurrent, [&](Driver& driver, Context* context) {
    Stream* stream = CheckStream(driver, context, handle);
    if (!handle || !stream || stream->capture)
      return Misuse(kErrorCaptureUnsupported, "the stream is the default one, or captured already");
    if (mode < 0 || mode > cu::kCaptureRelaxed)
      return Misuse(kErrorInvalidValue, "mode " + std::to_string(mode) + " is not known");
    driver.Drain(*stream);
    stream->capture = new Graph;
    stream->capture_mode = mode;
    stream->capture_thread = std::this_thread::get_id();
    stream->capture_is_broken = false;
    return 0;
  });
}

TERN_STANDIN_API cuStreamEndCapture(cu::Stream handle, cu::Graph* out) {
  return Call(
      "cuStreamEndCapture", kInit | kCurrent | kDoneAnyway, [&](Driver& driver, Context* context) {
        Stream* stream = CheckStream(driver, context, handle);
        if (!stream || !stream->capture)
          return Misuse(kErrorInvalidValue, "the stream is not captured");
        if (stream->capture_mode != cu::kCaptureRelaxed &&
            stream->capture_thread != std::this_thread::get_id())
          return Misuse(kErrorCaptureUnsupported, "another thread began the capture");
        std::unique_ptr<Graph> captured(stream->capture);
        stream->capture = nullptr;
        *out = nullptr;
        if (stream->capture_is_broken)
          return Refuse(kErrorCaptureInvalidated,
                        "a call that is not allowed was made while the stream was captured");
        driver.graphs.insert(captured.get());
        *out = reinterpret_cast<cu::Graph>(captured.release());
        return 0;
      });
}

TERN_STANDIN_API cuThreadExchangeStreamCaptureMode(int* mode) {
  return Call("cuThreadExchangeStreamCaptureMode", kInit, [&](Driver&, Context*) {
    if (!mode || *mode < 0 || *mode > cu::kCaptureRelaxed)
      return Misuse(kErrorInvalidValue, "no such mode");
    std::swap(*mode, CaptureModeOfThread());
    return 0;
  });
}

TERN_STANDIN_API cuGraphInstantiateWithFlags(cu::GraphExec* out, cu::Graph handle,
                                             unsigned long long flags) {
  return Call("cuGraphInstantiateWithFlags", kInit | kCurrent,
              [&](Driver& driver, Context* context) {
                Graph* graph = CheckGraph(driver, handle);
                if (!graph) return int{kErrorInvalidHandle};
                if (!out || flags != 0) return Misuse(kErrorInvalidValue, "unknown flags");
                auto* exec = new GraphExec{context->device, graph->nodes};
                driver.graph_execs.insert(exec);
                *out = reinterpret_cast<cu::GraphExec>(exec);
                return 0;
              });
}

TERN_STANDIN_API cuGraphExecUpdate_v2(cu::GraphExec exec_handle, cu::Graph graph_handle,
                                      cu::GraphUpdateInfo* info) {
  return Call("cuGraphExecUpdate", kInit | kCurrent, [&](Driver& driver, Context* context) {
    GraphExec* exec = CheckExec(driver, context, exec_handle);
    Graph* graph = CheckGraph(driver, graph_handle);
    if (!exec || !graph) return int{kErrorInvalidHandle};
    constexpr int kTopologyChanged = 2, kNodeTypeChanged = 3;
    bool is_same_size = exec->nodes.size() == graph->nodes.size(), is_same = is_same_size;
    for (size_t i = 0; is_same && i < graph->nodes.size(); ++i)
      is_same = exec->nodes[i].kind == graph->nodes[i].kind;
    *info = {is_same ? 0 : is_same_size ? kNodeTypeChanged : kTopologyChanged, nullptr, nullptr};
    if (!is_same) return Refuse(kErrorGraphUpdateFailure, "the graphs have other nodes");
    exec->nodes = graph->nodes;
    return 0;
  });
}

TERN_STANDIN_API cuGraphLaunch(cu::GraphExec handle, cu::Stream stream_handle) {
  return Call("cuGraphLaunch", kInit | kCurrent, [&](Driver& driver, Context* context) {
    GraphExec* exec = CheckExec(driver, context, handle);
    Stream* stream = CheckStream(driver, context, stream_handle);
    if (!stream || !exec) return int{kErrorInvalidHandle};
    for (const Node& node : exec->nodes) driver.Enqueue(*stream, node.kind, node.work);
    return 0;
  });
}

TERN_STANDIN_API cuGraphExecDestroy(cu::GraphExec handle) {
  return Call("cuGraphExecDestroy", kInit | kCurrent, [&](Driver& driver, Context* context) {
    GraphExec* exec = CheckExec(driver, context, handle);
    if (!exec) return int{kErrorInvalidHandle};
    driver.graph_execs.erase(exec);
    delete exec;
    return 0;
  });
}

TERN_STANDIN_API cuGraphDestroy(cu::Graph handle) {
  return Call("cuGraphDestroy", kInit, [&](Driver& driver, Context*) {
    Graph* graph = CheckGraph(driver, handle);
    if (!graph) return int{kErrorInvalidHandle};
    driver.graphs.erase(graph);
    delete graph;
    return 0;
  });
}

// For tests: how many graphs of either kind there are.
TERN_STANDIN_API tern_standin_graphs() {
  return Call("tern_standin_graphs", kNothing, [](Driver& driver, Context*) {
    return static_cast<int>(driver.graphs.size() + driver.graph_execs.size());
  });
}
