// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_TEST_STANDIN_FIBERS_H_
#define TERN_RUNTIME_TEST_STANDIN_FIBERS_H_

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>

namespace tern::standin {

// A stack with a function that runs on it, and can leave it and return.
class Fiber {
 public:
  static constexpr size_t kStackBytes = 512 << 10;

  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs `body`, from its start or from where it left, until it leaves. Called by one who is no
  // fiber. `body` does not return.
  void Enter(void (*body)());
  // Called on the fiber.
  void Leave();
  // What it was doing is forgotten: the next Enter starts anew.
  void Reset() { is_started_ = false; }
  bool Contains(const void* address) const {
    return address >= stack_ && address < stack_ + kStackBytes;
  }

 private:
  char* stack_;
  bool is_started_ = false;
  ucontext_t start_{};
  // Where both go on. swapcontext would do, with a system call for signals each time.
  jmp_buf fiber_, caller_;
};

}  // namespace tern::standin

#endif  // TERN_RUNTIME_TEST_STANDIN_FIBERS_H_
