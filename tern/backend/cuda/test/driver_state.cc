// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/test/driver_state.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "tern/ffi/environment.h"
#include "tern/runtime/test_standin/thread_state.h"

namespace tern::backend::cuda::standin {
namespace {

struct LastError {
  int code = 0;
  std::string text;
};
struct Thread {
  LastError last_error;
  std::string calling;
  std::vector<Context*> contexts;
  int capture_mode = 0;
};

Thread& Mine() { return tern::standin::ThreadState<Thread>(); }

int NumberOf(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value ? static_cast<int>(std::strtol(value, nullptr, 10)) : otherwise;
}

// After all that the program does at its end.
__attribute__((destructor)) void ReportAtExit() {
  Driver& driver = Driver::Get();
  std::string leaks = driver.Leaks();
  if (!leaks.empty())
    std::fprintf(stderr, "stand-in cuda: at the end there are still\n%s", leaks.c_str());
  if ((!leaks.empty() || driver.has_misuse) && environment::Flag("TERN_STANDIN_STRICT", false)) {
    std::fflush(nullptr);
    _exit(97);
  }
}

}  // namespace

Driver& Driver::Get() {
  static auto* driver = new Driver;
  return *driver;
}

Driver::Driver() {
  int count = NumberOf("TERN_STANDIN_DEVICES", 1);
  for (int i = 0; i < count; ++i)
    contexts.push_back(
        std::make_unique<Context>(Context{.device = i, .default_stream = {i, true}}));
}

std::string Architecture() {
  const char* value = std::getenv("TERN_STANDIN_ARCH");
  return value ? value : "sm_90";
}

int ArchitectureNumber(const std::string& name) {
  return static_cast<int>(std::strtol(name.c_str() + name.find('_') + 1, nullptr, 10));
}

uint64_t Driver::memory_bytes() const {
  return static_cast<uint64_t>(NumberOf("TERN_STANDIN_MEMORY_MB", 4096)) << 20;
}

uint64_t Driver::used_bytes(int device) const {
  uint64_t used = 0;
  for (const auto& [address, allocation] : memory)
    if (allocation.device == device) used += allocation.bytes;
  return used;
}

const Allocation* Driver::Find(uint64_t address, size_t bytes, std::string* why) const {
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) {
    *why = "where no memory is";
    return nullptr;
  }
  auto it = std::prev(after);
  const Allocation& allocation = it->second;
  uint64_t offset = address - it->first;
  if (offset <= allocation.bytes && bytes <= allocation.bytes - offset) return &allocation;
  *why = offset > allocation.bytes + (1 << 20)
             ? "where no memory is"
             : "from byte " + std::to_string(offset) + " of an allocation of " +
                   std::to_string(allocation.bytes);
  return nullptr;
}

void Driver::Drain(Stream& stream, const Mark* until) {
  Context& context = *contexts[static_cast<size_t>(stream.device)];
  while (!stream.works.empty() && !(until && until->is_done)) {
    Work work = std::move(stream.works.front());
    stream.works.pop_front();
    if (context.failure.code) continue;
    KernelError error = work();
    if (error.code) context.failure = error;
  }
}

void Driver::DrainDevice(int device) {
  Drain(contexts[static_cast<size_t>(device)]->default_stream);
  for (Stream* stream : streams)
    if (stream->device == device && !stream->capture) Drain(*stream);
}

void Driver::Enqueue(Stream& stream, NodeKind kind, Work work) {
  if (stream.capture) {
    stream.capture->nodes.push_back({kind, std::move(work)});
    return;
  }
  // The default stream and those that are not told otherwise wait for each other.
  Stream& other = contexts[static_cast<size_t>(stream.device)]->default_stream;
  if (&stream == &other) {
    for (Stream* blocking : streams)
      if (blocking->device == stream.device && blocking->is_blocking) Drain(*blocking);
  } else if (stream.is_blocking) {
    Drain(other);
  }
  stream.works.push_back(std::move(work));
}

std::string Driver::Leaks() const {
  std::string lines;
  auto add = [&](size_t count, const char* what) {
    if (count > 0) lines += "  " + std::to_string(count) + " " + what + "\n";
  };
  for (const auto& context : contexts)
    if (context->failure.code) return "";  // nothing can be given back there
  for (const auto& [address, allocation] : memory)
    lines += "  an allocation of " + std::to_string(allocation.bytes) + " bytes" +
             (allocation.device < 0 ? " of the host"
                                    : " of device " + std::to_string(allocation.device)) +
             "\n";
  add(streams.size(), "streams");
  add(events.size(), "events");
  add(modules.size(), "modules");
  add(graphs.size(), "graphs");
  add(graph_execs.size(), "executable graphs");
  return lines;
}

std::vector<Context*>& ContextStack() { return Mine().contexts; }
int& CaptureModeOfThread() { return Mine().capture_mode; }

namespace {

// Whether a call that could disturb the capture of a stream is refused to this thread.
bool Forbids(const Stream& stream) {
  constexpr int kGlobal = 0;
  if (!stream.capture || CaptureModeOfThread() == cu::kCaptureRelaxed) return false;
  if (stream.capture_thread == std::this_thread::get_id())
    return stream.capture_mode != cu::kCaptureRelaxed;
  return stream.capture_mode == kGlobal && CaptureModeOfThread() == kGlobal;
}

}  // namespace

int Refuse(int code, const std::string& text) {
  Mine().last_error = {code, Mine().calling + ": " + text};
  return code;
}

int Misuse(int code, const std::string& text) {
  Driver::Get().has_misuse = true;
  std::fprintf(stderr, "stand-in cuda: %s: %s\n", Mine().calling.c_str(), text.c_str());
  return Refuse(code, text);
}

const std::string* TextOf(int code) {
  return Mine().last_error.code == code ? &Mine().last_error.text : nullptr;
}

int Call(const char* name, unsigned needs, const std::function<int(Driver&, Context*)>& body) {
  Driver& driver = Driver::Get();
  std::lock_guard guard(driver.lock);
  Mine().calling = name;
  if ((needs & kInit) && !driver.is_initialized)
    return Misuse(kErrorNotInitialized, "cuInit was not called");
  Context* context = nullptr;
  if (needs & kCurrent) {
    if (ContextStack().empty()) return Misuse(kErrorInvalidContext, "no context is current");
    context = ContextStack().back();
    if (context->failure.code) {
      Mine().last_error = {context->failure.code, context->failure.text};
      return context->failure.code;
    }
  }
  bool is_forbidden = false;
  if (needs & kNoCapture)
    for (Stream* stream : driver.streams)
      if (Forbids(*stream)) is_forbidden = stream->capture_is_broken = true;
  if (is_forbidden)
    return Misuse(kErrorCaptureUnsupported, "not allowed while a stream is captured");
  bool is_counted = driver.until_fail > 0 && std::strncmp(name, "cu", 2) == 0;
  // The contexts of a device that is gone can still be made current.
  if (driver.is_lost && std::strncmp(name, "cuCtx", 5) == 0) is_counted = false;
  if (is_counted && --driver.until_fail == 0) {
    if (driver.failed.empty()) driver.failed = name;
    driver.until_fail = driver.is_lost ? 1 : 0;
    // What gives something back has done so, or it is lost for good.
    bool releases = std::strstr(name, "Destroy") || std::strstr(name, "Free") ||
                    std::strstr(name, "Unload") || std::strstr(name, "Pop");
    if (releases || (needs & kDoneAnyway)) body(driver, context);
    return Refuse(kErrorUnknown, "told to fail");
  }
  if (driver.to_fail != name) return body(driver, context);
  driver.to_fail.clear();
  if (needs & kDoneAnyway) body(driver, context);
  return Refuse(kErrorUnknown, "told to fail");
}

Stream* CheckStream(Driver& driver, Context* context, cu::Stream handle) {
  auto* stream = reinterpret_cast<Stream*>(handle);
  if (!stream) return &context->default_stream;
  if (!driver.streams.contains(stream)) {
    Misuse(kErrorInvalidHandle, "the stream is not one, or was destroyed");
    return nullptr;
  }
  if (stream->device == context->device) return stream;
  Misuse(kErrorInvalidHandle, "the stream is of device " + std::to_string(stream->device) +
                                  ", the current context of device " +
                                  std::to_string(context->device));
  return nullptr;
}

Event* CheckEvent(Driver& driver, Context* context, cu::Event handle) {
  auto* event = reinterpret_cast<Event*>(handle);
  if (!event || !driver.events.contains(event)) {
    Misuse(kErrorInvalidHandle, "the event is not one, or was destroyed");
    return nullptr;
  }
  if (event->device == context->device) return event;
  Misuse(kErrorInvalidHandle, "the event is of another device than the current context");
  return nullptr;
}

}  // namespace tern::backend::cuda::standin

// For tests: the call of that number from now on fails, whatever it is; 0: none does.
extern "C" __attribute__((visibility("default"))) void tern_standin_fail_at(uint64_t call);
extern "C" void tern_standin_fail_at(uint64_t call) {
  using tern::backend::cuda::standin::Driver;
  std::lock_guard guard(Driver::Get().lock);
  Driver::Get().until_fail = call;
  Driver::Get().is_lost = false;
  Driver::Get().failed.clear();
}
// For tests: the device is gone from that call on: all fail, until tern_standin_fail_at.
extern "C" __attribute__((visibility("default"))) void tern_standin_lose_at(uint64_t call);
extern "C" void tern_standin_lose_at(uint64_t call) {
  tern_standin_fail_at(call);
  using tern::backend::cuda::standin::Driver;
  std::lock_guard guard(Driver::Get().lock);
  Driver::Get().is_lost = true;
}
// What failed by that; "" where nothing has. Valid until the next tern_standin_fail_at.
extern "C" __attribute__((visibility("default"))) const char* tern_standin_failed();
extern "C" const char* tern_standin_failed() {
  using tern::backend::cuda::standin::Driver;
  std::lock_guard guard(Driver::Get().lock);
  return Driver::Get().failed.c_str();
}
// Allocations, streams, events, modules and graphs that are there.
extern "C" __attribute__((visibility("default"))) uint64_t tern_standin_objects();
extern "C" uint64_t tern_standin_objects() {
  const auto& driver = tern::backend::cuda::standin::Driver::Get();
  return driver.memory.size() + driver.streams.size() + driver.events.size() +
         driver.modules.size() + driver.graphs.size() + driver.graph_execs.size();
}

// For tests: the next call of a function, as cuGetErrorString names it, fails.
extern "C" __attribute__((visibility("default"))) void tern_standin_fail(const char* function);
extern "C" void tern_standin_fail(const char* function) {
  using tern::backend::cuda::standin::Driver;
  std::lock_guard guard(Driver::Get().lock);
  Driver::Get().to_fail = function;
}
