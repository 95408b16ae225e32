// SPDX-License-Identifier: Apache-2.0
//
// A libamdhip64.so for tests: memory of "devices" is this machine's, kernels are interpreted from
// the text that their code objects carry (-embed_tir), and every call is checked: that HIP was
// initialised, that handles are alive and of the current device, that copies stay inside of memory
// and go where they say, that launches are what the code object's metadata and the kernel say.
//
//   TERN_STANDIN_DEVICES    how many devices there are (1)
//   TERN_STANDIN_ROCM_ARCH  what they take code for (gfx90a)
#ifndef TERN_BACKEND_ROCM_TEST_FAKE_HIP_H_
#define TERN_BACKEND_ROCM_TEST_FAKE_HIP_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tern/backend/rocm/runtime/hip_abi.h"
#include "tern/backend/rocm/test/code_object.h"
#include "tern/ffi/error.h"
#include "tern/ir/module.h"

namespace tern::backend::rocm::test {

struct LoadedModule {
  int device;
  CodeObject object;
  ir::IRModule text;
};

struct LoadedFunction {
  const LoadedModule* module;
  std::string name;
};

struct Allocation {
  int device;
  uint64_t bytes;
  std::unique_ptr<char[]> memory;
};

using Work = std::function<void()>;  // throws the reason of a failure

// What an update of a graph does not change.
enum class NodeKind { kKernel, kCopy };

struct Node {
  NodeKind kind;
  Work work;
};

// Of either kind, before and after it is made executable.
struct LiveGraph {
  std::vector<Node> nodes;
};
struct LiveGraphExec {
  int device;
  std::vector<Node> nodes;
};

struct LiveStream {
  int device;
  // While it is captured.
  std::unique_ptr<LiveGraph> capture = nullptr;
  std::thread::id capture_thread = {};
  bool capture_is_broken = false;
};

struct LiveEvent {
  int device;
  double recorded = -1;  // in milliseconds; below 0: never
};

// All of the driver's state.
class FakeHip {
 public:
  static FakeHip& Get();

  int devices() const { return devices_; }
  const std::string& architecture() const { return architecture_; }

  // Of the device memory that starts at or before the pointer.
  uint64_t BytesAt(int device, const void* pointer) const;

  std::map<uintptr_t, Allocation> allocations;  // by address
  std::map<const void*, std::unique_ptr<LiveStream>> streams;
  std::map<const void*, std::unique_ptr<LiveEvent>> events;
  std::map<const void*, std::unique_ptr<LoadedModule>> modules;
  std::map<const void*, std::unique_ptr<LoadedFunction>> functions;
  std::map<const void*, std::unique_ptr<LiveGraph>> graphs;
  std::map<const void*, std::unique_ptr<LiveGraphExec>> graph_execs;
  std::string to_fail;  // the function whose next call fails, by tern_standin_fail
  bool initialised = false;
  std::mutex mutex;

 private:
  FakeHip();

  int devices_ = 1;
  std::string architecture_;
};

// The device that is current on this thread.
int& CurrentDevice();

// What the calling convention of every function is: `body` returns a result, or throws the reason
// of a failure, which hipGetErrorString tells.
hip::Result Call(const char* name, const std::function<hip::Result(FakeHip&)>& body);

// The live thing of a handle, of the current device.
template <class T>
T& Live(const std::map<const void*, std::unique_ptr<T>>& all, const void* handle,
        const char* what) {
  auto it = all.find(handle);
  TERN_CHECK(it != all.end()) << "no such " << what;
  if constexpr (requires { it->second->device; }) {
    TERN_CHECK(it->second->device == CurrentDevice())
        << "the " << what << " is of device " << it->second->device << ", " << CurrentDevice()
        << " is current";
  }
  return *it->second;
}

template <class T, class Handle>
void Keep(std::map<const void*, std::unique_ptr<T>>* all, T value, Handle* out) {
  auto made = std::make_unique<T>(std::move(value));
  *out = reinterpret_cast<Handle>(made.get());
  all->emplace(made.get(), std::move(made));
}

// Does the work, or records it where the stream is captured.
void Give(FakeHip& driver, hip::Stream stream, NodeKind kind, const Work& work);
// For what could disturb a capture of this thread: throws, and the capture is broken.
void CheckNotCapturing(FakeHip& driver);

}  // namespace tern::backend::rocm::test

#endif  // TERN_BACKEND_ROCM_TEST_FAKE_HIP_H_
