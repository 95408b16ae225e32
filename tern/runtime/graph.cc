// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/graph.h"

namespace tern::runtime {
namespace {

// For destructors: a device that was lost has no graphs either.
template <class F>
void Quietly(F&& f) {
  try {
    f();
  } catch (const Error&) {
  }
}

// What a recording gave, until an executable has been made of it.
class Recorded {
 public:
  Recorded(const DeviceKind& kind, TernDevice device, void* graph)
      : kind_(kind), device_(device), graph_(graph) {}
  Recorded(const Recorded&) = delete;
  ~Recorded() {
    if (graph_) Quietly([&] { Destroy(); });
  }

  void* handle() const { return graph_; }
  void Destroy() {
    kind_.DestroyGraph(device_.id, graph_);
    graph_ = nullptr;
  }

 private:
  const DeviceKind& kind_;
  TernDevice device_;
  void* graph_;
};

thread_local bool is_capturing = false;

}  // namespace

Capture::Capture(TernDevice device, void* stream)
    : kind_(GetDeviceKind(device.type)),
      device_(device),
      stream_(stream),
      thread_(std::this_thread::get_id()),
      workspace_(MakeDeviceWorkspace()) {
  TERN_CHECK(!is_capturing) << "this thread records a stream already; end that first";
  kind_.BeginCapture(device_.id, stream_);
  is_capturing = is_recording_ = true;
  before_ = SetCurrentStream(device_, stream_);
  workspace_before_ = UseDeviceWorkspace(workspace_.get());
}

Capture::~Capture() {
  // On another thread it stays: that thread's state is out of reach.
  if (is_recording_ && thread_ == std::this_thread::get_id())
    Quietly([&] { Recorded(kind_, device_, End()); });
}

void Capture::Leave() {
  is_capturing = is_recording_ = false;
  SetCurrentStream(device_, before_);
  UseDeviceWorkspace(workspace_before_);
}

void* Capture::End() {
  TERN_CHECK(is_recording_) << "the recording has ended already";
  TERN_CHECK(thread_ == std::this_thread::get_id())
      << "a recording is ended by the thread that began it";
  Leave();
  return kind_.EndCapture(device_.id, stream_);
}

Graph::Graph(Capture& capture)
    : kind_(capture.kind_), device_(capture.device_), workspace_(capture.workspace_) {
  Recorded recorded(kind_, device_, capture.End());
  executable_ = kind_.InstantiateGraph(device_.id, recorded.handle());
  try {
    recorded.Destroy();
  } catch (const Error&) {
    Quietly([&] { Destroy(); });
    throw;
  }
}

Graph::~Graph() {
  if (executable_) Quietly([&] { Destroy(); });
}

void Graph::Destroy() {
  if (!executable_) return;
  kind_.DestroyExecutable(device_.id, executable_);
  executable_ = nullptr;
}

void Graph::Launch() const {
  TERN_CHECK(executable_) << "the graph has been destroyed";
  kind_.LaunchGraph(device_.id, executable_, CurrentStream(device_));
}

void Graph::Update(Capture& capture) {
  TERN_CHECK(executable_) << "the graph has been destroyed";
  TERN_CHECK(capture.device_.type == device_.type && capture.device_.id == device_.id)
      << "a graph of " << DeviceName(device_) << " cannot become what was recorded on "
      << DeviceName(capture.device_);
  Recorded recorded(kind_, device_, capture.End());
  kind_.UpdateGraph(device_.id, executable_, recorded.handle());
  workspace_ = capture.workspace_;
  recorded.Destroy();
}

}  // namespace tern::runtime
