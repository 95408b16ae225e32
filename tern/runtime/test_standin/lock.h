// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_TEST_STANDIN_LOCK_H_
#define TERN_RUNTIME_TEST_STANDIN_LOCK_H_

#include <unistd.h>

#include <atomic>

namespace tern::standin {

// Not a mutex, so that the thread sanitizer sees no order between the threads of a plugin that only
// this lock makes.
class Lock {
 public:
  void lock() {
    int expected = 0;
    while (!is_held_.compare_exchange_weak(expected, 1, std::memory_order_acquire)) {
      expected = 0;
      usleep(20);
    }
  }
  void unlock() { is_held_.store(0, std::memory_order_release); }

 private:
  std::atomic<int> is_held_{0};
};

}  // namespace tern::standin

#endif  // TERN_RUNTIME_TEST_STANDIN_LOCK_H_
