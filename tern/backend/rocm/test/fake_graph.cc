// SPDX-License-Identifier: Apache-2.0
//
// Captured graphs of the fake HIP.
#include "tern/backend/rocm/test/fake_hip.h"
#include "tern/runtime/test_standin/thread_state.h"

#define TERN_FAKE extern "C" __attribute__((visibility("default"))) tern::backend::rocm::hip::Result

namespace tern::backend::rocm::test {
namespace {

struct ThreadMode {
  int mode = 0;
};
int& ModeOfThread() { return tern::standin::ThreadState<ThreadMode>().mode; }

}  // namespace

void Give(FakeHip& driver, hip::Stream stream, NodeKind kind, const Work& work) {
  LiveStream* live = stream ? &Live(driver.streams, stream, "stream") : nullptr;
  if (live && live->capture)
    live->capture->nodes.push_back({kind, work});
  else
    work();
}

void CheckNotCapturing(FakeHip& driver) {
  if (ModeOfThread() == hip::kCaptureRelaxed) return;
  bool is_capturing = false;
  for (const auto& [handle, stream] : driver.streams)
    if (stream->capture && stream->capture_thread == std::this_thread::get_id())
      is_capturing = stream->capture_is_broken = true;
  TERN_CHECK(!is_capturing) << "not allowed while a stream is captured";
}

}  // namespace tern::backend::rocm::test

using namespace tern::backend::rocm;        // NOLINT
using namespace tern::backend::rocm::test;  // NOLINT

TERN_FAKE hipStreamBeginCapture(hip::Stream handle, int mode) {
  return Call("hipStreamBeginCapture", [&](FakeHip& driver) {
    TERN_CHECK(handle) << "the default stream is not captured";
    LiveStream& stream = Live(driver.streams, handle, "stream");
    TERN_CHECK(!stream.capture) << "the stream is captured already";
    TERN_CHECK(mode == hip::kCaptureThreadLocal) << "mode " << mode << " is not known here";
    stream.capture = std::make_unique<LiveGraph>();
    stream.capture_thread = std::this_thread::get_id();
    stream.capture_is_broken = false;
    return hip::kSuccess;
  });
}

TERN_FAKE hipStreamEndCapture(hip::Stream handle, hip::Graph* out) {
  return Call("hipStreamEndCapture", [&](FakeHip& driver) {
    LiveStream& stream = Live(driver.streams, handle, "stream");
    TERN_CHECK(stream.capture) << "the stream is not captured";
    TERN_CHECK(stream.capture_thread == std::this_thread::get_id())
        << "another thread began the capture";
    std::unique_ptr<LiveGraph> captured = std::move(stream.capture);
    *out = nullptr;
    TERN_CHECK(!stream.capture_is_broken)
        << "a call that is not allowed was made while the stream was captured";
    Keep(&driver.graphs, std::move(*captured), out);
    return hip::kSuccess;
  });
}

TERN_FAKE hipThreadExchangeStreamCaptureMode(int* mode) {
  return Call("hipThreadExchangeStreamCaptureMode", [&](FakeHip&) {
    TERN_CHECK(*mode >= 0 && *mode <= hip::kCaptureRelaxed) << "no such mode";
    std::swap(*mode, ModeOfThread());
    return hip::kSuccess;
  });
}

TERN_FAKE hipGraphInstantiateWithFlags(hip::GraphExec* out, hip::Graph handle,
                                       unsigned long long flags) {
  return Call("hipGraphInstantiateWithFlags", [&](FakeHip& driver) {
    const LiveGraph& graph = Live(driver.graphs, handle, "graph");
    TERN_CHECK(flags == 0) << "unknown flags";
    Keep(&driver.graph_execs, LiveGraphExec{CurrentDevice(), graph.nodes}, out);
    return hip::kSuccess;
  });
}

TERN_FAKE hipGraphExecUpdate(hip::GraphExec exec_handle, hip::Graph graph_handle, void** node,
                             int* result) {
  return Call("hipGraphExecUpdate", [&](FakeHip& driver) {
    LiveGraphExec& exec = Live(driver.graph_execs, exec_handle, "executable graph");
    const LiveGraph& graph = Live(driver.graphs, graph_handle, "graph");
    constexpr int kTopologyChanged = 2, kNodeTypeChanged = 3;
    bool is_same_size = exec.nodes.size() == graph.nodes.size(), is_same = is_same_size;
    for (size_t i = 0; is_same && i < graph.nodes.size(); ++i)
      is_same = exec.nodes[i].kind == graph.nodes[i].kind;
    *node = nullptr;
    *result = is_same ? 0 : is_same_size ? kNodeTypeChanged : kTopologyChanged;
    if (!is_same) return hip::kGraphUpdateFailure;
    exec.nodes = graph.nodes;
    return hip::kSuccess;
  });
}

TERN_FAKE hipGraphLaunch(hip::GraphExec handle, hip::Stream stream) {
  return Call("hipGraphLaunch", [&](FakeHip& driver) {
    const LiveGraphExec& exec = Live(driver.graph_execs, handle, "executable graph");
    for (const Node& node : exec.nodes) Give(driver, stream, node.kind, node.work);
    return hip::kSuccess;
  });
}

TERN_FAKE hipGraphExecDestroy(hip::GraphExec handle) {
  return Call("hipGraphExecDestroy", [&](FakeHip& driver) {
    Live(driver.graph_execs, handle, "executable graph");
    driver.graph_execs.erase(handle);
    return hip::kSuccess;
  });
}

TERN_FAKE hipGraphDestroy(hip::Graph handle) {
  return Call("hipGraphDestroy", [&](FakeHip& driver) {
    Live(driver.graphs, handle, "graph");
    driver.graphs.erase(handle);
    return hip::kSuccess;
  });
}

// ---- For tests.

// The next call of a function fails.
extern "C" __attribute__((visibility("default"))) void tern_standin_fail(const char* function);
extern "C" void tern_standin_fail(const char* function) {
  FakeHip& driver = FakeHip::Get();
  std::scoped_lock lock(driver.mutex);
  driver.to_fail = function;
}

// How many graphs of either kind there are.
extern "C" __attribute__((visibility("default"))) int tern_standin_graphs();
extern "C" int tern_standin_graphs() {
  FakeHip& driver = FakeHip::Get();
  std::scoped_lock lock(driver.mutex);
  return static_cast<int>(driver.graphs.size() + driver.graph_execs.size());
}
