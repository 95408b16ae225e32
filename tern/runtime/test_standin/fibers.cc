// SPDX-License-Identifier: Apache-2.0
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
  if (!is_started_) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_;
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    makecontext(&context_, body, 0);
    is_started_ = true;
  }
  swapcontext(&caller_, &context_);
}

void Fiber::Leave() { swapcontext(&context_, &caller_); }

}  // namespace tern::standin
