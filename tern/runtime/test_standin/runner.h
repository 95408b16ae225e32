// SPDX-License-Identifier: Apache-2.0
//
// The block of threads that runs.
#ifndef TERN_RUNTIME_TEST_STANDIN_RUNNER_H_
#define TERN_RUNTIME_TEST_STANDIN_RUNNER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tern/runtime/test_standin/execution.h"
#include "tern/runtime/test_standin/fibers.h"
#include "tern/runtime/test_standin/shared_shadow.h"
#include "tern/runtime/test_standin/tensor_map.h"

namespace tern::standin {

constexpr unsigned kLanes = 32;

struct PendingCopy {
  void* target;
  const void* source;
  size_t size, bytes;
};

// In shared memory: a phase ends when nothing is missing.
struct BarrierObject {
  unsigned count, missing;  // arrivals
  int64_t bytes;            // of copies
  uint64_t phase;
};

// A copy that is under way.
struct PendingBox {
  TensorMap map;
  int at[TensorMap::kMostAxes] = {};
  unsigned target = 0, barrier = 0;
};

struct Thread {
  enum State { kReady, kAtBarrier, kAtObject, kInWarp, kDone } state = kReady;
  Fiber* fiber = nullptr;
  uint32_t warp_phase = 0;
  // The collective instruction that it waits in.
  const char* instruction = nullptr;
  unsigned mask = 0;
  const void* in = nullptr;
  size_t size = 0;
  void* all = nullptr;
  // The barrier object that it waits for, and the phase.
  unsigned object = 0, parity = 0;
  // Of cp.async.
  std::vector<PendingCopy> open;
  std::deque<std::vector<PendingCopy>> groups;
  std::vector<char> memory;  // of its own
  bool is_unfenced = false;  // it wrote to shared memory, and put no fence behind that
};

inline std::string Text(const Index& index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " +
         std::to_string(index.z) + ")";
}

// The block that runs, and the memory that blocks use one after another.
class Runner {
 public:
  static Runner& Get() {
    static auto* runner = new Runner;
    return *runner;
  }

  Failure Run(const Grid& grid);

  // For threads.
  void Access(const void* address, size_t bytes, AccessKind kind);
  void Barrier();
  void Collective(const char* instruction, unsigned mask, const void* in, size_t size, void* all);
  void OrderWarp() { ++thread().warp_phase; }
  void* dynamic_shared() { return dynamic_; }
  unsigned SharedAddress(const void* pointer);
  void* SharedPointer(unsigned address, size_t bytes);
  void Copy(unsigned target, const void* source, size_t size, size_t bytes);
  void Commit();
  void Wait(unsigned groups);
  void* ThreadMemory(size_t bytes);
  void AsyncRead(unsigned address, size_t bytes);
  void FenceAsync() { thread().is_unfenced = false; }
  void ObjectInit(unsigned address, unsigned count);
  void ObjectArrive(unsigned address, size_t bytes);
  void ObjectWait(unsigned address, unsigned parity);
  void BulkCopy(unsigned target, const void* map, const int* at, int axes, unsigned barrier);
  void Misaligned(const void* address, size_t alignment);
  [[noreturn]] void Fail(Fault fault, const std::string& what);

 private:
  static void FiberBody();
  Thread& thread() { return threads_[current_]; }
  Index IndexOf(unsigned number) const;
  std::string Place(unsigned number) const { return "thread " + Text(IndexOf(number)); }
  void RunBlock();
  void Prepare();
  // The next thread that was not started, or none.
  bool TakeNew();
  void Resume(unsigned number);
  void SetCurrent(unsigned number);
  Fiber* FreeFiber();
  // All threads wait or are done: opens the barrier, or says why it cannot.
  void OpenBarrier();
  void Block(Thread::State state);
  void Complete(unsigned first_lane, unsigned mask);
  void CheckLanes(unsigned first, const char* instruction, unsigned mask);
  std::string WhyStuck() const;
  // Barrier objects, and copies that complete on them (runner_objects.cc).
  BarrierObject& Object(unsigned address);
  void FinishPhase(unsigned address);
  bool FinishCopy();
  void CheckBoxes(unsigned address, size_t bytes);
  std::string WhyObjectWaits(unsigned number) const;
  std::optional<size_t> SharedOffset(const void* address, size_t bytes) const;
  size_t static_bytes() const {
    return static_cast<size_t>(grid_->kernel->shared_end - grid_->kernel->shared_begin);
  }
  size_t shared_bytes() const { return static_bytes() + grid_->dynamic_shared_bytes; }
  bool IsConstant(const void* address, size_t bytes) const;
  void CheckShared(size_t offset, size_t bytes, AccessKind kind);

  const Grid* grid_ = nullptr;
  bool is_reversed_ = false;
  unsigned num_threads_ = 0, next_new_ = 0, current_ = 0, num_done_ = 0, num_at_barrier_ = 0;
  uint32_t block_phase_ = 0;
  std::optional<unsigned> unfenced_;  // a thread that came to the last barrier without a fence
  std::vector<Thread> threads_;
  std::deque<unsigned> ready_;
  std::map<unsigned, BarrierObject> objects_;
  std::deque<PendingBox> boxes_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_fibers_;
  Fiber* fiber_ = nullptr;  // that runs
  std::vector<char> dynamic_memory_;
  char* dynamic_ = nullptr;
  SharedShadow shadow_;
  Failure error_;
};

}  // namespace tern::standin

#endif  // TERN_RUNTIME_TEST_STANDIN_RUNNER_H_
