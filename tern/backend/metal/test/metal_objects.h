// SPDX-License-Identifier: Apache-2.0
//
// The objects of the stand-in for the Metal framework.
#ifndef TERN_BACKEND_METAL_TEST_METAL_OBJECTS_H_
#define TERN_BACKEND_METAL_TEST_METAL_OBJECTS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tern/backend/metal/test/msl_program.h"
#include "tern/backend/metal/test/objects.h"

namespace tern::backend::metal::standin {

constexpr unsigned long kMaxThreads = 1024, kMaxThreadgroupMemory = 32768;

// A reference to another object.
template <class T>
class Held {
 public:
  explicit Held(T* object) : object_(object) { Runtime::Get().Retain(object); }
  Held(const Held& other) : Held(other.object_) {}
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held other) {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Held() { Reset(); }
  void Reset() {
    if (object_) Runtime::Get().Release(std::exchange(object_, nullptr));
  }
  T* operator->() const { return object_; }
  T* get() const { return object_; }

 private:
  T* object_;
};

struct Device : Object {
  explicit Device(int number);
  bool CanLeak() const override { return false; }
  int number;
  unsigned long allocated = 0;
};

struct Buffer : Object {
  Buffer(Device* device, size_t length, bool is_private);
  void Dealloc() override;
  Device* device;
  size_t length;
  bool is_private;
  char* memory;
};

struct CompileOptions : Object {
  CompileOptions();
  MslOptions options;
};

struct Library : Object {
  Library(Device* device, std::shared_ptr<MslProgram> program);
  void Dealloc() override { program.reset(); }
  Device* device;
  std::shared_ptr<MslProgram> program;
};

struct Function : Object {
  Function(Library* library, const MslProgram::Kernel* kernel);
  void Dealloc() override { program.reset(); }
  Device* device;
  std::shared_ptr<MslProgram> program;
  const MslProgram::Kernel* kernel;
};

struct Pipeline : Object {
  explicit Pipeline(Function* function);
  void Dealloc() override { program.reset(); }
  unsigned long max_threads() const {
    int most = kernel->source.max_threads;
    return most ? static_cast<unsigned long>(most) : kMaxThreads;
  }
  unsigned long shared_bytes() const {
    return static_cast<unsigned long>(kernel->code.shared_end - kernel->code.shared_begin);
  }
  Device* device;
  std::shared_ptr<MslProgram> program;
  const MslProgram::Kernel* kernel;
};

struct Event : Object {
  explicit Event(Device* device);
  Device* device;
  uint64_t value = 0;
};

struct CommandBuffer;

struct Queue : Object {
  explicit Queue(Device* device);
  bool CanLeak() const override { return false; }  // a device's own lives as long as the process
  void Dealloc() override;
  // Does the work of the oldest command buffer; false where it has none, or does it already.
  bool RunOne();
  Device* device;
  std::deque<Held<CommandBuffer>> committed;
  bool is_running = false;
};

// Work gives what went wrong: "" for nothing.
using Work = std::function<std::string()>;

struct CommandBuffer : Object {
  enum Status : unsigned long { kNotEnqueued = 0, kCommitted = 2, kCompleted = 4, kError = 5 };
  explicit CommandBuffer(Queue* queue);
  void Dealloc() override;
  void Run();
  Held<Queue> queue;
  Status status = kNotEnqueued;
  Object* encoder = nullptr;  // that is open
  std::vector<Work> works;
  std::string error;
  double end_time = 0;
};

Object* MakeQueue(Device* device);

}  // namespace tern::backend::metal::standin

#endif  // TERN_BACKEND_METAL_TEST_METAL_OBJECTS_H_
