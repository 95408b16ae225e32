// SPDX-License-Identifier: Apache-2.0
// With it, some C libraries take a jump to another stack for an error.
#undef _FORTIFY_SOURCE
#include "tern/runtime/test_standin/fibers.h"

#include <sys/mman.h>

#include <new>

namespace tern::standin {

// Pages are there once they are touched; the lowest never is.
constexpr size_t kGuardBytes = 64 << 10;

Fiber::Fiber() {
  void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, kGuardBytes, PROT_NONE);
  stack_ = static_cast<char*>(memory) + kGuardBytes;
}

Fiber::~Fiber() { munmap(stack_ - kGuardBytes, kGuardBytes + kStackBytes); }

void Fiber::Enter(void (*body)()) {
  if (_setjmp(caller_) != 0) return;  // it has left
  if (is_started_) _longjmp(fiber_, 1);
  is_started_ = true;
  getcontext(&start_);
  start_.uc_stack.ss_sp = stack_;
  start_.uc_stack.ss_size = kStackBytes;
  start_.uc_link = nullptr;
  makecontext(&start_, body, 0);
  setcontext(&start_);
}

void Fiber::Leave() {
  if (_setjmp(fiber_) == 0) _longjmp(caller_, 1);
}

}  // namespace tern::standin
