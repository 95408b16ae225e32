// SPDX-License-Identifier: Apache-2.0
//
// What the stand-in driver knows: contexts, memory, streams, events, modules. Work that was given
// to a stream is done when somebody waits for it, so what is not waited for is not there.
#ifndef TERN_BACKEND_CUDA_TEST_DRIVER_STATE_H_
#define TERN_BACKEND_CUDA_TEST_DRIVER_STATE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tern/backend/cuda/runtime/cuda_abi.h"
#include "tern/backend/cuda/test/driver_codes.h"
#include "tern/runtime/test_standin/execution.h"
#include "tern/runtime/test_standin/lock.h"

namespace tern::backend::cuda::standin {

constexpr int kMaxThreads = 1024, kMaxBlock[] = {1024, 1024, 64};
constexpr int kMaxGrid[] = {2147483647, 65535, 65535};
constexpr int kStaticShared = 49152, kOptinShared = 232448, kReservedShared = 1024;

using namespace tern::standin;

// The result of work, by the driver's codes.
struct KernelError {
  int code = 0;
  std::string text;
};

using Work = std::function<KernelError()>;

// A place in a stream.
struct Mark {
  struct Stream* stream;
  bool is_done = false;
  double milliseconds = 0;
};

// What an update of a graph does not change.
enum class NodeKind { kKernel, kCopy, kOther };

struct Node {
  NodeKind kind;
  Work work;
};

struct Graph {
  std::vector<Node> nodes;
};

struct GraphExec {
  int device;
  std::vector<Node> nodes;
};

struct Stream {
  int device;
  bool is_blocking;  // waits for the default stream, and it for this
  std::deque<Work> works;
  Graph* capture = nullptr;
  int capture_mode = 0;
  std::thread::id capture_thread;
  bool capture_is_broken = false;
};

struct Event {
  int device;
  std::shared_ptr<Mark> mark;
};

struct Context {
  int device;
  int retained = 0;
  KernelError failure;  // of a kernel: whatever comes later fails too
  Stream default_stream;
};

struct Function {
  struct Module* module;
  const tern_standin::Kernel* kernel;
  int dynamic_limit = kStaticShared;
};

struct Module {
  int device;
  std::unique_ptr<Image> image;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Allocation {
  size_t bytes;
  int device;  // -1: the host's, page-locked
};

class Driver {
 public:
  static Driver& Get();

  Lock lock;
  bool is_initialized = false;
  std::vector<std::unique_ptr<Context>> contexts;  // by device
  std::map<uint64_t, Allocation> memory;           // by address
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::set<Module*> modules;
  std::set<Function*> functions;
  std::set<Graph*> graphs;
  std::set<GraphExec*> graph_execs;
  std::string to_fail;      // the function whose next call fails, by tern_standin_fail
  bool is_lost = false;     // all behind that call fail too: by tern_standin_lose_at
  uint64_t until_fail = 0;  // the call that fails, counted from 1: by tern_standin_fail_at; 0: none
  std::string failed;       // what failed by it, or ""
  bool has_misuse = false;

  int num_devices() const { return static_cast<int>(contexts.size()); }
  uint64_t memory_bytes() const;
  uint64_t used_bytes(int device) const;
  // The allocation that holds these bytes; otherwise why there is none.
  const Allocation* Find(uint64_t address, size_t bytes, std::string* why) const;
  // Does the stream's work until the mark is done, or all of it.
  void Drain(Stream& stream, const Mark* until = nullptr);
  // Of all streams of a device.
  void DrainDevice(int device);
  void Enqueue(Stream& stream, NodeKind kind, Work work);
  // What is still there: "" or lines.
  std::string Leaks() const;

 private:
  Driver();
};

// "sm_90", by TERN_STANDIN_ARCH.
std::string Architecture();
// 90 for "sm_90a", "90a" and "compute_90".
int ArchitectureNumber(const std::string& name);

// The current contexts of this thread.
std::vector<Context*>& ContextStack();

// The result of a call, with what cuGetErrorString says of it on this thread.
int Refuse(int code, const std::string& text);
// The same for what no program should do, whatever the machine: printed too.
int Misuse(int code, const std::string& text);
const std::string* TextOf(int code);

enum Needs : unsigned {
  kNothing = 0,
  kInit = 1,
  kCurrent = 2,
  kNoCapture = 4,
  kDoneAnyway = 8,  // whatever it returns, it has done its work
};

// Of this thread, by cuThreadExchangeStreamCaptureMode.
int& CaptureModeOfThread();

// A function of the driver: checks what it needs, then runs `body(Driver&, Context*)`.
int Call(const char* name, unsigned needs, const std::function<int(Driver&, Context*)>& body);

// Checks of handles: null where it is none. A null stream is the context's default one.
Stream* CheckStream(Driver& driver, Context* context, cu::Stream stream);
Event* CheckEvent(Driver& driver, Context* context, cu::Event event);

}  // namespace tern::backend::cuda::standin

#define TERN_STANDIN_API extern "C" __attribute__((visibility("default"))) int

#endif  // TERN_BACKEND_CUDA_TEST_DRIVER_STATE_H_
