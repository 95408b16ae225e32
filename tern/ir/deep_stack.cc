// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/deep_stack.h"

#include <cstddef>
#include <cstdint>
#include <exception>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <sys/mman.h>
#define TERN_SWITCHES_STACKS 1
#endif

#if defined(__SANITIZE_ADDRESS__)
#define TERN_TELLS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TERN_TELLS_ASAN 1
#endif
#endif
#if TERN_TELLS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace tern::ir {

#if TERN_SWITCHES_STACKS
namespace {

thread_local bool on_deep_stack = false;

// Address space; memory is taken as it is touched.
class Stack {
 public:
  Stack() {
    constexpr size_t kLargest = size_t{4} << 30, kSmallest = size_t{16} << 20;
    for (size_ = kLargest; size_ >= kSmallest; size_ /= 2) {
      base_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
      if (base_ != MAP_FAILED) break;
    }
    // Who goes beyond the end is stopped.
    if (*this) mprotect(base_, kGuard, PROT_NONE);
  }
  ~Stack() {
    if (*this) munmap(base_, size_);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  explicit operator bool() const { return base_ != MAP_FAILED; }
  void* bottom() const { return static_cast<char*>(base_) + kGuard; }
  size_t size() const { return size_ - kGuard; }

 private:
  static constexpr size_t kGuard = size_t{64} << 10;
  void* base_ = MAP_FAILED;
  size_t size_ = 0;
};

// The address sanitizer follows the stack that a thread is on.
struct SanitizerNotes {
#if TERN_TELLS_ASAN
  void* fake_stack = nullptr;
  const void* old_bottom = nullptr;
  size_t old_size = 0;
  void Leave(const void* bottom, size_t size) {
    __sanitizer_start_switch_fiber(&fake_stack, bottom, size);
  }
  void Arrive() { __sanitizer_finish_switch_fiber(nullptr, &old_bottom, &old_size); }
  void GoBack() { __sanitizer_start_switch_fiber(nullptr, old_bottom, old_size); }
  void IsBack() { __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr); }
#else
  void Leave(const void*, size_t) {}
  void Arrive() {}
  void GoBack() {}
  void IsBack() {}
#endif
};

struct Call {
  void (*f)(void*);
  void* data;
  std::exception_ptr error;
  SanitizerNotes notes;
};

void Run(Call* call) {
  call->notes.Arrive();
  // No exception may leave the stack that it was thrown on.
  try {
    call->f(call->data);
  } catch (...) {
    call->error = std::current_exception();
  }
  call->notes.GoBack();
}

// Calls Run(call) with the stack pointer at `top`, which is aligned to 16 bytes. The old one waits
// in a register that the callee keeps.
void RunAt(void* top, Call* call) {
#if defined(__x86_64__)
  asm volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %[top], %%rsp\n\t"
      "callq *%[run]\n\t"
      "movq %%rbx, %%rsp"
      : "+D"(call)
      : [top] "r"(top), [run] "r"(&Run)
      : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3",
        "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
        "xmm15", "memory", "cc");
#else
  register Call* argument asm("x0") = call;
  asm volatile(
      "mov x19, sp\n\t"
      "mov sp, %[top]\n\t"
      "blr %[run]\n\t"
      "mov sp, x19"
      : "+r"(argument)
      : [top] "r"(top), [run] "r"(&Run)
      : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
        "x15", "x16", "x17", "x19", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8",
        "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
        "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "memory", "cc");
#endif
}

}  // namespace

void CallOnDeepStack(void (*f)(void* data), void* data) {
  if (on_deep_stack) return f(data);
  Stack stack;
  if (!stack) return f(data);
  Call call{f, data, {}, {}};
  on_deep_stack = true;
  call.notes.Leave(stack.bottom(), stack.size());
  RunAt(static_cast<char*>(stack.bottom()) + stack.size(), &call);
  call.notes.IsBack();
  on_deep_stack = false;
  if (call.error) std::rethrow_exception(call.error);
}
#else
void CallOnDeepStack(void (*f)(void* data), void* data) { f(data); }
#endif

}  // namespace tern::ir
