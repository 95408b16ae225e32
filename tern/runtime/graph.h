// SPDX-License-Identifier: Apache-2.0
//
// Graphs: what is given to a stream is recorded once, and done again by one call to the driver.
//
//   LoadKernels(module, device);     // a first launch compiles, which cannot be recorded
//   Capture capture(device, stream);
//   f(a, b);                         // whatever launches kernels and copies: recorded, not done
//   Graph graph(capture);
//   graph.Launch();                  // on this thread's current stream, as often as wanted
//
// A graph has the addresses of the memory that was in use when it was recorded, and the kernels:
// tensors and modules live as long as it may be launched. Temporary memory of compiled functions is
// the graph's own.
#ifndef TERN_RUNTIME_GRAPH_H_
#define TERN_RUNTIME_GRAPH_H_

#include <memory>
#include <thread>

#include "tern/runtime/host/workspace.h"
#include "tern/runtime/stream.h"

namespace tern::runtime {

// While this lives, what this thread gives to the stream is recorded; the stream is the thread's
// current one. A thread records one stream at a time. Without a graph that ends it, nothing becomes
// of it.
class Capture {
 public:
  // Throws where the device has no graphs, and for a default stream.
  Capture(TernDevice device, void* stream);
  explicit Capture(const Stream& stream) : Capture(stream.device(), stream.handle()) {}
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  TernDevice device() const { return device_; }

 private:
  friend class Graph;

  // Once, by the thread that began it. Throws where something could not be recorded.
  void* End();
  // The stream before is current again.
  void Leave();

  const DeviceKind& kind_;
  TernDevice device_;
  void* stream_;
  void* before_ = nullptr;
  std::thread::id thread_;
  std::shared_ptr<DeviceWorkspace> workspace_;
  DeviceWorkspace* workspace_before_ = nullptr;
  bool is_recording_ = false;
};

class Graph {
 public:
  // Ends the recording. Throws where something could not be recorded.
  explicit Graph(Capture& capture);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  TernDevice device() const { return device_; }
  // On this thread's current stream.
  void Launch() const;
  // Ends the recording, and launches do from now on what it has: the same kernels and copies in the
  // same order, with other arguments. A ValueError where it has others; the graph is as before
  // then.
  void Update(Capture& capture);
  // What the destructor does, with an error where it fails.
  void Destroy();

 private:
  const DeviceKind& kind_;
  TernDevice device_;
  std::shared_ptr<DeviceWorkspace> workspace_;
  void* executable_ = nullptr;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_GRAPH_H_
